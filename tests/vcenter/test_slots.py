"""One physical GPU serves passthrough or vGPUs, never both: against brute force, and in words."""

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyVmomi import vim

from gpufleet_vcenter import slots
from gpufleet_vcenter.inventory import (
    Host,
    PassthroughState,
    PhysicalGpu,
)
from gpufleet_vcenter.observed import GpuDevice, Observed
from gpufleet_vcenter.placement import Wish, slots_of
from gpufleet_vcenter.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    GpuAttachment,
    SharedProfile,
    devices_of,
)
from tests.vcenter.test_placement import has, holding, vgpu, wish

KINDS = ("20b5", "2330")
PROFILES = ("grid_a100d-10c", "grid_a100d-20c")
MOST = {"grid_a100d-10c": 3, "grid_a100d-20c": 2}


@pytest.fixture(autouse=True, scope="module")
def few_vgpus_on_a_gpu() -> Iterator[None]:
    """Fewer than the catalogue's, so that brute force ends."""
    with patch.object(slots, "per_gpu", MOST.get):
        yield


def address(number: int) -> str:
    return f"0000:{number:02x}:00.0"


@dataclass(frozen=True)
class Card:
    """One GPU of a made-up host, and what uses it."""

    kind: str
    active: bool
    shared: bool
    held: bool = False
    held_by_one_that_is_off: bool = False
    profile: str = ""
    running: int = 0


def cards() -> st.SearchStrategy[Card]:
    def used(kind: str, active: bool, shared: bool) -> st.SearchStrategy[Card]:
        free = st.just(Card(kind, active, shared))
        held = st.booleans().map(lambda off: Card(kind, active, shared, True, off))
        running = st.sampled_from(PROFILES).flatmap(
            lambda profile: st.integers(1, MOST[profile]).map(
                lambda count: Card(kind, active, shared, profile=profile, running=count)
            )
        )
        return st.one_of(free, *([held] if active else []), *([running] if shared else []))

    return st.tuples(st.sampled_from(KINDS), st.booleans(), st.booleans()).flatmap(
        lambda row: used(*row)
    )


def machine(name: str, device: GpuDevice, *, on: bool = True) -> Observed:
    return dataclasses.replace(holding(name, device, on=on), reference=vim.VirtualMachine(name))


def whole(gpu: GpuAttachment) -> Wish:
    return wish(gpu, memory_mib=1)


Asks = tuple[tuple[str, ...], ...]
asks: st.SearchStrategy[Asks] = st.lists(
    st.sets(st.sampled_from(KINDS), min_size=1).map(lambda kinds: tuple(sorted(kinds))), max_size=3
).map(tuple)


def host_of(deck: list[Card], waiting: Asks) -> Host:
    gpus: list[PhysicalGpu] = []
    holdings: list[Observed] = []
    for number, card in enumerate(deck):
        here = address(number)
        machines = tuple(f"vm-{number}-{n}" for n in range(card.running))
        gpus.append(
            PhysicalGpu(
                here,
                card.kind,
                "GPU",
                81_920,
                PassthroughState.ACTIVE if card.active else PassthroughState.CAPABLE,
                "",
                "sharedDirect" if card.shared else "shared",
                machines,
            )
        )
        holdings += [machine(m, vgpu(card.profile)) for m in machines]
        if card.held:
            off = card.held_by_one_that_is_off
            device = GpuDevice(0, "fixed", here) if off else has(here)
            holdings.append(machine(f"holder-{number}", device, on=not off))
    for number, kinds in enumerate(waiting):
        waits = GpuDevice(0, "dynamic", ",".join(kinds))
        holdings.append(machine(f"waiting-{number}", waits, on=False))
    return Host(
        "esx1", "esx1", True, False, 1 << 30, 0, tuple(gpus), PROFILES, tuple(holdings), frozenset()
    )


def left_over(deck: list[Card], waiting: Asks) -> Iterator[set[int]]:
    """Every set of unused cards that remains once as many waiting machines as can be are served."""
    unused = [n for n, card in enumerate(deck) if not card.held and not card.running]
    ways: list[tuple[int, set[int]]] = []
    for served in itertools.product([None, *unused], repeat=len(waiting)):
        taken = [n for n in served if n is not None]
        fits = all(
            n is None or (deck[n].active and deck[n].kind in kinds)
            for n, kinds in zip(served, waiting, strict=True)
        )
        if fits and len(set(taken)) == len(taken):
            ways.append((len(taken), set(unused) - set(taken)))
    most = max(count for count, _ in ways)
    yield from (rest for count, rest in ways if count == most)


def brute_force(deck: list[Card], waiting: Asks, gpu: GpuAttachment) -> int:
    """Maximum number of machines that fit: each order of service, and each GPU whole or shared."""
    best = 0
    for rest in left_over(deck, waiting):
        if isinstance(gpu, FixedPassthrough):
            wanted = {n for n in range(len(deck)) if address(n) in gpu.pci_addresses}
            whole = wanted <= rest and all(deck[n].active for n in wanted)
            best = max(best, int(whole and len(wanted) == len(devices_of(gpu))))
        elif isinstance(gpu, DynamicPassthrough):
            free = [n for n in rest if deck[n].active and deck[n].kind in gpu.device_ids]
            best = max(best, len(free) // len(devices_of(gpu)))
        else:
            room = sum(MOST[gpu.profile] for n in rest if deck[n].shared)
            room += sum(
                MOST[gpu.profile] - card.running for card in deck if card.profile == gpu.profile
            )
            best = max(best, room // len(devices_of(gpu)))
    return best


def dynamic(*kinds: str, count: int = 1) -> DynamicPassthrough:
    data = {"mode": "dynamic", "deviceIds": kinds, "count": count}
    return DynamicPassthrough.model_validate(data)


def fixed(*numbers: int) -> FixedPassthrough:
    data = {"mode": "fixed", "pciAddresses": [address(n) for n in numbers]}
    return FixedPassthrough.model_validate(data)


def shared(profile: str = PROFILES[0], count: int = 1) -> SharedProfile:
    return SharedProfile(mode="vgpu", profile=profile, count=count)


wishes: st.SearchStrategy[GpuAttachment] = st.one_of(
    st.builds(
        lambda kinds, count: dynamic(*sorted(kinds), count=count),
        st.sets(st.sampled_from(KINDS), min_size=1),
        st.integers(1, 2),
    ),
    st.sets(st.integers(0, 4), min_size=1, max_size=2).map(lambda numbers: fixed(*sorted(numbers))),
    st.builds(shared, st.sampled_from(PROFILES), st.integers(1, 4)),
)


@given(st.lists(cards(), min_size=1, max_size=4), asks, wishes)
def test_as_many_as_any_assignment_and_a_reason_otherwise(
    deck: list[Card], waiting: Asks, gpu: GpuAttachment
) -> None:
    found = slots_of(host_of(deck, waiting), whole(gpu))
    if not isinstance(gpu, SharedProfile) or any(card.shared for card in deck):
        assert found.free == brute_force(deck, waiting, gpu)
        assert found.certain
    assert bool(found.limits) == (found.free == 0)


def limits(deck: list[Card], gpu: GpuAttachment, waiting: Asks = ()) -> str:
    return "; ".join(slots_of(host_of(deck, waiting), whole(gpu)).limits)


FREE = Card(KINDS[0], active=True, shared=True)
HELD = Card(KINDS[0], active=True, shared=True, held=True)
RUNS = Card(KINDS[0], active=True, shared=True, profile=PROFILES[0], running=1)


def test_a_gpu_that_is_passed_through_runs_no_vgpus() -> None:
    assert limits([HELD], shared()) == "0000:00:00.0 is passed through to holder-0"
    assert limits([HELD, RUNS], shared(PROFILES[1])) == (
        "0 x grid_a100d-20c free and a machine needs 1; its GPUs run grid_a100d-10c; "
        "0000:00:00.0 is passed through to holder-0"
    )
    assert limits([FREE], shared(), waiting=(KINDS,)) == (
        "0 x grid_a100d-10c free and a machine needs 1; its GPUs run nothing; whole ones are left "
        "for waiting-0"
    )


def test_a_gpu_that_runs_vgpus_is_not_passed_through() -> None:
    assert limits([RUNS], fixed(0)) == "0000:00:00.0 runs vGPUs of grid_a100d-10c"
    assert limits([RUNS, HELD], dynamic(KINDS[0])) == (
        "0 of 2 devices free and a machine needs 1, held by holder-1; 0000:00:00.0 runs vGPUs of "
        "grid_a100d-10c"
    )
    assert limits([FREE], fixed(0), waiting=(KINDS,)) == (
        "0000:00:00.0 would leave too few for waiting-0"
    )


def test_who_waits_takes_what_nobody_else_wants() -> None:
    other = Card(KINDS[1], active=True, shared=False)
    host = host_of([FREE, other], (KINDS,))
    assert slots_of(host, whole(dynamic(KINDS[0]))).free == 1
    assert slots_of(host, whole(shared())).free == 3


def test_vgpus_that_the_host_does_not_place_leave_an_upper_bound() -> None:
    there = machine("somewhere", vgpu(PROFILES[0]))
    host = dataclasses.replace(host_of([FREE, FREE], ()), holdings=(there,))
    found = slots_of(host, whole(dynamic(KINDS[0])))
    assert (found.free, found.certain) == (1, False)
    exact = slots_of(host, whole(fixed(0)))
    assert (exact.free, exact.certain) == (1, False)
