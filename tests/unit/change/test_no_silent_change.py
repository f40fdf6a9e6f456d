"""No edit is silent: the plan names every edit with another rendering or registration.

The reference is not the code under test: the files of `gpufleet render`, and the inputs of machines
on vSphere, which are not rendered. For nodes that cannot stay unchanged, by the tables of the
providers, the plan does not report that they do.
"""

import itertools
from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import ChangePlan, NodeChangeKind
from gpufleet.cli.schema import fleet_schema
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.vsphere.machine_arguments import (
    machine_inputs,
    node_labels,
    own_inputs,
    place_inputs,
    pool_machines,
)
from gpufleet.render.artefact import ArtefactKind
from gpufleet.render.artefacts import artefacts
from gpufleet.render.platform_files import platform_files
from gpufleet.spec.base import Ownership, Platform
from gpufleet_sandbox.cloud.difference import changes
from gpufleet_vcenter.properties import (
    PROPERTIES,
    MachineChangeKind,
)
from tests.examples import has_changed
from tests.reading import yaml_data
from tests.unit.change.leaf_mutations import mutations

SLICED: dict[str, Any] = {"timeSlicing": {"replicas": 4}}
MIG: dict[str, Any] = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
MACHINE = {"cpus": 16, "memoryGib": 64, "template": "ubuntu"}


def _fleet(platform: str, *pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    regions = {
        "eks": "us-east-1",
        "gke": "us-central1",
        "openshiftAws": "us-east-1",
        "openshiftGcp": "us-central1",
    }
    region = {"region": regions[platform]} if platform in regions else {}
    named = [{"name": f"p{i}", "nodes": {"min": 1, "max": 1}} | p for i, p in enumerate(pools)]
    cluster = {"name": "c", "kubernetesVersion": "1.36", **region}
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": cluster,
        "pools": named,
        **more,
    }


TOKENS = {
    "nodeGroup": "aws:eks/nodeGroup:NodeGroup",
    "launchTemplate": "aws:ec2/launchTemplate:LaunchTemplate",
    "nodePool": "gcp:container/nodePool:NodePool",
}
CALM = {NodeChangeKind.UNTOUCHED, NodeChangeKind.LIVE, NodeChangeKind.PLUGIN}
"""Text about unchanged nodes."""

FLEETS = {
    "eks": _fleet(
        "eks",
        {"instanceTypes": ["g6.xlarge"]},
        {"instanceTypes": ["p4de.24xlarge"], "sharing": MIG, "intent": "training"},
    ),
    "eks-karpenter": _fleet(
        "eks",
        {"instanceTypes": ["g6.xlarge"], "sharing": SLICED},
        provisioner="karpenter",
        addons={"karpenter": {"nodeOverlay": True}},
    ),
    "gke": _fleet("gke", {"gpu": "L4"}, {"gpu": "L4", "sharing": SLICED}),
    "gke-operator": _fleet("gke", {"gpu": "L4", "gke": {"driver": "gpuOperator"}}),
    "vsphere": _fleet("vsphere", {"gpu": "L4", "vsphere": MACHINE, "sharing": SLICED}),
    "openshift": _fleet(
        "openshift",
        {"gpu": "L4", "openshift": {**MACHINE, "template": "rhcos"}, "sharing": SLICED},
    ),
    "openshiftAws": _fleet(
        "openshiftAws",
        {"instanceTypes": ["g6.xlarge"], "zones": ["us-east-1a"], "sharing": SLICED},
    ),
    "openshiftGcp": _fleet(
        "openshiftGcp", {"instanceTypes": ["g2-standard-8"], "zones": ["us-central1-a"]}
    ),
    "sandbox": _fleet("sandbox", {"gpu": "A100-80GB", "gpusPerNode": 8, "sharing": MIG}),
}


def _compiled(data: dict[str, Any]) -> Fleet | None:
    result = compile_data(data)
    return result.fleet if result.deployable else None


def _output(fleet: Fleet) -> object:
    """Everything derived from a fleet, as far as it is known without a cluster."""
    prefix = fleet.spec.name_prefix or fleet.spec.cluster.name
    machines = [
        (
            machine_inputs(pool),
            place_inputs(pool.spec.vsphere),
            [
                (own_inputs(one, pool), node_labels(pool, one.position), one.hosts)
                for one in pool_machines(prefix, pool)
            ],
            [str(taint) for taint in pool.taints],
        )
        for pool in sorted(fleet.pools, key=lambda pool: pool.name)
        if pool.spec.vsphere is not None
    ]
    return {file.path: file.text for file in artefacts(fleet)}, machines


def _disturbed(name: str, old: Fleet, new: Fleet) -> bool:
    """Whether nodes of the pool cannot stay unchanged, by the tables of the providers: those of AWS
    and Google in the simulators, and that of the machines on vSphere."""
    one, two = old.pool(name), new.pool(name)
    if one.ownership is Ownership.EXISTING is two.ownership:
        return False  # another tool creates its nodes
    if new.spec.platform is Platform.EXISTING:
        return False  # labels of nodes that are there
    if one.spec.vsphere is not None and two.spec.vsphere is not None:
        inputs = [machine_inputs(pool) | _placed(pool) for pool in (one, two)]
        moved = {
            key for key in {*inputs[0], *inputs[1]} if inputs[0].get(key) != inputs[1].get(key)
        }
        hard = {MachineChangeKind.REPLACE, MachineChangeKind.POWERED_OFF}
        labels = node_labels(one, 0) != node_labels(two, 0)
        return labels or any(key in PROPERTIES and PROPERTIES[key].kind in hard for key in moved)
    before, after = _arguments(old, name), _arguments(new, name)
    if set(before) != set(after):
        return True
    return any(
        change.replaces and change.path != "initialNodeCount"
        for key in after
        for change in changes(TOKENS[key[0]], before[key], after[key], {})
    ) or any(
        _version(before[key]) != _version(after[key]) for key in after if key[0] == "launchTemplate"
    )


def _placed(pool: Pool) -> dict[str, Any]:
    assert pool.spec.vsphere is not None
    return {f"place.{key}": value for key, value in place_inputs(pool.spec.vsphere).items()}


def _version(template: dict[str, Any]) -> dict[str, Any]:
    """Fields of a launch template that make another version."""
    return {key: value for key, value in template.items() if key != "tags"}


def _arguments(fleet: Fleet, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Arguments of the cloud resources that make the nodes of a pool, as rendered."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    files = platform_files(fleet.platform).pool_files(fleet, fleet.pool(name))
    for file in files:
        if file.kind is ArtefactKind.ARGUMENTS:
            document = yaml_data(file.text)
            parts = document if "nodeGroup" in document else {"nodePool": document}
            found |= {(kind, file.path): one for kind, one in parts.items() if kind in TOKENS}
    return found


RAW = ("nodeGroup", "launchTemplate", "nodePool")
"""Arguments that are passed on: a key that no source explains is unknown, and no other field is."""
SAMPLED = 60 if has_changed("gpufleet/change/*") else 180
"""A commit tries one of this number of mutations; the nightly run tries all."""


@pytest.mark.parametrize("step", [SAMPLED, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", FLEETS)
def test_whatever_is_rendered_otherwise_is_named(name: str, step: int) -> None:
    data = FLEETS[name]
    old = _compiled(data)
    assert old is not None, [str(f) for f in compile_data(data).findings]
    before, tried, silent = _output(old), 0, []
    for path, changed in itertools.islice(mutations(fleet_schema(), data), 0, None, step):
        new = _compiled(changed)
        if new is None:
            continue
        plan = change_plan(old, new)
        if any(f.code == "change-unknown" for f in plan.findings) and not path.endswith(RAW):
            silent.append(f"{path} is unknown")
        if _output(new) == before:
            continue
        tried += 1
        silent += [f"{path}: {text}" for text in unnamed(old, new, plan)]
    assert tried >= 15 // step, tried
    assert not silent


def unnamed(old: Fleet, new: Fleet, plan: ChangePlan) -> list[str]:
    """Differences in the output of two fleets that a plan does not name."""
    every = [*plan.cluster, *(d for p in plan.pools for d in (*p.differences, *p.inputs))]
    named = every or any(p.kind is not NodeChangeKind.UNTOUCHED for p in plan.pools)
    gone = {pool.name for pool in old.pools} - {pool.name for pool in new.pools}
    return [
        *([] if named else ["nothing is named"]),
        *(
            f"{change.name} is {change.kind.value}"
            for change in plan.pools
            if change.kind in CALM
            and change.name not in gone
            and change.name in {pool.name for pool in old.pools}
            and _disturbed(change.name, old, new)
        ),
    ]


@pytest.mark.parametrize("name", FLEETS)
def test_the_same_declaration_changes_nothing(name: str) -> None:
    old, new = _compiled(FLEETS[name]), _compiled(FLEETS[name])
    assert old is not None
    assert new is not None
    plan = change_plan(old, new)
    assert {pool.kind for pool in plan.pools} == {NodeChangeKind.UNTOUCHED}
    assert plan.findings == plan.cluster == ()
    assert not [d for pool in plan.pools for d in pool.differences]
