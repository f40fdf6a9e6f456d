"""MP-12 to MP-15 and the order of a change: what the GPUs look like after it."""

from collections.abc import Callable

import pytest

from gpufleet_sandbox.operands.hardware import SimulatedHardware
from gpufleet_sandbox.operands.mig_default_configs import generated_configs
from gpufleet_sandbox.operands.mig_manager import (
    States,
    after_reboot,
    apply,
    change_modes,
    is_applied,
)
from gpufleet_sandbox.operands.mig_parted_config import Config, ParsedMigEntry
from gpufleet_sandbox.operands.silicon import GpuState, cut

Build = Callable[..., SimulatedHardware]
A100, H100, L4 = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA L4"
OFF = ParsedMigEntry((), None, False, {})


def on(devices: dict[str, int], *indices: int, filters: tuple[str, ...] = ()) -> ParsedMigEntry:
    return ParsedMigEntry(filters, indices or None, True, devices)


def new(hardware: SimulatedHardware) -> States:
    return tuple(GpuState() for _ in hardware.gpus)


def cut_all(hardware: SimulatedHardware, devices: dict[str, int]) -> States:
    return tuple(GpuState(True, cut(gpu.board, devices)) for gpu in hardware.gpus)


def test_layouts_by_index(build: Build) -> None:
    node = build(A100, 3)
    config = (on({"1g.10gb": 7}, 0), on({"3g.40gb": 2}, 1), ParsedMigEntry((), (2,), False, {}))
    applied = apply(node, new(node), config, [])
    assert applied.error is None
    assert [dict(state.counts) for state in applied.states] == [{"1g.10gb": 7}, {"3g.40gb": 2}, {}]
    assert [state.mig_enabled for state in applied.states] == [True, True, False]
    assert is_applied(node, applied.states, config)


def test_mp12_profile_of_another_board_fails_and_leaves_the_gpu_empty(build: Build) -> None:
    node = build(A100, 2)
    config = (on({"1g.10gb": 7}, 0), on({"1g.5gb": 7}, 1))
    applied = apply(node, new(node), config, [])
    assert applied.error is not None
    assert "GPU 1: no profile 1g.5gb" in applied.error
    assert [dict(state.counts) for state in applied.states] == [{"1g.10gb": 7}, {}]
    assert applied.states[1].mig_enabled


def test_mp12_filter_that_matches_nothing_changes_nothing_and_succeeds(build: Build) -> None:
    node = build(H100, 1)
    config = (on({"1g.10gb": 7}, filters=("H100",)),)
    applied = apply(node, new(node), config, [])
    assert applied.error is None
    assert applied.states == new(node)
    assert not is_applied(node, applied.states, config)


def test_mp13_gpu_without_mig_named_by_index(build: Build) -> None:
    node = build(L4, 1)
    applied = apply(node, new(node), (on({"1g.10gb": 1}, 0),), [])
    assert applied.error == "cannot set MIG mode on non MIG-capable GPU 0 (NVIDIA L4)"


def test_mp13_devices_all_skips_gpus_without_mig(build: Build) -> None:
    node = build(A100, 1, L4, 1)
    applied = apply(node, new(node), (on({"7g.80gb": 1}),), [])
    assert applied.error is None
    assert dict(applied.states[0].counts) == {"7g.80gb": 1}
    assert not applied.states[1].mig_enabled


def test_mp14_a_gpu_no_entry_names_keeps_what_it_had(build: Build) -> None:
    node = build(A100, 2)
    config = (on({"1g.10gb": 7}, 0),)
    applied = apply(node, new(node), config, [])
    assert applied.error is None
    assert not applied.states[1].mig_enabled
    assert not is_applied(node, applied.states, config)


def test_mp9_a_zero_among_counts_never_counts_as_applied(build: Build) -> None:
    node = build(A100, 1)
    config = (on({"1g.10gb": 0, "2g.20gb": 3}),)
    applied = apply(node, new(node), config, [])
    assert applied.error is None
    assert dict(applied.states[0].counts) == {"2g.20gb": 3}
    assert not is_applied(node, applied.states, config)


@pytest.mark.parametrize(
    ("devices", "fits"),
    [({"3g.40gb": 1, "4g.40gb": 1}, True), ({"3g.40gb": 2, "1g.10gb": 1}, False)],
)
def test_mp15_every_order_is_tried(build: Build, devices: dict[str, int], fits: bool) -> None:
    node = build(A100, 1)
    before = cut_all(node, {"1g.10gb": 7})
    applied = apply(node, before, (on(devices),), [])
    assert (applied.error is None) == fits
    assert dict(applied.states[0].counts) == (devices if fits else {})


@pytest.mark.parametrize("product", [A100, H100])
def test_gpus_in_use_cannot_be_cut_again(build: Build, product: str) -> None:
    node = build(product, 1)
    before = cut_all(node, {"1g.10gb": 7})
    applied = apply(node, before, (on({"3g.40gb": 2}),), ["default/notebook"])
    assert applied.error == "GPU 0 is in use by another client: default/notebook"
    assert applied.states == before


def test_mode_change_of_gpus_in_use(build: Build) -> None:
    users = [f"team/job-{n}" for n in range(5)]
    for product, reason in ((A100, "error resetting all GPUs: in use by"), (H100, "GPU 0 is in")):
        node = build(product, 1)
        applied = change_modes(node, new(node), (on({"7g.80gb": 1}),), users)
        assert applied.error is not None
        assert applied.error.startswith(reason)
        assert applied.error.endswith("team/job-0, team/job-1, team/job-2 and 2 more")
        assert applied.states == new(node)


def test_reset_is_needed_on_ampere_only(build: Build) -> None:
    config = (on({"7g.80gb": 1}),)
    ampere = build(A100, 1, gpuReset=False)
    applied = change_modes(ampere, new(ampere), config, [])
    assert applied.error == "error resetting all GPUs: not permitted on this machine"
    assert after_reboot(ampere, applied.states, config) == (GpuState(True),)
    hopper = build(H100, 1, gpuReset=False)
    assert change_modes(hopper, new(hopper), config, []).states == (GpuState(True),)


def test_a_mode_change_clears_the_named_gpus(build: Build) -> None:
    node = build(A100, 2)
    states = (GpuState(True, cut(node.gpus[0].board, {"1g.10gb": 7})), GpuState())
    applied = change_modes(node, states, (on({"1g.10gb": 7}),), [])
    assert applied.states == (GpuState(True), GpuState(True))


def test_turning_mig_off(build: Build) -> None:
    node = build(A100, 2)
    config: Config = (OFF,)
    applied = apply(node, cut_all(node, {"1g.10gb": 7}), config, [])
    assert applied.states == new(node)
    assert is_applied(node, applied.states, config)


def test_generated_configs_carry_nvidias_names(build: Build) -> None:
    configs = generated_configs(build(A100, 8))
    assert {"all-disabled", "all-enabled", "all-balanced", "all-1g.10gb.me"} <= set(configs)
    assert configs["all-1g.10gb"] == (on({"1g.10gb": 7}),)
    assert configs["all-balanced"] == (on({"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),)


def test_generated_configs_filter_only_where_kinds_are_mixed(build: Build) -> None:
    configs = generated_configs(build(A100, 1, H100, 1))
    assert [entry.filters for entry in configs["all-1g.10gb"]] == [
        ("0x20B210DE",),
        ("0x233010DE",),
    ]
    node = build(A100, 1, H100, 1)
    for name in configs:
        assert apply(node, new(node), configs[name], []).error is None, name
