"""vGPU types: names, what backs them, how many fit, and what is refused."""

from fractions import Fraction
from typing import Any

import pytest

from gpufleet.catalogue import Gpu, load
from gpufleet.findings import Finding, Severity
from gpufleet.partition.partition import Partition, cut
from gpufleet.partition.vgpu import boards_of, most_per_gpu, parse_type
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
    ("written", "name", "key"),
    [
        ("grid_a100-4c", "A100-4C", "A100-40GB"),
        ("nvidia_h100xm-16c", "H100XM-16C", "H100-80GB"),
        ("A100D-3-40C", "A100D-3-40C", "A100-80GB"),
        ("grid_a100d-1-10cme", "A100D-1-10CME", "A100-80GB"),
        ("nvidia_a40-1b", "A40-1B", "A40"),
        ("grid_t4-1a", "T4-1A", "T4"),
        ("grid_rtx6000-ada-8c", "RTX6000-Ada-8C", "RTX-6000-ADA"),
        ("NVIDIA RTX Pro 6000 Blackwell DC-1-2Q", "DC-1-2Q", "RTX-PRO-6000-BLACKWELL-96GB"),
        ("NVIDIA-RTX-Pro-6000-Blackwell-DC-4-96Q", "DC-4-96Q", "RTX-PRO-6000-BLACKWELL-96GB"),
        ("nvidia.com/NVIDIA_A10-24Q", "A10-24Q", "A10"),
    ],
)
def test_names_seen_in_the_field(written: str, name: str, key: str) -> None:
    found = [(gpu.key, known.name) for gpu, known in boards_of(BOARDS, written)]
    assert found == [(key, name)]
    assert (key, name) in [(gpu.key, known.name) for gpu, known in boards_of(BOARDS, name)]


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
        ("L4", "grid_l4-48c", "vgpu-type-unknown", "grid_l4-"),
        ("L4", "grid_l4-7c", "vgpu-type-unknown", "grid_l4-"),
        ("L4", "grid_l4-1-12c", "vgpu-type-unknown", "grid_l4-12c"),
        ("A100-80GB", "grid_a100d-2-40c", "vgpu-type-unknown", "grid_a100d-2-20c"),
        ("RTX-PRO-6000-BLACKWELL-96GB", "rtxpro6000-48c", "vgpu-other-gpu", "blackwell_dc-48c"),
        ("RTX-PRO-6000-BLACKWELL-96GB", "dc-1-2c", "vgpu-type-unknown", "blackwell_dc-1-12c"),
        ("B200-180GB", "nvidia_b200-90c", "vgpu-other-gpu", "nvidia_b200x-"),
        ("T4", "grid_t4-1b", "vgpu-series-not-compute", "grid_t4-4c"),
        ("L40S", "nvidia_l40s-2b", "vgpu-series-not-compute", "nvidia_l40s-12c"),
        ("L4", "nvidia_l4-48c", "vgpu-type-unknown", "nvidia_l4-"),
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
        ("L4", "grid_l4-8q", 1, {}, "vgpu-series-not-compute"),
        ("GB300-278GB", "nvidia_gb300-90c", 1, {}, "vgpu-board-not-in-table"),
        ("RTX-PRO-4500-BLACKWELL-32GB", "nvidia_dc-8c", 1, {}, ""),
        ("A30-24GB", "grid_a30-2-12cme", 2, {}, "vgpu-media-extension-twice"),
    ],
)
def test_what_cannot_be_checked_is_a_warning(
    key: str, profile: str, count: int, more: dict[str, Any], code: str
) -> None:
    partition, found = validated(key, profile, count, **more)
    assert partition is not None
    assert [(f.code, f.severity) for f in found] == ([(code, Severity.WARNING)] if code else [])


def test_several_in_one_machine_is_said_not_refused() -> None:
    _, found = validated("L4", "grid_l4-8c", 2)
    assert [(f.code, f.severity) for f in found] == [("vgpu-several-in-one-machine", "info")]
    assert validated("L4", "grid_l4-24c", 2)[1] == []


def test_a_type_as_nvidia_smi_prints_it() -> None:
    """bigstack-oss/cubecos 1583: `nvidia-smi vgpu -s -v` prints Max Instances 48, FB 2048 MiB."""
    partition, found = validated(
        "RTX-PRO-6000-BLACKWELL-96GB", "NVIDIA RTX Pro 6000 Blackwell DC-1-2Q"
    )
    assert [f.code for f in found] == ["vgpu-series-not-compute"]
    made_ = partition.vgpu
    assert (made_.per_gpu, made_.memory_bytes, made_.mig_backed) == (48, 2 * GIB, True)
    assert made_.type.vcenter == "nvidia_rtx_pro_6000_blackwell_dc-1-2q"
    same = "nvidia_rtx_pro_6000_blackwell_dc-1-2q"
    assert validated("RTX-PRO-6000-BLACKWELL-96GB", same)[0].vgpu.type == made_.type
    assert validated("RTX-PRO-6000-BLACKWELL-96GB", "RTXPro6000BlackwellDC-1-2Q")[0] is not None


def test_a_name_of_two_boards() -> None:
    """Both RTX PRO Server Editions begin with DC: the number is known where they agree."""
    assert most_per_gpu(BOARDS, "DC-4-96C") == 1
    assert most_per_gpu(BOARDS, "DC-8C") is None
    assert most_per_gpu(BOARDS, "NVIDIA RTX Pro 6000 Blackwell DC-8C") == 12


def test_a_slice_of_its_own_has_no_scheduler_and_a_shared_one_has() -> None:
    board = "RTX-PRO-6000-BLACKWELL-96GB"
    _, found = validated(board, "nvidia_rtx_pro_6000_blackwell_dc-1-24c", scheduler="fixedShare")
    assert [f.code for f in found] == ["vgpu-scheduler-of-mig"]
    _, found = validated(board, "nvidia_rtx_pro_6000_blackwell_dc-1-12c", scheduler="fixedShare")
    assert found == []


@pytest.mark.parametrize("gpu", BOARDS, ids=lambda gpu: gpu.key)
def test_the_table_holds_together(gpu: Gpu) -> None:
    board = gpu.vgpu
    assert board is not None
    assert gpu.nominal_gb is not None
    for size, most in board.time_sliced.items():
        assert size * most <= gpu.nominal_gb + 3, size
    whole = max(board.time_sliced)
    assert board.types[f"{whole}C"] == 1
    for size, most in (board.mixed_size or {}).items():
        assert most < board.time_sliced[size]
    profiles = dict(gpu.mig_published)
    if gpu.mig is not None:
        profiles |= {p.name: p.max_instances for p in gpu.mig.profiles.values()}
        profiles |= {other: profiles[own] for other, own in gpu.mig.alternate_names.items()}
    backed = {}
    for tail, most in board.types.items():
        slices, _, rest = tail.rpartition("-")
        if slices:
            backed[f"{slices}g.{rest.replace('C', 'gb+').lower().rstrip('+')}"] = most
    same = {name: most for name, most in backed.items() if name in profiles}
    assert same == {name: profiles[name] for name in same}
    assert len(same) >= len([name for name in profiles if "." in name and "me" not in name]) // 2
    assert bool(backed) == gpu.has_mig


def test_printed_names_lead_to_one_gpu() -> None:
    names = [gpu.vgpu.printed + name for gpu in BOARDS if gpu.vgpu for name in gpu.vgpu.names]
    assert len(names) == len(set(names))
    assert all(len(boards_of(BOARDS, f"NVIDIA {name}-4C")) == 1 for name in names)


@pytest.mark.parametrize("name", ["L4--24C", "grid_l4--24c", "L4 -24C"])
def test_a_board_does_not_end_with_a_separator(name: str):
    assert [one.code for one in validated("L4", name, 2)[1]] != []
