"""From device plugin to DRA driver and back: never two advertisers, whichever process ends when.

A small simulation decides: operands follow labels of a node some time later, as Kubernetes'
controllers do.
"""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.change.cut_over_steps import NextStep, next_step, next_steps, read_cut_over_state
from gpufleet.change.fleet_change import change_plan
from gpufleet.change.live_node import LiveNode
from gpufleet.change.live_pods import read_pods
from gpufleet.change.plan import Act, NodeChangeKind
from gpufleet.fleet import Fleet
from gpufleet.fleet.cut_over import CutOver, cut_over
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.platforms.compiled import compile_data
from tests.unit.change.fleets import EIGHTHS, WHOLE, compiled, fleet_data

DRA: dict[str, Any] = {"dra": {"namespaces": ["lab"]}}
ON_DEMAND: dict[str, Any] = {"dra": {"devices": "mig"}}
FIXED: dict[str, Any] = {"dra": {"devices": "mig", "layouts": [{"devices": {"1g.10gb": 7}}]}}
SLICED: dict[str, Any] = {"timeSlicing": {"replicas": 4}}
WAYS = [
    pytest.param("A100-80GB", WHOLE, DRA, id="whole"),
    pytest.param("A100-80GB", SLICED, DRA, id="time-sliced"),
    pytest.param("A100-80GB", EIGHTHS, DRA, id="mig-to-whole"),
    pytest.param("A100-80GB", EIGHTHS, FIXED, id="same-slices"),
    pytest.param("A100-80GB", WHOLE, FIXED, id="whole-to-slices"),
    pytest.param("H100-80GB", EIGHTHS, ON_DEMAND, id="slices-on-demand"),
]


def declared(gpu: str, old: dict[str, Any], new: dict[str, Any], **pool: Any) -> dict[str, Any]:
    data = fleet_data(new, gpu=gpu, change={"previous": old}, **pool)
    data["cluster"]["kubernetesVersion"] = "1.36"
    return data


@dataclass
class World:
    """One node. Operands read the labels from time to time, each at its own times."""

    cut: CutOver
    draw: random.Random
    labels: dict[str, str]
    plugin: bool
    driver: bool
    config: str | None
    state: str = "success"
    cordoned: bool = False
    pods: int = 3
    offers: dict[str, int] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def tick(self) -> None:
        if self.draw.random() < 0.3:
            self.plugin = self.labels.get("nvidia.com/gpu.deploy.device-plugin") != "false"
        if self.draw.random() < 0.3:
            self.driver = self.labels.get("gpufleet.dev/dra") == "true"
        wanted = self.labels.get("nvidia.com/mig.config")
        manager = self.labels.get("nvidia.com/gpu.deploy.mig-manager") != "false"
        if manager and wanted is not None and wanted != self.config and self.draw.random() < 0.3:
            assert not self.plugin, "GPUs were cut under a device plugin"
            assert not self.driver, "GPUs were cut under the DRA driver"
            assert not self.pods, "GPUs were cut under pods"
            self.config, self.state = wanted, "success"
        elif manager and wanted is not None and wanted != self.config:
            self.state = "pending"
        if not self.cordoned:
            self.pods = 3
        assert not (self.plugin and self.driver), f"two advertisers after {self.seen}"

    def node(self) -> LiveNode:
        promised = self.cut.old if self.cut.to_dra else self.cut.new
        labels = self.labels | {"nvidia.com/mig.config.state": self.state}
        return LiveNode("n", labels, dict(promised) if self.plugin else {}, self.cordoned)

    def published(self) -> int:
        return self.cut.devices if self.driver else 0

    def make(self, step: NextStep) -> None:
        self.seen.append(f"{step.act} {dict(step.labels)}")
        if step.act is Act.CORDON:
            self.cordoned = True
        elif step.act is Act.UNCORDON:
            self.cordoned = False
        elif step.act is Act.DRAIN:
            assert self.cordoned
            self.pods = max(0, self.pods - self.draw.randint(0, 2))
        elif step.act is Act.LABEL:
            for key, value in step.labels.items():
                if value is None:
                    self.labels.pop(key, None)
                else:
                    self.labels[key] = value


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
@pytest.mark.parametrize(("gpu", "old", "new"), WAYS)
def test_never_two_advertisers(
    gpu: str, old: dict[str, Any], new: dict[str, Any], back: bool
) -> None:
    if back:
        old, new = new, old
    pool = compiled(declared(gpu, old, new)).pool("cut")
    cut = cut_over(pool)
    assert pool.previous is not None
    for seed in range(150):
        draw = random.Random(seed)
        labels = dict(pool.previous.labels)
        world = World(
            cut, draw, labels, cut.to_dra, not cut.to_dra, labels.get("nvidia.com/mig.config")
        )
        for _ in range(400):
            if draw.random() < 0.5:
                # The program of the steps may be ended after any step: it has no state.
                step = next_step(cut, world.node(), world.published(), world.pods)
                if step.act is None:
                    break
                world.make(step)
            world.tick()
        assert world.driver == cut.to_dra, world.seen
        assert world.plugin != cut.to_dra, world.seen
        assert not world.cordoned
        wanted = {k: v for k, v in pool.labels.items() if k != "nvidia.com/gpu.deploy.mig-manager"}
        assert wanted.items() <= world.labels.items(), world.labels
        drained = [i for i, text in enumerate(world.seen) if "drain" in text]
        labelled = [i for i, text in enumerate(world.seen) if "label" in text]
        assert not drained or max(drained) < min(labelled)


def test_the_plan_shows_the_order_and_both_sides_are_rendered() -> None:
    old, new = fleet_data(WHOLE, gpu="A100-80GB"), declared("A100-80GB", WHOLE, DRA)
    old["cluster"]["kubernetesVersion"] = "1.36"
    new["pools"][0]["change"]["width"] = 2
    plan = change_plan(compiled(old), compiled(new))
    change = plan.pool("cut")
    assert change.kind is NodeChangeKind.CUT_OVER
    assert [step.act.value for step in change.steps] == [
        "cordon",
        "drain",
        "label",
        "wait",
        "label",
        "wait",
        "uncordon",
    ]
    assert "gpu.deploy.device-plugin=false" in change.steps[2].text
    assert "gpufleet.dev/dra=true" in change.steps[4].text
    assert change.waves == ((0, 1), (2, 3), (4,))
    assert (change.gpus.before, change.gpus.lowest, change.gpus.after) == (40, 24, 40)
    assert plan.safe, [str(f) for f in plan.findings]


def test_without_previous_all_nodes_would_have_two_advertisers() -> None:
    old, new = fleet_data(WHOLE), fleet_data(DRA)
    for data in (old, new):
        data["cluster"]["kubernetesVersion"] = "1.36"
    for one, two in ((old, new), (new, old)):
        plan = change_plan(compiled(one), compiled(two))
        found = [f for f in plan.findings if f.code == "change-two-advertisers"]
        assert len(found) == 1
        assert "change: {previous" in (found[0].fix or "")
    # The last step takes the section away: no node differs any more.
    last = change_plan(compiled(declared("A100-80GB", WHOLE, DRA)), compiled(new))
    assert last.safe, [str(f) for f in last.findings]


def test_karpenter_cannot_follow() -> None:
    data: dict[str, Any] = declared("A100-80GB", WHOLE, DRA, provisioner="karpenter")
    data["platform"] = "eks"
    data["cluster"]["region"] = "us-east-1"
    data["pools"][0] |= {"instanceTypes": ["p4de.24xlarge"]}
    del data["pools"][0]["gpu"]
    found = {f.code: f for f in compile_data(data).findings if f.severity.value == "error"}
    assert {"dra-with-karpenter", "change-not-in-place"} <= set(found)
    facts: Any = found["dra-with-karpenter"].evidence["facts"]
    pinned = load("2026.11").chart("karpenter").version
    assert all(f"v{pinned} " in one["source"] for one in facts), "the source is that of the pin"


def test_a_plugin_of_its_own_chart_cannot_be_kept_off_one_node() -> None:
    data = declared("A100-80GB", WHOLE, DRA)
    data["addons"] = {"devicePlugin": {"enabled": True}}
    codes = {f.code for f in compile_data(data).findings}
    assert "cut-over-plugin-not-by-node" in codes


def live(fleet: Fleet, **cordoned: bool) -> tuple[LiveNode, ...]:
    pool = fleet.pool("cut")
    assert pool.previous is not None
    return tuple(
        LiveNode(f"n{i}", dict(pool.previous.labels), {"nvidia.com/gpu": 8}, f"n{i}" in cordoned)
        for i in range(4)
    )


def test_no_more_nodes_than_the_width_change_together() -> None:
    fleet = compiled(declared("A100-80GB", WHOLE, DRA))
    steps = next_steps(fleet, live(fleet), {}, {})
    assert [one.act for one in steps] == [Act.CORDON, Act.WAIT, Act.WAIT, Act.WAIT]
    steps = next_steps(fleet, live(fleet, n2=True), {}, {"n2": 1})
    assert [one.act for one in steps] == [Act.WAIT, Act.WAIT, Act.DRAIN, Act.WAIT]
    assert steps[2].command == "kubectl drain n2 --ignore-daemonsets --delete-emptydir-data"


def test_what_a_cluster_shows_is_read() -> None:
    def one(name: str, generation: int, devices: int) -> dict[str, Any]:
        pool = {"name": "n", "generation": generation}
        spec = {
            "driver": "gpu.nvidia.com",
            "nodeName": "n",
            "pool": pool,
            "devices": [{}] * devices,
        }
        return {"kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}

    def pod(phase: str, **spec: Any) -> dict[str, Any]:
        return {"kind": "Pod", "spec": {"nodeName": "n", **spec}, "status": {"phase": phase}}

    gpu = [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    items = [
        one("old", 1, 5),
        one("a", 2, 3),
        one("b", 2, 4),
        pod("Running", containers=gpu),
        pod("Succeeded", containers=gpu),
        pod("Running", containers=[{}], resourceClaims=[{"name": "gpu"}]),
        pod("Running", containers=[{"resources": {"limits": {"cpu": "1"}}}]),
    ]
    document = {"kind": "List", "items": items}
    state = read_cut_over_state(document, read_pods(document) or ())
    assert (dict(state.published), dict(state.holders)) == ({"n": 7}, {"n": 2})
    assert read_pods({"kind": "List", "items": items[:3]}) is None


def test_a_node_that_gives_up_claims_is_not_awaited_by_what_its_class_answers() -> None:
    """An extended resource of a DeviceClass is in no node's status."""
    old = {"dra": {**FIXED["dra"], "extendedResource": True, "namespaces": ["lab"]}}
    fleet = compiled(declared("A100-80GB", old, EIGHTHS))
    registered = platform_rules(fleet.platform).registered(fleet, fleet.pool("cut"))
    assert registered
    assert not any("waitFor" in str(node) for node in registered.values())
