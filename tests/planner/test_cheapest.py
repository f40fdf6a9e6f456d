"""Plans of random teams: no dearer than a packing of the same shares, and close to their bound."""

import random
from typing import Any

import pytest

from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import Mode, PackingMachine, PackingProblem, ShareClass
from gpufleet_planner.planning.layouts import FilledPool
from gpufleet_planner.planning.manifest import manifests
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.plan import PlannedFleet, Planner, plan
from gpufleet_planner.sizing.device import DeviceShare
from tests.examples import examples
from tests.planner.plan_files import example, file, service
from tests.planner.pod_schedule import schedule

MODELS = ("Llama-3.2-1B", "Llama-3.1-8B", "Qwen3-14B", "Qwen3-32B", "Qwen2.5-1.5B", "gpt-oss-20b")
MODES = {DeviceShare.MPS: Mode.MPS, DeviceShare.TIME_SLICE: Mode.TIME_SLICING}


def team(draw: random.Random) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number in range(draw.randint(2, 9)):
        kind = draw.random()
        if kind < 0.3:
            gib, count = draw.choice((4, 8, 10, 16, 20, 30, 60)), draw.choice((1, 2, 3, 5, 8))
            rows.append({"name": f"n{number}", "workload": "notebook", "count": count})
            rows[-1]["memoryGib"] = gib
        elif kind < 0.9:
            row = service(f"s{number}", model=draw.choice(MODELS), batch=draw.choice((1, 4, 8, 16)))
            row["replicas"] = draw.choice((1, 1, 2, 3))
            if draw.random() < 0.5:
                row["isolation"] = draw.choice(("hardware", "memory", "none"))
            rows.append(row)
        else:
            run = {"name": f"t{number}", "workload": "lora", "model": "Llama-3.2-1B"}
            rows.append({**run, "context": 1024, "target": {"tokens": 10**7}})
    return rows


def share(name: str, option: Option) -> ShareClass:
    on = frozenset({machine(option).name})
    if option.share.kind is DeviceShare.WHOLE:
        each = option.reached.gpus_each
        return ShareClass(name, option.reached.copies, Mode.WHOLE, gpus=each, machines=on)
    if option.share.kind is DeviceShare.MIG:
        return ShareClass(name, option.devices, Mode.MIG, option.share.profile, machines=on)
    part = option.share.replicas
    mode = MODES[option.share.kind]
    return ShareClass(name, option.devices, mode, replicas=part, machines=on)


def machine(option: Option) -> PackingMachine:
    """Whole GPUs and slices share nodes of one kind, other shares have separate nodes."""
    row, mode = option.machine, MODES.get(option.share.kind)
    name = row.name if mode is None else f"{row.name} {mode} {option.share.replicas}"
    modes = frozenset({Mode.WHOLE, Mode.MIG}) if mode is None else frozenset({mode})
    return PackingMachine(
        name, row.gpu, row.gpus, row.device_bytes, modes=modes, micro_usd_per_hour=row.micro_usd
    )


def packed(pools: list[FilledPool]) -> int:
    """The packer's cost of the shares of pools of one intent, each on its own kind of machine."""
    options = {name: option for pool in pools for name, option in pool.members}
    machines = {machine(option).name: machine(option) for option in options.values()}
    shares = tuple(share(name, option) for name, option in options.items())
    found = pack(PackingProblem(machines, shares))
    assert not found.unplaced
    return found.cost


def packed_alike(answer: PlannedFleet) -> float:
    intents: dict[str, list[FilledPool]] = {}
    for _, pool in answer.pools:
        intents.setdefault(pool.key.intent, []).append(pool)
    return sum(map(packed, intents.values())) / 1e6


@pytest.mark.parametrize("seed", range(4))
def test_no_packing_of_the_same_shares_costs_less(seed: int) -> None:
    draw = random.Random(seed)
    close = drawn = 0
    for _ in range(examples(100) // 4):
        gpus = draw.choice(([], [], ["A100-80GB"], ["H100-80GB"], ["L4", "H100-80GB"]))
        answer = plan(file(*team(draw), gpus=gpus))
        assert answer.usd_per_hour is not None, answer.findings
        assert answer.bound_usd_per_hour is not None
        assert answer.fleet is not None
        assert float(answer.usd_per_hour) <= packed_alike(answer) + 1e-6
        assert schedule(answer.fleet, manifests(answer)) == 0
        drawn += 1
        close += float(answer.usd_per_hour) <= 1.05 * float(answer.bound_usd_per_hour)
    assert close >= 0.95 * drawn


def test_whole_gpus_and_slices_share_nodes() -> None:
    """Six sevenths, four halves and two whole A100-40GB: one GPU of sevenths, two of halves and two
    whole are five of the eight of a p4d.24xlarge (21.96 USD/h), which the packer proves too."""
    sizes = {"sevenths": (6, 3.5), "halves": (4, 18), "whole": (2, 36)}
    rows = [
        {"name": name, "workload": "notebook", "count": count, "memoryGib": gib}
        for name, (count, gib) in sizes.items()
    ]
    answer = plan(file(*({**row, "isolation": "hardware"} for row in rows), gpus=["A100-40GB"]))
    assert answer.fleet is not None
    assert [pool.nodes for _, pool in answer.pools] == [1]
    assert float(answer.usd_per_hour or 0) == packed_alike(answer) == 21.957642
    assert schedule(answer.fleet, manifests(answer)) == 0


def test_ways_of_sharing_that_exclude_each_other_are_written_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where each workload may take MPS or MIG, the selection has one of them: no second fleet is
    written because the first does not compile."""
    written: list[set[DeviceShare]] = []
    write = Planner.write

    def counted(self: Planner, chosen: Any, selection: Any) -> Any:
        written.append({pool.key.kind for pool in selection.pools})
        return write(self, chosen, selection)

    monkeypatch.setattr(Planner, "write", counted)
    answer = plan(example("sandbox-training"))
    assert answer.fleet is not None
    assert len(written) == 1
    assert not {DeviceShare.MPS, DeviceShare.MIG} <= written[0]
