"""Compile, the component under plain mocks and the audit give one verdict on one declaration.

Random fleets of every platform, legal and not. The component creates every declaration that compile
accepts, and the audit of the rendered folder and of the declaration has no error. The component and
the audit of the declaration refuse every declaration that compile refuses.
"""

import json
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpufleet import EksCluster, GkeCluster, GpuFleet
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.platforms.eks import EksOptions
from gpufleet.spec.platforms.gke import GkeOptions
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY
from tests.unit.components.random_fleets import CONNECTIONS, fleets, optional
from tests.unit.components.random_openshift import CONNECTIONS as OPENSHIFT
from tests.unit.components.random_openshift import openshift_fleets
from tests.unit.components.random_options import EKS, GKE, KARPENTER
from tests.unit.components.random_own_hardware import CONNECTIONS as OWN
from tests.unit.components.random_own_hardware import own_fleets

SETTINGS = read_settings({})
PLACES = {**CONNECTIONS, **OPENSHIFT, **OWN}


def errors(compiled: Compiled) -> set[str]:
    return {one.code for one in compiled.findings if one.severity.value == "error"}


def refused_by_component(run: Any, document: dict[str, Any]) -> set[str]:
    connection: Any = PLACES[document["platform"]]
    try:
        run(lambda: GpuFleet("fleet", {"spec": document, "connection": connection}))
    except InvalidArgumentsError as refused:
        return {one.code for one in refused.findings if one.severity.value == "error"}
    return set()


def refused_by_audit(files: dict[str, str]) -> set[str]:
    inputs = [Input(name, content=text.encode()) for name, text in sorted(files.items())]
    found = audit(inputs, SETTINGS, TODAY)
    assert not found.unread
    return {one.code for one in found.findings if one.severity.value == "error"}


KUBELETS = st.sampled_from(
    [
        {"cpuManager": "static"},
        {"cpuManager": "static", "memoryManager": "static", "topologyManager": "restricted"},
        {"memoryManager": "none", "topologyManager": "none"},
    ]
)
QUEUES = {"teams": [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5}]}


@st.composite
def cloud_fleets(draw: st.DrawFn) -> dict[str, Any]:
    """On EKS or GKE, with settings of the kubelet, drivers, queues and monitoring too."""
    document = draw(fleets())
    on_gke = document["platform"] == "gke"
    for pool in document["pools"]:
        if "sharing" not in pool:
            continue
        pool |= optional(draw, kubelet=KUBELETS)
        if on_gke:
            pool |= optional(draw, image=st.just("ubuntu-gke"))
            driver = optional(draw, driver=st.just("gpuOperator"))
            pool |= {"gke": {**pool.get("gke", {}), **driver}} if driver else {}
    more = optional(
        draw,
        queues=st.just(QUEUES),
        monitoring=st.just({"backend": "prometheus"}),
        environment=st.sampled_from(["dev", "staging"]),
    )
    return {**document, **more}


@lru_cache(maxsize=1)
def compiled_text(text: str) -> Compiled:
    """The declaration that was drawn and accepted last is compiled once."""
    return compile_data(json.loads(text))


def legal(document: dict[str, Any]) -> bool:
    return compiled_text(json.dumps(document)).deployable


EVERY = st.one_of(
    cloud_fleets(),
    cloud_fleets().filter(legal),
    cloud_fleets().filter(legal),
    openshift_fleets("openshiftAws"),
    openshift_fleets("openshiftGcp"),
    own_fleets("vsphere"),
    own_fleets("openshift"),
    own_fleets("sandbox"),
)


def verdicts_agree(run: Any, examples: int) -> None:
    seen = {True: 0, False: 0}

    @settings(
        deadline=None,
        max_examples=examples,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(EVERY)
    def body(document: dict[str, Any]) -> None:
        compiled = compiled_text(json.dumps(document))
        wrong = errors(compiled)
        seen[not wrong] += 1
        assert refused_by_component(run, document) == wrong
        declared = refused_by_audit({"fleet.yaml": json.dumps(document)})
        assert bool(declared) == bool(wrong), declared
        if compiled.deployable and compiled.fleet is not None:
            rendered = {one.path: one.text for one in artefacts(compiled.fleet)}
            assert refused_by_audit(rendered) == set()

    body()
    assert min(seen.values()) > examples // 20, seen


def test_every_option_is_among_those_of_random_fleets() -> None:
    """But for `imported`, which has a meaning with `importId` alone."""
    models = {EksOptions: EKS, GkeOptions: GKE, KarpenterPoolOptions: KARPENTER}
    for model, options in models.items():
        fields = {str(field.alias) for field in model.model_fields.values()} - {"imported"}
        assert set(options) == fields, model


def test_two_hundred_random_fleets(plain_run: Any) -> None:
    verdicts_agree(plain_run, 200)


def test_the_files_of_a_pool_with_more_gpus_than_a_pool_may_have_unconfirmed() -> None:
    """Its `nodes.max` is meant; found by the five thousand."""
    pool = {"name": "p0", "instanceTypes": ["a2-megagpu-16g"], "nodes": {"min": 2, "max": 5}}
    document = {
        "catalogue": "2026.11",
        "platform": "openshiftGcp",
        "cluster": {"name": "ml", "region": "us-central1", "kubernetesVersion": "1.35"},
        "pools": [{**pool, "zones": ["us-central1-a"], "intent": "training"}],
    }
    fleet = compile_data(document).fleet
    assert fleet is not None
    assert refused_by_audit({one.path: one.text for one in artefacts(fleet)}) == set()


@pytest.mark.nightly
def test_five_thousand_random_fleets(plain_run: Any) -> None:
    verdicts_agree(plain_run, 5000)


@pytest.mark.parametrize(
    "cluster",
    [
        lambda: EksCluster(
            "c",
            {"cluster_name": "ml", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]},
        ),
        lambda: GkeCluster(
            "c", {"cluster_name": "ml", "region": "us-central1", "project": "my-project"}
        ),
    ],
)
def test_clusters_are_made_under_plain_mocks(plain_run: Any, cluster: Any) -> None:
    assert plain_run(cluster).resources
