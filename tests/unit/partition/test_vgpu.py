"""vGPU types: names, what backs them, how many fit, and what is refused."""

from fractions import Fraction
from typing import Any

import pytest

from gpufleet.catalogue import Gpu, load
from gpufleet.findings import Finding, Severity
from gpufleet.partition.partition import Partition, cut
from gpufleet.partition.vgpu import parse_type
from gpufleet.spec.sharing import Sharing

GIB = 1 << 30
BOARDS = [gpu for gpu in load().gpus.values() if gpu.vgpu is not None]


def validated(key: str, profile: str, count: int = 1, **more: Any) -> tuple[Any, list[Finding]]:
    declared = {"profile": profile, "licenseSecret": "nls", **more}
    sharing = Sharing.model_validate({"vgpu": {k: v for k, v in declared.items() if v is not None}})
    partition, found = cut(load().gpu(key), count, sharing, "sharing")
    return partition, list(found)


def made(key: str, profile: str, count: int = 1) -> Partition:
    partition, found = validated(key, profile, count)
    assert partition is not None, found
    return partition


@pytest.mark.parametrize(
    ("written", "name", "profile"),
    [
        ("grid_a100-4c", "A100-4C", None),
        ("nvidia_h100xm-16c", "H100XM-16C", None),
        ("A100D-3-40C", "A100D-3-40C", "3g.40gb"),
        ("grid_a100d-1-10cme", "A100D-1-10CME", "1g.10gb+me"),
        ("nvidia_a40-1b", "A40-1B", None),
        ("grid_t4-1a", "T4-1A", None),
        ("grid_rtx6000-ada-8c", "RTX6000-ADA-8C", None),
    ],
)
def test_names_seen_in_the_field(written: str, name: str, profile: str | None) -> None:
    found = parse_type(written)
    assert found is not None
    assert (found.name, found.mig_profile) == (name, profile)
    assert parse_type(name) == found


@pytest.mark.parametrize("wrong", ["a100", "grid_a100-c", "grid_a100-10cme", "a100-0c", "a100-4x"])
def test_other_names(wrong: str) -> None:
    assert parse_type(wrong) is None


def test_time_sliced() -> None:
    partition = made("A100-80GB", "grid_a100d-20c", 2)
    assert partition.mode == "vgpu"
    assert partition.advertised == {"nvidia.com/gpu": 2}
    assert partition.fraction == Fraction(1, 4)
    assert partition.shares[0].memory_bytes == 20 * GIB
    assert partition.vgpu is not None
    assert (partition.vgpu.mig_backed, partition.vgpu.per_gpu) == (False, 4)


def test_mig_backed() -> None:
    partition = made("H100-94GB", "nvidia_h100l-3-47c")
    assert partition.vgpu is not None
    assert (partition.vgpu.mig_backed, partition.vgpu.per_gpu) == (True, 2)
    assert not partition.mig_enabled, "the hypervisor cuts, the guest sees a whole device"


@pytest.mark.parametrize(
    ("key", "profile", "code", "words"),
    [
        ("A100-80GB", "a100d", "", ""),
        ("A100-80GB", "grid_a100d-c", "vgpu-profile-malformed", "grid_a100d-4c"),
        ("A100-40GB", "grid_a100d-40c", "vgpu-other-gpu", "grid_a100-"),
        ("L4", "grid_l4-48c", "vgpu-larger-than-gpu", "grid_l4-"),
        ("L4", "grid_l4-1-12c", "vgpu-mig-unsupported", "grid_l4-12c"),
        ("A100-80GB", "grid_a100d-2-40c", "vgpu-mig-profile-unknown", "grid_a100d-2-20c"),
        ("T4", "grid_t4-1b", "vgpu-series-not-compute", "grid_t4-1c"),
        ("L40S", "nvidia_l40s-2b", "vgpu-series-not-compute", "`nvidia_l40s-2c`"),
        ("L4", "nvidia_l4-48c", "vgpu-larger-than-gpu", "nvidia_l4-"),
    ],
)
def test_what_cannot_work(key: str, profile: str, code: str, words: str) -> None:
    if not code:
        with pytest.raises(ValueError, match="String should match pattern"):
            validated(key, profile)
        return
    partition, found = validated(key, profile)
    assert partition is None
    (error,) = [f for f in found if f.severity is Severity.ERROR]
    assert (error.code, error.path) == (code, "sharing.vgpu.profile")
    assert words in (error.fix or "")


@pytest.mark.parametrize(
    ("key", "profile", "count", "more", "code"),
    [
        ("L4", "grid_l4-7c", 1, {}, "vgpu-size-not-in-table"),
        ("L4", "grid_l4-8q", 1, {}, "vgpu-series-not-compute"),
        ("B200-180GB", "nvidia_b200-90c", 1, {}, "vgpu-board-not-in-table"),
        ("A30-24GB", "grid_a30-2-12cme", 2, {}, "vgpu-media-extension-twice"),
    ],
)
def test_what_cannot_be_checked_is_a_warning(
    key: str, profile: str, count: int, more: dict[str, Any], code: str
) -> None:
    partition, found = validated(key, profile, count, **more)
    assert partition is not None
    assert [(f.code, f.severity) for f in found] == [(code, Severity.WARNING)]


def test_several_in_one_machine_is_said_not_refused() -> None:
    _, found = validated("L4", "grid_l4-8c", 2)
    assert [(f.code, f.severity) for f in found] == [("vgpu-several-in-one-machine", "info")]
    assert validated("L4", "grid_l4-24c", 2)[1] == []


@pytest.mark.parametrize("gpu", BOARDS, ids=lambda gpu: gpu.key)
def test_the_table_holds_together(gpu: Gpu) -> None:
    board = gpu.vgpu
    assert board is not None
    assert gpu.nominal_gb is not None
    for size, most in board.time_sliced.items():
        assert size * most <= gpu.nominal_gb, size
        assert (size + 1) * (most + 1) > gpu.nominal_gb - most, f"{size} GB: more would fit"
    assert board.time_sliced[gpu.nominal_gb] == 1
    for size, most in (board.mixed_size or {}).items():
        assert most < board.time_sliced[size]
    if gpu.mig is None:
        assert board.mig_backed == {}
    else:
        assert dict(board.mig_backed) == {
            p.name: p.max_instances for p in gpu.mig.profiles.values()
        }


def test_names_lead_to_one_gpu() -> None:
    names = [name for gpu in BOARDS if gpu.vgpu for name in gpu.vgpu.names]
    assert len(names) == len(set(names))
    assert all(parse_type(f"grid_{name}-4c") is not None for name in names)
