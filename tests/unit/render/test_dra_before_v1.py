"""Claims on Kubernetes before 1.34, by the types of these versions.

What each version has is what `kube-apiserver` serves for it (catalogue schemas of
resource.k8s.io/v1beta1 and v1beta2) and the fields that came later (`kubernetes-fields`, from
k8s.io/api v0.31.14 to v0.36.3).
"""

import json
from typing import Any

import pytest

from gpufleet.cluster.claims import DeviceClaim
from gpufleet.contract.schemas.newer_fields import newer_problems
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.findings import Severity
from gpufleet.findings.locator import Locator
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dra import claims, device_classes
from gpufleet.render.kueue_rules import validate_queues
from gpufleet.render.pod_request import claiming_pod_spec
from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_policies.readers.claims import claim as claims_of
from tests.unit.platforms.openshift.clouds import AWS_CHAT, GCP_SLICES
from tests.unit.platforms.openshift.clouds import declaration as on_openshift

LAYOUTS = [{"devices": {"1g.10gb": 7}}]
WAYS: list[dict[str, Any]] = [
    {},
    {"sharing": "timeSlicing", "clients": 4},
    {"devices": "mig", "layouts": LAYOUTS},
    {"sharing": "mps", "clients": 2},
    {
        "claims": [
            {"name": "pair", "count": 2, "samePcieRoot": True},
            {"name": "roomy", "memoryMib": 70000, "sharing": "mps", "clients": 2},
        ]
    },
]
GATES = {"MPSSupport": True, "TimeSlicingSettings": True}
V1BETA1, V1BETA2 = "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"


def declaration(version: str, way: dict[str, Any], **more: Any) -> dict[str, Any]:
    pool = {
        "name": "train",
        "gpu": "H100-80GB",
        "nodes": {"min": 1, "max": 2},
        "sharing": {"dra": {"namespaces": ["lab"], **way}},
        "gpusPerNode": 8,
        "capacity": [{"spot": {}}],
        "gke": {"driver": "gpuOperator"},
    }
    return {
        "catalogue": "2026.11",
        "platform": "gke",
        "cluster": {"name": "c", "region": "us-central1", "kubernetesVersion": version},
        "pools": [pool],
        **more,
    }


def fleet(version: str, way: dict[str, Any], **more: Any) -> Fleet:
    made = compile_data(declaration(version, way, **more))
    assert made.fleet is not None
    assert made.deployable, made.findings
    return made.fleet


def manifests(one: Fleet) -> list[dict[str, Any]]:
    return [*device_classes(one), *claims(one)]


def problems(manifest: dict[str, Any], minor: tuple[int, int]) -> list[Any]:
    version = {"kubernetesVersion": ".".join(map(str, minor)), "featureGates": GATES}
    checked = validate_text("dra-config", json.dumps(manifest), context=version)
    kept = [one for one in checked.findings if one.code != "dra-class-unknown"]
    return [*schema_problems(manifest), *newer_problems(manifest, minor), *kept]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(sorted(way)))
@pytest.mark.parametrize(
    ("version", "written", "api"),
    [
        ("1.32", None, V1BETA1),
        ("1.33", None, V1BETA1),
        ("1.33", V1BETA2, V1BETA2),
        ("1.34", None, "resource.k8s.io/v1"),
        ("1.35", V1BETA1, V1BETA1),
    ],
)
def test_objects_are_those_of_the_clusters_version(
    version: str, written: str | None, api: str, way: dict[str, Any]
) -> None:
    values = {} if written is None else {"resourceApiVersion": written}
    one = fleet(version, way, addons={"draDriver": {"values": values}})
    made = manifests(one)
    assert {m["apiVersion"] for m in made} == {api}
    major, minor = map(int, version.split("."))
    for manifest in made:
        assert problems(manifest, (major, minor)) == [], manifest


def test_the_schemas_see_the_difference() -> None:
    """A v1 object under the former version's name is refused, and the other way round."""
    (flat,) = claims(fleet("1.32", {}))
    (wrapped,) = claims(fleet("1.34", {}))
    assert schema_problems({**flat, "apiVersion": V1BETA2})
    assert schema_problems({**wrapped, "apiVersion": V1BETA1})
    assert wrapped["spec"]["spec"]["devices"]["requests"][0].keys() == {"name", "exactly"}
    assert "exactly" not in flat["spec"]["spec"]["devices"]["requests"][0]


def test_audit_reads_the_same_requests_in_both_versions() -> None:
    def read(version: str) -> list[tuple[Any, ...]]:
        (claim,) = claims(fleet(version, {}))
        (found,) = claims_of(claim, Locator("ResourceClaimTemplate", "lab", "x"))
        assert isinstance(found, DeviceClaim)
        return [
            (r.name, r.device_class.value, r.count.value, r.selectors.value, r.allocation.value)
            for r in found.requests
        ]

    assert read("1.33") == read("1.36") == [("gpu", "gpu.nvidia.com", 1, 1, "ExactCount")]


def test_pods_name_claims_in_the_same_way_everywhere() -> None:
    """`resourceClaims` of a pod is core/v1, with these fields since 1.31."""
    old, new = (fleet(version, {}).pools[0] for version in ("1.32", "1.36"))
    dra = new.partition.dra
    assert dra is not None
    one = claiming_pod_spec(old, dra.offers[0])
    assert one == claiming_pod_spec(new, dra.offers[0])
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": one}
    assert list(newer_problems(pod, (1, 32))) == []


@pytest.mark.parametrize(
    ("version", "written", "allowed"),
    [
        ("1.32", V1BETA2, (V1BETA1,)),
        ("1.33", "resource.k8s.io/v1", (V1BETA2, V1BETA1)),
        ("1.36", "v1", ("resource.k8s.io/v1", V1BETA2, V1BETA1)),
        ("1.36", "resource.k8s.io/v1alpha3", ("resource.k8s.io/v1", V1BETA2, V1BETA1)),
        ("1.36", 1, ("resource.k8s.io/v1", V1BETA2, V1BETA1)),
    ],
)
def test_a_version_that_the_cluster_does_not_have_is_refused(
    version: str, written: object, allowed: tuple[str, ...]
) -> None:
    values = {"values": {"resourceApiVersion": written}}
    made = compile_data(declaration(version, {}, addons={"draDriver": values}))
    (found,) = [f for f in made.findings if f.severity is Severity.ERROR]
    assert found.code == "dra-api-not-had"
    assert found.path == "addons.draDriver.values.resourceApiVersion"
    assert found.evidence["allowed"] == list(allowed)


@pytest.mark.parametrize(("version", "refused"), [("1.33", True), ("1.34", False)])
def test_quota_of_claims_needs_the_version_that_kueue_reads(version: str, refused: bool) -> None:
    queues = {"teams": [{"name": "research", "namespaces": ["lab"], "share": 1}]}
    one = fleet(version, {}, queues=queues)
    codes = [f.code for f in validate_queues(one) if f.severity is Severity.ERROR]
    assert codes == (["kueue-claims-kubernetes"] if refused else [])


def at_openshift(platform: str, version: str) -> list[tuple[str, str]]:
    chat = AWS_CHAT if platform == "openshiftAws" else GCP_SLICES
    pool = {**chat, "sharing": {"dra": {"namespaces": ["lab"]}}}
    document = on_openshift(platform, pool)
    document["cluster"]["kubernetesVersion"] = version
    made = compile_data(document)
    return [(f.code, f.fix or "") for f in made.findings if f.code.startswith("dra-kubernetes")]


@pytest.mark.parametrize("platform", ["openshiftAws", "openshiftGcp"])
def test_openshift_has_claims_as_a_preview_in_4_20(platform: str) -> None:
    ((code, fix),) = at_openshift(platform, "1.33")
    assert code == "dra-kubernetes-beta"
    assert "TechPreviewNoUpgrade" in fix
    ((code, _),) = at_openshift(platform, "1.32")
    assert code == "dra-kubernetes-too-old"
    assert at_openshift(platform, "1.34") == []
