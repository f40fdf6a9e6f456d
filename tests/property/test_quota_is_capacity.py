"""For any legal fleet: quotas = advertised capacity = what autoscalers may make, per resource.

The amounts are counted anew from each artefact: ClusterQueues, NodeOverlays, autoscaler tags,
limits of Karpenter, the node's own advertisement.
"""

from fractions import Fraction
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from gpufleet.fleet import Fleet, compile_data
from gpufleet.fleet.model import Pool
from gpufleet.fleet.unit_weights import unit_capacity, unit_weights
from gpufleet.render.alerts import alerts
from gpufleet.render.autoscaler_tags import TEMPLATE, autoscaler_tags
from gpufleet.render.karpenter_node_pool import limits
from gpufleet.render.karpenter_overlay import node_overlay
from gpufleet.render.kueue_queues import cluster_queues, team_quota
from gpufleet.render.node_template import modelled_gpus
from gpufleet.spec.monitoring import Monitoring
from tests.property.test_renders_agree import UNHURRIED, fleets

GPU = "nvidia.com/gpu"


@st.composite
def shared_out(draw: st.DrawFn) -> dict[str, Any]:
    """A fleet whose teams have all of it: with limits, groups, and pools of their own."""
    document = draw(fleets())
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
    """Pool and resource -> what each queue says of it."""
    found: dict[tuple[str, str], list[dict[str, int]]] = {}
    for queue in cluster_queues(fleet):
        for group in queue["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                for entry in flavor["resources"]:
                    amounts = {key: int(value) for key, value in entry.items() if key != "name"}
                    found.setdefault((flavor["name"], entry["name"]), []).append(amounts)
    return found


def told_to_autoscaler(pool: Pool) -> dict[str, int]:
    """What one more node of the pool brings, as its autoscaler believes."""
    overlay = node_overlay(pool)
    if overlay is not None:
        return {k: int(v) for k, v in overlay["spec"]["capacity"].items() if int(v)}
    tags = autoscaler_tags(pool)
    if tags is not None:
        start = f"{TEMPLATE}resources/nvidia.com/"
        told = {
            key.removeprefix(f"{TEMPLATE}resources/"): int(value)
            for key, value in tags.items()
            if key.startswith(start)
        }
        return {name: amount for name, amount in told.items() if amount}
    if pool.provisioner.value == "karpenter":
        return {GPU: modelled_gpus(pool)}
    return dict(pool.advertised)  # the cloud's own node group learns it from the nodes


@UNHURRIED
@given(shared_out())
def test_quota_is_what_the_pools_may_grow_to(document: dict[str, Any]) -> None:
    fleet = compiled(document)
    stated = quotas(fleet)
    for pool in fleet.pools:
        most = pool.nodes.maximum
        for resource, amount in pool.advertised.items():
            nominal = [entry["nominalQuota"] for entry in stated[(pool.name, resource)]]
            assert sum(nominal) == amount * most
            assert told_to_autoscaler(pool)[resource] * most == sum(nominal)
            if pool.spec.team is not None:
                assert sorted(nominal)[-1] == amount * most
        if pool.provisioner.value == "karpenter":
            bounds = limits(pool)
            assert int(bounds["nodes"]) == most
            for resource, amount in pool.advertised.items():
                # Of GPUs that take turns without a name of their own both counts are bounded.
                both = max(amount, modelled_gpus(pool) if resource == GPU else 0)
                assert int(bounds[resource]) == both * most
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
@given(fleets())
def test_units_of_a_node_are_never_more_than_the_node(document: dict[str, Any]) -> None:
    """What pods can be made to pay together is at most the price: the rest is stranded."""
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
    found = {alert.name: alert.expression for alert in alerts(fleet, Monitoring())}
    capacity: dict[str, int] = {}
    for pool in fleet.pools:
        for resource, amount in pool.advertised.items():
            capacity[resource] = capacity.get(resource, 0) + amount * pool.nodes.maximum
    for resource, amount in capacity.items():
        assert f'{{resource="{resource}"}}) > {amount}' in found["GpuQuotaOverCapacity"]
