"""Each difference has a class; what has none is an error until it is accepted."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.catalogue.transitions import ordinal
from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import NodeChangeKind
from gpufleet.findings import Severity
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.platforms.compiled import compile_data
from gpufleet.spec.base import Platform
from tests.unit.change.fleets import WHOLE, compiled, fleet_data

G6 = {"gpu": None, "gpusPerNode": None, "instanceTypes": ["g6.xlarge"]}
RESTARTS = {"updatePolicy": "restart"}
MACHINE = {"cpus": 16, "memoryGib": 64, "template": "ubuntu-24"}

Data = dict[str, Any]


def eks(**pool: Any) -> Data:
    return fleet_data(WHOLE, platform="eks", **(G6 | pool))


def vsphere(**pool: Any) -> Data:
    options = {"gpu": "L4", "gpusPerNode": 1, "vsphere": MACHINE}
    return fleet_data(WHOLE, platform="vsphere", **(options | pool))


def on(data: Data, version: str) -> Data:
    return data | {"cluster": data["cluster"] | {"kubernetesVersion": version}}


def operator(data: Data, version: str) -> Data:
    return data | {"addons": {"gpuOperator": {"version": version}}}


TAINTED = {"taints": [{"key": "example.com/t", "effect": "NoExecute"}]}


@pytest.mark.parametrize(
    ("new", "kind", "code"),
    [
        (on(eks(), "1.35"), NodeChangeKind.NEW_NODES, "kubernetes-downgrade"),
        (
            eks(eks={"releaseVersion": "1.36.1-20261001"}),
            NodeChangeKind.NEW_NODES,
            "change-by-replacement",
        ),
        (eks(capacity=[{"spot": {}}]), NodeChangeKind.NEW_NODES, "change-by-replacement"),
        (eks(disk={"sizeGib": 300}), NodeChangeKind.NEW_NODES, "change-by-replacement"),
        (eks(**TAINTED), NodeChangeKind.LIVE, "change-evicts-pods"),
        (eks(instanceTypes=["g6.2xlarge"]), NodeChangeKind.NEW_NODES, "change-by-replacement"),
        (eks(nodes={"min": 1, "max": 3}), NodeChangeKind.LIVE, "change-removes-nodes"),
    ],
)
def test_what_was_silent_on_eks(new: Data, kind: NodeChangeKind, code: str) -> None:
    plan = change_plan(compiled(eks()), compiled(new))
    assert plan.pool("cut").kind is kind
    assert code in {f.code for f in plan.findings}
    assert "change-unknown" not in {f.code for f in plan.findings}


@pytest.mark.parametrize(
    ("new", "kind", "code"),
    [
        ({**MACHINE, "template": "ubuntu-26"}, NodeChangeKind.NEW_NODES, "change-by-replacement"),
        ({**MACHINE, "cpus": 32}, NodeChangeKind.UNKNOWN, "change-refused"),
        ({**MACHINE, "cpus": 32, **RESTARTS}, NodeChangeKind.RESTART, "change-restarts-machines"),
        ({**MACHINE, "datastore": "other"}, NodeChangeKind.UNKNOWN, "change-refused"),
    ],
)
def test_what_was_silent_on_vsphere(new: Data, kind: NodeChangeKind, code: str) -> None:
    plan = change_plan(compiled(vsphere()), compiled(vsphere(vsphere=new)))
    assert plan.pool("cut").kind is kind
    assert code in {f.code for f in plan.findings}


def test_minors_go_up_one_by_one() -> None:
    def codes(old: str, new: str) -> set[str]:
        plan = change_plan(compiled(on(eks(), old)), compiled(on(eks(), new)))
        return {f.code for f in plan.findings if f.severity is Severity.ERROR}

    assert codes("1.34", "1.35") == set()
    assert codes("1.34", "1.36") == {"kubernetes-minor-skipped"}
    assert codes("1.36", "1.34") == {"kubernetes-downgrade"}


def test_another_operator_restarts_its_pods_everywhere() -> None:
    old, new = operator(eks(), "v26.3.0"), operator(eks(), "v26.7.0")
    plan = change_plan(compiled(old), compiled(new))
    (found, breaks) = plan.findings
    assert (found.code, found.path) == ("change-restarts-operands", "addons.gpuOperator")
    assert (breaks.code, breaks.path) == ("change-breaks", "addons.gpuOperator.version")
    assert "from v26.3.0 to v26.7.0" in found.message
    assert [one.leaf_class for one in plan.cluster] == [LeafClass.OPERAND]


def test_what_is_not_known_is_an_error_until_accepted() -> None:
    old = compiled(eks())
    new = compiled(eks(eks={"nodeGroup": {"warmPoolConfig": {"minSize": 1}}}))
    plan = change_plan(old, new)
    assert not plan.safe
    assert plan.pool("cut").kind is NodeChangeKind.UNKNOWN
    (unknown,) = [f for f in plan.findings if f.code == "change-unknown"]
    assert unknown.path == "pools[0]"
    assert "nodeGroup.warmPoolConfig" in unknown.message
    accepted = change_plan(old, new, accept_unknown="a new stack")
    assert accepted.safe
    assert all("a new stack" in f.message for f in accepted.findings)


def test_another_name_is_another_node_group() -> None:
    plan = change_plan(compiled(eks()), compiled(eks() | {"namePrefix": "other"}))
    pool = plan.pool("cut")
    assert pool.kind is NodeChangeKind.NEW_NODES
    assert {one.resource: one.operation.value for one in pool.engine} == {
        "nodeGroup": "replace",
        "launchTemplate": "replace",
    }
    assert "change-unknown" not in {f.code for f in plan.findings}


def test_an_empty_section_differs_from_none_in_nothing() -> None:
    plan = change_plan(compiled(eks()), compiled(eks(eks={})))
    assert plan.pool("cut").kind is NodeChangeKind.UNTOUCHED
    assert plan.findings == ()


@pytest.mark.parametrize(
    "operator",
    [
        {"driver": {"upgradePolicy": {}}},
        {"driver": {"upgradePolicy": {"drain": {}}}},
        {"dcgmExporter": {"serviceMonitor": {}}},
    ],
)
def test_an_empty_section_deep_inside_differs_in_nothing(operator: Data) -> None:
    plan = change_plan(compiled(eks()), compiled(eks() | {"addons": {"gpuOperator": operator}}))
    assert plan.findings == ()
    assert {one.leaf_class for one in plan.cluster} <= {LeafClass.COMPILED}


def test_nodes_that_are_no_longer_made_here_are_deleted() -> None:
    plan = change_plan(compiled(eks()), compiled(eks(ownership="existing")))
    assert plan.pool("cut").kind is NodeChangeKind.REMOVED
    assert "change-gives-up-nodes" in {f.code for f in plan.findings}
    assert {one.operation.value for one in plan.pool("cut").engine} == {"delete"}


def test_money_changes_nothing_that_runs() -> None:
    plan = change_plan(compiled(eks()), compiled(eks() | {"budget": {"usdPerHour": 900}}))
    assert plan.pool("cut").kind is NodeChangeKind.UNTOUCHED
    assert plan.findings == ()
    assert [one.leaf_class for one in plan.cluster] == [LeafClass.NONE]


@pytest.mark.parametrize(
    ("as_of", "ended"),
    [
        (None, False),
        (date(2026, 11, 22), False),
        (date(2026, 11, 23), True),
        (datetime(2026, 11, 22, 11, 29, tzinfo=UTC), False),
        (datetime(2026, 11, 22, 11, 30, tzinfo=UTC), True),
    ],
)
def test_a_block_that_has_ended_is_an_error_at_that_moment(as_of: date | None, ended: bool) -> None:
    block = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-11-22T11:30:00Z"}
    pool = {"instanceTypes": ["p5.48xlarge"], "capacity": [{"capacityBlock": block}]}
    result = compile_data(eks(**pool), as_of=as_of)
    errors = [f.code for f in result.findings if f.severity is Severity.ERROR]
    assert errors == (["capacity-block-ended"] if ended else [])


def test_the_order_of_a_node_group_decides_what_stays() -> None:
    """EKS user guide, managed node update behavior: maxUnavailable nodes at a time."""

    def pool(**eks_options: Any) -> Any:
        changed = eks(disk={"sizeGib": 300}, eks=eks_options)
        return change_plan(compiled(eks(eks=eks_options)), compiled(changed)).pool("cut")

    minimal = pool(update={"maxUnavailable": 2})
    assert [len(wave) for wave in minimal.waves] == [2, 2, 1]
    assert (minimal.gpus.before, minimal.gpus.lowest, minimal.gpus.after) == (5, 3, 5)
    # 5 nodes x 1 GPU x (300 s drain + 600 s start); three waves of them
    assert (str(minimal.gpu_hours), minimal.seconds) == ("1.25", 3 * 900)
    assert minimal.usd is not None
    surge = pool(update={"strategy": "surge"})
    assert (surge.gpus.lowest, str(surge.gpu_hours)) == (5, "0.00")


def test_another_group_starts_with_its_smallest_size() -> None:
    nodes = {"min": 1, "max": 5, "expected": 4}
    plan = change_plan(compiled(eks(nodes=nodes)), compiled(eks(nodes=nodes, team="a")))
    assert plan.pool("cut").gpus.lowest == 3
    plan = change_plan(
        compiled(eks(nodes=nodes)), compiled(eks(nodes=nodes, capacity=[{"spot": {}}]))
    )
    assert (plan.pool("cut").gpus.before, plan.pool("cut").gpus.lowest) == (4, 1)
    assert "made again" in plan.pool("cut").back or "replaced" in plan.pool("cut").back


def test_kubernetes_does_not_go_back() -> None:
    plan = change_plan(compiled(on(eks(), "1.35")), compiled(on(eks(), "1.36")))
    assert plan.pool("cut").back.startswith("none")
    (found,) = [one for one in plan.cluster if one.field == "cluster.kubernetesVersion"]
    assert (found.old, found.new) == ("1.35", "1.36")


def test_an_addon_that_is_given_up_is_deleted() -> None:
    def addons(**operator: Any) -> Any:
        return compiled(eks() | {"addons": {"gpuOperator": operator}})

    plan = change_plan(addons(), addons(ownership="existing"))
    (found,) = [f for f in plan.findings if f.code == "change-gives-up-addon"]
    assert found.severity is Severity.ERROR
    queued = {"devicePlugin": {"enabled": True}, "gpuOperator": {"enabled": False}}
    plan = change_plan(addons(), compiled(eks() | {"addons": queued}))
    assert "change-removes-addon" in {f.code for f in plan.findings}


def breaks(old: Data, new: Data) -> set[str]:
    """Sources of what the plan warns of."""
    plan = change_plan(compiled(old), compiled(new), accept_unknown="tested here")
    facts: list[Any] = [f.evidence["facts"] for f in plan.findings if f.code == "change-breaks"]
    return {one["source"] for found in facts for one in found}


@pytest.mark.parametrize(
    ("old", "new", "source", "warned"),
    [
        ("0.15.0", "0.16.1", "device-plugin-changelog", True),
        ("0.19.0", "0.20.0", "device-plugin-changelog", False),
    ],
)
def test_records_of_charts(old: str, new: str, source: str, warned: bool) -> None:
    def plugin(version: str) -> Data:
        return eks() | {"addons": {"devicePlugin": {"enabled": True, "version": version}}}

    assert (source in breaks(plugin(old), plugin(new))) == warned


def test_a_record_of_one_platform_is_silent_on_the_others() -> None:
    assert breaks(on(eks(), "1.32"), on(eks(), "1.33")) == {"eks-versions-standard"}
    gke = fleet_data(WHOLE, platform="gke", gpu="L4", gpusPerNode=1)
    gke["cluster"]["region"] = "us-central1"
    assert breaks(on(gke, "1.32"), on(gke, "1.33")) == {"gke-containerd-2"}


@pytest.mark.parametrize(
    ("old", "new", "warned"),
    [("550.90.07", "570.133.20", True), ("550.90.07", "570.172.08", False)],
)
def test_a_record_of_a_driver(old: str, new: str, warned: bool) -> None:
    def driver(version: str) -> Data:
        return vsphere() | {"addons": {"gpuOperator": {"driver": {"version": version}}}}

    assert ("gpu-operator-notes" in breaks(driver(old), driver(new))) == warned


@pytest.mark.parametrize(
    ("before", "after", "warned"), [(False, True, True), (True, True, False), (False, False, False)]
)
def test_a_record_of_a_value_that_the_same_change_switches_on(
    before: bool, after: bool, warned: bool
) -> None:
    """NVIDIA/cloud-native-docs pull 459: two upgrades to reach NVIDIADriver objects."""

    def operator(version: str, objects: bool) -> Data:
        values = {"driver": {"nvidiaDriverCRD": {"enabled": objects}}}
        return vsphere() | {"addons": {"gpuOperator": {"version": version, "values": values}}}

    found = breaks(operator("v26.3.1", before), operator("v26.7.0", after))
    assert ("cloud-native-docs-459" in found) == warned


def test_every_record_is_of_something_that_a_fleet_has() -> None:
    catalogue = load("2026.11")
    subjects = {*catalogue.charts, *catalogue.images, "kubernetes", "driver", "driver-precompiled"}
    assert set(catalogue.transitions) <= subjects
    rows = [row for found in catalogue.transitions.values() for row in found]
    assert len(rows) >= 60
    assert {row.platform for row in rows} <= {None, *(one.value for one in Platform)}
    for row in rows:
        assert row.fixed is None or ordinal(row.at) < ordinal(row.fixed), row
