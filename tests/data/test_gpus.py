"""Every GPU and every MIG geometry of every edition: rules no row may break."""

import itertools
import re

import pytest

from gpufleet.catalogue import Catalogue, Evidence, Gpu, MigGeometry, editions, load
from tests.data.every_row import every

ROWS = [
    (f"{edition}-{gpu.key}", (gpu,))
    for edition in editions()
    for gpu in load(edition).gpus.values()
]
CUT = [(name, (gpu,)) for name, (gpu,) in ROWS if gpu.mig is not None]


@every(ROWS)
def test_a_gpu_is_plausible(gpu: Gpu) -> None:
    assert re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", gpu.key)
    assert gpu.vendor in {"nvidia", "amd", "aws", "google", "habana", "qualcomm", "xilinx"}
    assert gpu.nominal_gb is None or 4 <= gpu.nominal_gb <= 288
    if gpu.memory_bytes is not None and gpu.nominal_gb is not None:
        assert 0.91 <= gpu.memory_bytes / 2**30 / gpu.nominal_gb <= 1.03
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", gpu.product_label)
    assert len(set(gpu.pci_device_ids)) == len(gpu.pci_device_ids)
    for device in gpu.pci_device_ids:
        assert re.fullmatch(r"0x[0-9A-F]{4}10DE", device)
        assert gpu.pci_boards[device]


@every(ROWS)
def test_a_vendor_gets_only_what_it_has(gpu: Gpu) -> None:
    if gpu.vendor == "nvidia":
        families = {
            "kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada-lovelace", "hopper",
            "blackwell", "rubin",
        }  # fmt: skip
        assert gpu.architecture in families
        return
    assert gpu.compute_capability is None
    assert not gpu.has_mig
    assert gpu.mps_max_clients == 0
    assert not gpu.rates or gpu.key in {"MI300X", "MI325X", "MI355X", "Gaudi3"}


@every(ROWS)
def test_rates_are_dense_and_fit_the_architecture(gpu: Gpu) -> None:
    capability = gpu.compute_capability
    for board, rates in gpu.rates.items():
        assert board in {"sxm", "pcie", "nvl", "gh200", "workstation", "oam"}
        assert rates.memory_bandwidth is not None
        assert 1.9e11 <= rates.memory_bandwidth <= 9e12
        if gpu.vendor != "nvidia":
            continue
        assert capability is not None
        if capability < (8, 0):
            assert rates.bf16 is None
        if capability < (8, 9):
            assert rates.fp8 is None
        if capability < (10, 0):
            assert rates.fp4 is None
        if rates.bf16 and rates.tf32:
            assert rates.bf16 == pytest.approx(2 * rates.tf32, rel=0.02)
        if rates.bf16 and rates.fp8:
            assert rates.fp8 == pytest.approx(2 * rates.bf16, rel=0.03)
        if rates.fp4 and rates.fp8:
            assert rates.fp4 >= 1.99 * rates.fp8
    first = next(iter(gpu.rates.values()), None)
    assert gpu.tdp_watts == (first.tdp_watts if first else None)
    assert gpu.nvlink_bytes_per_second == (first.nvlink_bytes_per_second if first else 0)


@every(ROWS)
def test_mps_clients_follow_the_compute_capability(gpu: Gpu) -> None:
    if gpu.compute_capability is None:
        return
    modern = gpu.compute_capability >= (7, 5)
    assert gpu.mps_max_clients == (48 if modern else 0 if gpu.key == "K520" else 16)


@every(ROWS)
def test_unknown_placements_are_said_to_be_unknown(gpu: Gpu) -> None:
    assert gpu.mig is None or gpu.mig_unknown is None
    nothing_found = gpu.key == "VR200-288GB"
    assert bool(gpu.mig_published) == (gpu.mig_unknown is not None and not nothing_found)


def test_mig_exists_exactly_where_the_reference_lists_it() -> None:
    for edition in editions():
        gpus = load(edition).gpus.values()
        assert {gpu.key for gpu in gpus if gpu.mig} == {
            "A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB", "H100-94GB", "H100-96GB", "H20-96GB",
            "H200-141GB", "GH200-144GB", "B200-180GB", "GB200-186GB", "B300-269GB",
            "GB300-278GB", "RTX-PRO-6000-BLACKWELL-96GB",
        }  # fmt: skip
        assert {gpu.key for gpu in gpus if gpu.mig_unknown} == {
            "RTX-PRO-5000-BLACKWELL-48GB", "RTX-PRO-4500-BLACKWELL-32GB",
            "RTX-PRO-4500-WORKSTATION-32GB", "THOR-IGPU", "H20-141GB",
            "VR200-288GB",
        }  # fmt: skip


@every(CUT)
def test_profiles_stay_inside_the_gpu(gpu: Gpu) -> None:
    mig = geometry(gpu)
    assert mig.shape == f"{mig.compute_slices}x{mig.memory_slots}"
    for name, profile in mig.profiles.items():
        assert profile.name == name
        assert re.fullmatch(r"[1-7]g\.\d+gb([+-](me|gfx|me\.all))?", name)
        assert name.startswith(f"{profile.compute_slices}g.{profile.nominal_gb}gb")
        assert 1 <= profile.compute_slices <= mig.compute_slices
        assert profile.starts
        assert list(profile.starts) == sorted(set(profile.starts))
        assert all(s >= 0 and s + profile.memory_slots <= mig.memory_slots for s in profile.starts)
        assert "+" not in profile.resource
        assert len(profile.resource.removeprefix("nvidia.com/")) <= 63


@every(CUT)
def test_most_instances_is_what_the_slots_and_engines_allow(gpu: Gpu) -> None:
    mig = geometry(gpu)
    for profile in mig.profiles.values():
        placed = most_disjoint(profile.starts, profile.memory_slots)
        by_compute = mig.compute_slices // profile.compute_slices
        allowed = min(placed, by_compute)
        if profile.attributes & {"+me", "+me.all"}:
            assert profile.max_instances == 1
        else:
            assert profile.max_instances == allowed


@every(CUT)
def test_memory_of_profiles_adds_up(gpu: Gpu) -> None:
    mig = geometry(gpu)
    whole = max(mig.profiles.values(), key=lambda p: p.memory_slots)
    assert whole.memory_slots == mig.memory_slots
    for profile in mig.profiles.values():
        if profile.usable_bytes is None:
            continue
        assert profile.usable_bytes <= profile.nominal_gb * 2**30
        assert profile.usable_bytes >= 0.85 * profile.nominal_gb * 2**30
        share = mig.memory_slots // profile.memory_slots
        if gpu.memory_bytes is not None:
            assert profile.usable_bytes <= gpu.memory_bytes / share * 1.02
    sizes = {p.memory_slots: p.usable_bytes for p in mig.profiles.values() if p.usable_bytes}
    for small, large in itertools.pairwise(sorted(sizes)):
        assert sizes[small] < sizes[large]


@every(CUT)
def test_the_balanced_layout_can_be_placed(gpu: Gpu) -> None:
    mig = geometry(gpu)
    wanted = [mig.profiles[name] for name, count in mig.balanced.items() for _ in range(count)]
    wanted.sort(key=lambda p: -p.memory_slots)
    choices = itertools.product(*(p.starts for p in wanted))

    def slots(starts: tuple[int, ...]) -> list[int]:
        pairs = zip(wanted, starts, strict=True)
        return [slot for p, s in pairs for slot in range(s, s + p.memory_slots)]

    assert any(len(taken := slots(c)) == len(set(taken)) for c in choices)
    assert sum(p.compute_slices for p in wanted) <= mig.compute_slices


@every(CUT)
def test_evidence_is_the_weakest_of_the_profiles(gpu: Gpu) -> None:
    mig = geometry(gpu)
    order = [Evidence.VERIFIED, Evidence.PARTLY_VERIFIED, Evidence.INFERRED]
    assert mig.evidence is max((p.evidence for p in mig.profiles.values()), key=order.index)


@every(CUT)
def test_alternate_names_do_not_hide_a_profile(gpu: Gpu) -> None:
    mig = geometry(gpu)
    assert not set(mig.alternate_names) & set(mig.profiles)
    assert set(mig.alternate_names.values()) <= set(mig.profiles)


@every(CUT)
def test_only_ampere_needs_a_reset(gpu: Gpu) -> None:
    assert geometry(gpu).reset_needed == (gpu.architecture == "ampere")


@pytest.mark.parametrize("edition", editions())
def test_gpus_of_one_shape_place_alike(edition: str) -> None:
    shapes: dict[str, dict[str, object]] = {}
    for gpu in load(edition).gpus.values():
        if gpu.mig is None:
            continue
        for profile in gpu.mig.profiles.values():
            if profile.attributes:
                continue
            double = profile.compute_slices == 1 and profile.max_instances == 4
            kind = f"{profile.compute_slices}{'double' if double else ''}"
            placement = (profile.memory_slots, profile.starts, profile.max_instances)
            known = shapes.setdefault(gpu.mig.shape, {})
            assert known.setdefault(kind, placement) == placement, (gpu.key, profile.name)


@pytest.mark.parametrize("edition", editions())
def test_names_lead_to_one_gpu(edition: str) -> None:
    catalogue: Catalogue = load(edition)
    for gpu in catalogue.gpus.values():
        assert catalogue.find_gpu(gpu.key) is gpu
        assert catalogue.find_gpu(gpu.key.lower()) is gpu
        assert catalogue.find_gpu(gpu.name) is gpu
        for alias in gpu.aliases:
            assert catalogue.find_gpu(alias) is gpu
        for product in gpu.product_names:
            assert catalogue.gpu_by_product_label(product.replace(" ", "-")) is gpu


def geometry(gpu: Gpu) -> MigGeometry:
    assert gpu.mig is not None
    return gpu.mig


def most_disjoint(starts: tuple[int, ...], size: int) -> int:
    """Maximum number of non-overlapping intervals of one size: the earliest end first is best."""
    count, free = 0, 0
    for start in starts:
        if start >= free:
            count, free = count + 1, start + size
    return count
