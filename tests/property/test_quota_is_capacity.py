"""For any legal fleet: quotas = advertised capacity = limits of autoscalers, per resource.

The amounts are counted again from each artefact: ClusterQueues, NodeOverlays, autoscaler tags,
limits of Karpenter, the node's own advertisement. Fleets have GPUs partitioned and shared in every
way, claimed GPUs, Trainium and Inferentia by device and by core, and TPU slices.
"""

import re
from fractions import Fraction
from math import prod
from typing import Any

import pytest
from hypothesis import assume, find, given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet.fleet import Fleet
from gpufleet.fleet.model import Pool
from gpufleet.fleet.unit_weights import unit_capacity, unit_weights
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.autoscaler_tags import TEMPLATE, autoscaler_tags, modelled_gpus
from gpufleet.platforms.eks.karpenter_objects import limits, node_overlay
from gpufleet.render.kueue_queues import cluster_queues, team_quota
from gpufleet.render.monitoring_artefacts import alerts
from gpufleet.spec.monitoring import Monitoring
from tests.property.test_renders_agree import UNHURRIED, fleets
from tests.unit.render.fleets import REGIONS

GPU, DEVICE, CORE = "nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"
CLAIMS = "gpufleet.dev/gpu-claims"
CORES = {
    row.name: int(found[1])
    for row in load().instances.values()
    if (found := re.fullmatch(r"aws\.amazon\.com/neuroncore=(\d+)", row.notes))
}
"""Neuron machine -> cores, as Karpenter's own table counts them."""
TPUS = (("ct5lp-hightpu-4t", None), ("ct5lp-hightpu-4t", "4x4"), ("ct6e-standard-4t", "2x4"))


@st.composite
def neuron_pools(draw: st.DrawFn, name: str) -> dict[str, Any]:
    machine = draw(st.sampled_from(sorted(CORES)))
    by_core = not machine.startswith("trn2") and draw(st.booleans())
    return {
        "name": name,
        "instanceTypes": [machine],
        "nodes": {"min": 0, "max": draw(st.integers(1, 50))},
        "provisioner": draw(st.sampled_from(["managed", "karpenter", "clusterAutoscaler"])),
        **({"neuron": {"unit": "core"}} if by_core else {}),
    }


@st.composite
def claimed_pools(draw: st.DrawFn, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "instanceTypes": [draw(st.sampled_from(["p4de.24xlarge", "p5.48xlarge", "g6.12xlarge"]))],
        "nodes": {"min": 0, "max": draw(st.integers(1, 50))},
        "provisioner": draw(st.sampled_from(["managed", "clusterAutoscaler"])),
        "sharing": {"dra": {"extendedResource": True} if draw(st.booleans()) else {}},
    }


@st.composite
def tpu_pools(draw: st.DrawFn, name: str) -> dict[str, Any]:
    machine, topology = draw(st.sampled_from(TPUS))
    chips = load().instance(machine).accelerator.count
    assert chips is not None
    hosts = prod(map(int, topology.split("x"))) // chips if topology else draw(st.integers(1, 9))
    return {
        "name": name,
        "instanceTypes": [machine],
        "nodes": {"min": 0, "max": hosts},
        **({"gke": {"tpuTopology": topology}} if topology else {}),
    }


@st.composite
def any_fleets(draw: st.DrawFn) -> dict[str, Any]:
    """A fleet of GPUs, with other accelerators next to them where its platform has some."""
    document = draw(fleets())
    kinds = [neuron_pools, claimed_pools] if document["platform"] == "eks" else [tpu_pools]
    count = draw(st.integers(0, 3))
    document["pools"] += [draw(draw(st.sampled_from(kinds))(f"x{i}")) for i in range(count)]
    if draw(st.booleans()):
        # Nothing that gets in the way of the others: one MIG strategy, one way of counting a class.
        document["pools"] = document["pools"][-count or 1 :]
    return document


@st.composite
def shared_out(draw: st.DrawFn) -> dict[str, Any]:
    """A fleet whose teams have all of it: with limits, groups, and separate pools."""
    document = draw(any_fleets())
    count = draw(st.integers(1, 4))
    parts = [draw(st.integers(1, 20)) for _ in range(count)]
    names = [f"t{i}" for i in range(count)]
    teams: list[dict[str, Any]] = []
    for name, part in zip(names, parts, strict=True):
        team: dict[str, Any] = {"name": name, "share": part / sum(parts)}
        if draw(st.booleans()):
            team["borrowing"] = draw(st.sampled_from([0, 0.5, 1, 3.7]))
        if draw(st.booleans()):
            team["lending"] = draw(st.sampled_from([0, 0.25, 0.3333, 1]))
        if draw(st.booleans()):
            team["cohort"] = "labs"
        teams.append(team)
    for pool in document["pools"]:
        if draw(st.integers(0, 3)) == 0:
            pool["team"] = draw(st.sampled_from(names))
    document["queues"] = {"teams": teams, "cohorts": [{"name": "labs"}]}
    return document


def compiled(document: dict[str, Any]) -> Fleet:
    result = compile_data(document)
    assume(result.deployable)
    assert result.fleet is not None
    return result.fleet


def quotas(fleet: Fleet) -> dict[tuple[str, str], list[dict[str, int]]]:
    """Pool and resource -> quota of each queue."""
    found: dict[tuple[str, str], list[dict[str, int]]] = {}
    for queue in cluster_queues(fleet):
        for group in queue["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                for entry in flavor["resources"]:
                    amounts = {key: int(value) for key, value in entry.items() if key != "name"}
                    found.setdefault((flavor["name"], entry["name"]), []).append(amounts)
    return found


def told_to_autoscaler(pool: Pool) -> dict[str, int]:
    """Resources of one more node of the pool, by its autoscaler's configuration."""
    overlay = node_overlay(pool)
    devices = {} if overlay is None else dict(overlay["spec"]["capacity"])
    devices.pop("hugepages-2Mi", None)  # of EFA's driver; no quota counts them
    if devices:
        return {k: int(v) for k, v in devices.items() if int(v)}
    tags = autoscaler_tags(pool)
    if tags is not None:
        start = f"{TEMPLATE}resources/"
        told = {
            key.removeprefix(start): value for key, value in tags.items() if key.startswith(start)
        }
        alongside = {"ephemeral-storage", "hugepages-2Mi", "vpc.amazonaws.com/efa"}
        return {
            name: int(value)
            for name, value in told.items()
            if name not in alongside and value != "0"
        }
    if pool.provisioner.value == "karpenter":
        if pool.gpu.vendor == "aws":
            return {DEVICE: pool.gpus_per_node, CORE: CORES[pool.machines[0].name]}
        return {GPU: modelled_gpus(pool)}
    return dict(pool.advertised)  # the cloud's own node group learns it from the nodes


def on_a_node(pool: Pool) -> dict[str, int]:
    """Accelerator -> units of a node, for pools without MIG: from machine and declaration."""
    row = pool.machines[0].instance
    assert row is not None
    assert row.accelerator.count is not None
    if pool.gpu.vendor == "aws":
        by_core = pool.spec.neuron is not None and pool.spec.neuron.unit.value == "core"
        return {CORE: CORES[row.name]} if by_core else {DEVICE: row.accelerator.count}
    if pool.gpu.vendor == "google":
        return {"google.com/tpu": row.accelerator.count}
    if pool.partition.dra is not None:
        name = GPU if pool.spec.sharing.dra and pool.spec.sharing.dra.extended_resource else CLAIMS
        return {name: row.accelerator.count}
    return {}


@UNHURRIED
@given(shared_out())
def test_quota_is_what_the_pools_may_grow_to(document: dict[str, Any]) -> None:
    fleet = compiled(document)
    stated = quotas(fleet)
    for pool in fleet.pools:
        most = pool.nodes.maximum
        for resource, amount in on_a_node(pool).items():
            assert sum(e["nominalQuota"] for e in stated[(pool.name, resource)]) == amount * most
        for resource, amount in pool.advertised.items():
            nominal = [entry["nominalQuota"] for entry in stated[(pool.name, resource)]]
            assert sum(nominal) == amount * most
            if pool.partition.dra is None:
                assert told_to_autoscaler(pool)[resource] * most == sum(nominal)
            if pool.spec.team is not None:
                assert sorted(nominal)[-1] == amount * most
        if pool.provisioner.value == "karpenter":
            bounds = limits(pool)
            assert int(bounds["nodes"]) == most
            for resource, amount in pool.advertised.items():
                # For time-sliced GPUs without a separate name both counts are limited.
                both = max(amount, modelled_gpus(pool) if resource == GPU else 0)
                assert int(bounds[resource]) == both * most
            for resource, amount in told_to_autoscaler(pool).items():
                if pool.gpu.vendor == "aws":
                    assert int(bounds.get(resource, amount * most)) == amount * most
    whole: dict[str, int] = {}
    for (_, resource), entries in stated.items():
        whole[resource] = whole.get(resource, 0) + sum(e["nominalQuota"] for e in entries)
    by_team: dict[str, int] = {}
    for amounts in team_quota(fleet).values():
        for resource, amount in amounts.items():
            by_team[resource] = by_team.get(resource, 0) + amount
    assert whole == by_team


@UNHURRIED
@given(shared_out())
def test_limits_are_those_kueue_takes(document: dict[str, Any]) -> None:
    """Lending is never more than the quota, nothing is negative, every flavor lists its group's
    resources in their order."""
    fleet = compiled(document)
    for entries in quotas(fleet).values():
        for entry in entries:
            assert entry["nominalQuota"] >= 0
            assert entry.get("borrowingLimit", 0) >= 0
            assert 0 <= entry.get("lendingLimit", 0) <= entry["nominalQuota"]
    for queue in cluster_queues(fleet):
        resources = [r for g in queue["spec"]["resourceGroups"] for r in g["coveredResources"]]
        assert len(resources) == len(set(resources))
        for group in queue["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                assert [r["name"] for r in flavor["resources"]] == group["coveredResources"]


@UNHURRIED
@given(any_fleets())
def test_units_of_a_node_are_never_more_than_the_node(document: dict[str, Any]) -> None:
    """The sum that pods can be charged is at most the price: the rest is stranded."""
    for pool in compiled(document).pools:
        weights, capacity = unit_weights(pool), unit_capacity(pool)
        assert set(pool.advertised) <= set(weights)
        offered = sum((weights[name] * n for name, n in capacity.items()), Fraction(0))
        assert 0 < offered <= 1
        if not pool.partition.mig_enabled:
            assert offered == 1


@UNHURRIED
@given(shared_out())
def test_alerts_state_the_same_capacity(document: dict[str, Any]) -> None:
    fleet = compiled(document)
    found = {alert["alert"]: alert["expr"] for alert in alerts(fleet, Monitoring())}
    capacity: dict[str, int] = {}
    for pool in fleet.pools:
        for resource, amount in pool.advertised.items():
            capacity[resource] = capacity.get(resource, 0) + amount * pool.nodes.maximum
    for resource, amount in capacity.items():
        assert f'{{resource="{resource}"}}) > {amount}' in found["GpuQuotaOverCapacity"]


@pytest.mark.parametrize(
    ("pools", "platform", "resource"),
    [
        (neuron_pools("x"), "eks", CORE),
        (neuron_pools("x"), "eks", DEVICE),
        (claimed_pools("x"), "eks", CLAIMS),
        (claimed_pools("x"), "eks", GPU),
        (tpu_pools("x"), "gke", "google.com/tpu"),
    ],
)
def test_legal_fleets_have_every_kind(
    pools: st.SearchStrategy[dict[str, Any]], platform: str, resource: str
) -> None:
    """None of them is dropped as a declaration that contradicts itself."""

    def queued(pool: dict[str, Any]) -> bool:
        result = compile_data(
            {
                "catalogue": "2026.11",
                "platform": platform,
                "cluster": {"name": "ml", "region": REGIONS.get(platform, "us-east-1")},
                "pools": [pool],
                "queues": {"teams": [{"name": "t", "share": 1}]},
            }
        )
        made = result.fleet
        return result.deployable and made is not None and ("x", resource) in quotas(made)

    assert find(pools, queued, settings=settings(max_examples=200, database=None))
