"""Claims: what is served, which gates it needs, what is refused; counters against all layouts."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gpufleet.catalogue import Gpu, load
from gpufleet.cluster.site import Site
from gpufleet.findings import Finding, Severity
from gpufleet.partition.dra import counters
from gpufleet.partition.dra_gates import EXCLUDES, conflicts
from gpufleet.partition.dra_offers import mig_class
from gpufleet.partition.partition import Partition, cut
from gpufleet.partition.placement import MigPlacement, place
from gpufleet.partition.slot_table import slot_table
from gpufleet.spec.sharing import Sharing
from tests.unit.partition.published_devices import published_devices

GIB = 1 << 30
HOPPER = "H100-80GB"
CUTTABLE = [gpu for gpu in load().gpus.values() if gpu.mig is not None]
ON_DEMAND = [gpu for gpu in CUTTABLE if gpu.mig is not None and not gpu.mig.reset_needed]


def validated(
    key: str, dra: dict[str, Any], count: int = 1
) -> tuple[Partition | None, list[Finding]]:
    partition, found = cut(load().gpu(key), count, Sharing.model_validate({"dra": dra}), "sharing")
    return partition, list(found)


def served(key: str, dra: dict[str, Any], count: int = 1) -> Partition:
    partition, found = validated(key, dra, count)
    assert partition is not None, found
    return partition


def refused(key: str, dra: dict[str, Any]) -> Finding:
    partition, found = validated(key, dra)
    assert partition is None
    errors = [f for f in found if f.severity is Severity.ERROR]
    assert len(errors) == 1, errors
    return errors[0]


def test_whole_gpus_are_claimed_and_nothing_is_advertised() -> None:
    partition = served("L4", {}, 4)
    assert partition.mode == "dra"
    assert partition.advertised == {}
    assert partition.replicas == 1
    assert partition.dra is not None
    assert partition.dra.gates == ()
    (share,) = partition.shares
    assert (share.resource, share.device_class, share.per_node) == (
        "gpu.nvidia.com",
        "gpu.nvidia.com",
        4,
    )
    assert share.memory_bytes == load().gpu("L4").memory_bytes


def test_classic_names_only_when_asked_for() -> None:
    assert served("L4", {"extendedResource": True}, 4).advertised == {"nvidia.com/gpu": 4}
    cut_on_demand = served(HOPPER, {"devices": "mig", "extendedResource": True}, 2)
    assert cut_on_demand.advertised == {
        "nvidia.com/gpu": 2,
        "nvidia.com/mig-1g.10gb": 14,
        "nvidia.com/mig-1g.10gb.me": 2,
        "nvidia.com/mig-1g.20gb": 8,
        "nvidia.com/mig-2g.20gb": 6,
        "nvidia.com/mig-3g.40gb": 4,
        "nvidia.com/mig-4g.40gb": 2,
        "nvidia.com/mig-7g.80gb": 2,
    }


@pytest.mark.parametrize(
    ("dra", "gates"),
    [
        ({}, ()),
        ({"devices": "mig"}, ("DynamicMIG",)),
        ({"sharing": "timeSlicing"}, ("TimeSlicingSettings",)),
        ({"sharing": "mps"}, ("MPSSupport",)),
        ({"devices": "mig", "sharing": "timeSlicing"}, ("DynamicMIG", "TimeSlicingSettings")),
        (
            {"devices": "mig", "sharing": "mps", "layouts": [{"devices": {"1g.10gb": 7}}]},
            ("MPSSupport",),
        ),
    ],
)
def test_gates(dra: dict[str, Any], gates: tuple[str, ...]) -> None:
    partition = served(HOPPER, dra)
    assert partition.dra is not None
    assert partition.dra.gates == gates
    assert conflicts(gates) == []


def test_clients_of_one_claim() -> None:
    (share,) = served("L4", {"sharing": "mps", "clients": 4}, 2).shares
    assert (share.per_node, share.replicas, share.threads_percent) == (8, 4, 25)
    memory = load().gpu("L4").memory_bytes
    assert memory is not None
    assert share.memory_bytes == (memory >> 20) // 4 << 20, "whole MiB, rounded down"
    (turns,) = served("L4", {"sharing": "timeSlicing"}, 2).shares
    assert (turns.per_node, turns.replicas, turns.threads_percent) == (4, 2, 100)


def test_layouts_are_proven_like_those_of_the_mig_manager() -> None:
    layouts = [{"gpus": 1, "devices": {"3g.40gb": 2}}]
    partition = served("A100-80GB", {"devices": "mig", "layouts": layouts}, 2)
    assert partition.slices == {"3g.40gb": 2}
    assert [gpu.mig_enabled for gpu in partition.gpus] == [True, False]
    assert {s.resource: s.per_node for s in partition.shares} == {
        "gpu.nvidia.com": 1,
        "mig-3g.40gb.gpufleet.dev": 2,
    }
    names = [device.name for device in published_devices(load().gpu("A100-80GB"), partition)]
    assert names == ["gpu-0-mig-3g40gb-9-0", "gpu-0-mig-3g40gb-9-4", "gpu-1"]
    wrong = refused("A100-80GB", {"devices": "mig", "layouts": [{"devices": {"3g.40gb": 3}}]})
    assert (wrong.code, wrong.path) == (
        "mig-layout-impossible",
        "sharing.dra.layouts[0].devices",
    )


@pytest.mark.parametrize(
    ("key", "dra", "code", "path", "words"),
    [
        ("L4", {"devices": "mig"}, "mig-unsupported", "", "L4 has no MIG"),
        ("A100-80GB", {"devices": "mig"}, "dra-mig-needs-layouts", ".devices", "by a reset"),
        (
            HOPPER,
            {"layouts": [{"devices": {"1g.10gb": 7}}]},
            "dra-layouts-need-mig",
            ".layouts",
            "gpu",
        ),
        ("L4", {"clients": 3}, "dra-clients-without-sharing", ".clients", "3 clients"),
        ("L4", {"interval": "Long"}, "dra-interval-without-turns", ".interval", "exclusive"),
        (
            "L4",
            {"interval": "Long", "sharing": "mps"},
            "dra-interval-without-turns",
            ".interval",
            "mps",
        ),
        (
            HOPPER,
            {"interval": "Long", "sharing": "timeSlicing", "devices": "mig"},
            "dra-interval-without-turns",
            ".interval",
            "MIG devices take turns without one",
        ),
        (
            "L4",
            {"sharing": "timeSlicing", "extendedResource": True},
            "dra-extended-resource-not-shared",
            ".extendedResource",
            "its own claim and its own devices",
        ),
        (
            HOPPER,
            {"devices": "mig", "sharing": "mps"},
            "dra-gates-conflict",
            ".sharing",
            "DynamicMIG excludes MPSSupport",
        ),
        ("L4", {"sharing": "mps", "clients": 49}, "mps-too-many-clients", ".clients", "at most 48"),
        (
            "H100-80GB",
            {
                "devices": "mig",
                "sharing": "mps",
                "clients": 7,
                "layouts": [{"devices": {"1g.10gb": 4, "3g.40gb": 1}}],
            },
            "mps-too-many-clients",
            ".clients",
            "1 of 7 of the 48 that a whole GPU takes: 6",
        ),
        ("K520", {"sharing": "mps"}, "mps-unsupported", "", "does not support MPS"),
    ],
)
def test_what_cannot_work(key: str, dra: dict[str, Any], code: str, path: str, words: str) -> None:
    found = refused(key, dra)
    assert (found.code, found.path) == (code, f"sharing.dra{path}")
    assert words in found.message
    assert found.fix


def test_small_shares_are_a_warning() -> None:
    _, found = validated("T4", {"sharing": "timeSlicing", "clients": 16})
    (small,) = found
    assert (small.code, small.path) == ("share-memory-small", "sharing.dra.clients")
    assert small.fix == "write `clients: 15` or fewer"


def test_every_gate_of_an_exclusion_exists() -> None:
    known = Site().release_of("dra-driver-nvidia-gpu").gates
    assert {gate for pair in EXCLUDES for gate in pair} <= set(known)
    assert conflicts(["DynamicMig"], known) == ["there is no gate DynamicMig"]
    assert conflicts(["DeviceMetadata"]) == ["DeviceMetadata needs PassthroughSupport"]
    assert conflicts(["DynamicMIG", "TimeSlicingSettings"]) == []


@pytest.mark.parametrize("gpu", CUTTABLE, ids=lambda gpu: gpu.key)
def test_class_names_are_legal_and_distinct(gpu: Gpu) -> None:
    assert gpu.mig is not None
    names = [mig_class(profile) for profile in gpu.mig.profiles]
    assert len(set(names)) == len(names)
    for name in names:
        assert all(c.islower() or c.isdigit() or c in "-." for c in name)
        assert all(part[0].isalnum() and part[-1].isalnum() for part in name.split("."))


def allocatable(gpu: Gpu) -> Iterator[Mapping[str, int]]:
    """Every multiset of profiles the scheduler could allocate together by the counters alone."""
    assert gpu.mig is not None
    (whole, *devices) = published_devices(gpu, served(gpu.key, {"devices": "mig"}))
    assert whole.consumes == counters(gpu.mig)
    seen: set[tuple[tuple[str, int], ...]] = set()

    def grow(first: int, left: Counter[str], held: Counter[str]) -> None:
        seen.add(tuple(sorted(held.items())))
        for number in range(first, len(devices)):
            device = devices[number]
            assert device.profile is not None
            if all(left[name] >= amount for name, amount in device.consumes.items()):
                rest = left - Counter(device.consumes)
                grow(number + 1, rest, held + Counter([device.profile]))

    grow(0, Counter(counters(gpu.mig)), Counter())
    for items in seen:
        yield dict(items)


@pytest.mark.parametrize("gpu", ON_DEMAND, ids=lambda gpu: gpu.key)
def test_what_the_counters_allow_is_what_the_gpu_can_hold(gpu: Gpu) -> None:
    """Both ways, for every multiset: no illegal layout is allocated, no legal one is lost."""
    assert gpu.mig is not None
    allowed = {tuple(sorted(devices.items())) for devices in allocatable(gpu)}
    # Engines are budgets only where the catalogue has them for every profile; without, the media
    # extension is the only limit that counters cannot express.
    known = {"decoders", "ofa-engines"} <= set(counters(gpu.mig))

    def extends(devices: tuple[tuple[str, int], ...]) -> int:
        return sum(count for name, count in devices if "+me" in name)

    for devices in allowed:
        placed = isinstance(place(gpu.mig, dict(devices)), MigPlacement)
        assert placed or (not known and extends(devices) > 1), devices
    names = tuple(gpu.mig.profiles)
    for counts in slot_table(gpu.mig).counts:
        layout = tuple(sorted((n, c) for n, c in zip(names, counts, strict=True) if c))
        assert layout in allowed, layout


def test_device_names_are_unique_on_a_node() -> None:
    partition = served(HOPPER, {"devices": "mig"}, 8)
    names = [device.name for device in published_devices(load().gpu(HOPPER), partition)]
    assert len(names) == len(set(names)) == 8 * 26
    assert "gpu-7-mig-1g10gb-me-20-6" in names
    assert list(published_devices(load().gpu("L4"), cut_exclusive())) == []


def cut_exclusive() -> Partition:
    partition, _ = cut(load().gpu("L4"), 1, Sharing.model_validate({"exclusive": {}}), "s")
    assert partition is not None
    return partition
