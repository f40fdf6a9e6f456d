import dataclasses
import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyVmomi import vim

from gpufleet.spec.platforms.vsphere import VsphereNics
from gpufleet_vcenter import create
from gpufleet_vcenter.drs import DrsGroup
from gpufleet_vcenter.identity import LIFE
from gpufleet_vcenter.inventory import (
    Host,
    Inventory,
    PassthroughState,
    PhysicalGpu,
)
from gpufleet_vcenter.observed import GpuDevice, Observed, seen
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.placement import Wish, place, slots_of
from gpufleet_vcenter.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    SharedProfile,
)
from tests.vcenter.test_cluster_node import settings
from tests.vcenter.test_outputs import LIVE


def dynamic(device_ids: tuple[str, ...], count: int, label: str = "") -> DynamicPassthrough:
    data = {"mode": "dynamic", "deviceIds": device_ids, "count": count, "label": label}
    return DynamicPassthrough.model_validate(data)


def fixed(pci_addresses: tuple[str, ...]) -> FixedPassthrough:
    return FixedPassthrough.model_validate({"mode": "fixed", "pciAddresses": pci_addresses})


def shared(profile: str) -> SharedProfile:
    return SharedProfile.model_validate({"mode": "vgpu", "profile": profile})


DYNAMIC = dynamic(("20b5",), 1)
PROFILE = "grid_a100d-10c"


def gpu(
    number: int,
    state: PassthroughState = PassthroughState.ACTIVE,
    machines: tuple[str, ...] = (),
    label: str = "",
) -> PhysicalGpu:
    address = f"0000:{number:02x}:00.0"
    return PhysicalGpu(address, "20b5", "A100", 81_920, state, label, "sharedDirect", machines)


def host(name: str = "esx1", gpus: int = 2, **more: object) -> Host:
    given = {
        "connected": True,
        "maintenance": False,
        "memory_mib": 512 * 1024,
        "reserved_mib": 0,
        "gpus": tuple(gpu(n) for n in range(gpus)),
        "profiles": (PROFILE, "grid_a100d-20c"),
        "holdings": (),
        "datastores": frozenset({"datastore-1"}),
        **more,
    }
    return Host(name, name, **given)  # type: ignore[arg-type]


def _with(*gpus: PhysicalGpu) -> Host:
    return dataclasses.replace(host(gpus=0), gpus=gpus)


def wish(
    gpu: object = DYNAMIC,
    count: int = 1,
    memory_mib: int = 1024,
    stores: tuple[frozenset[str], ...] = (),
    networks: frozenset[str] = frozenset(),
    group: DrsGroup | None = None,
    hosts: tuple[str, ...] = (),
    deny_hosts: tuple[str, ...] = (),
    **more: object,
) -> Wish:
    known = settings()
    where = known.place.model_copy(update={"hosts": hosts, "deny_hosts": deny_hosts})
    given = {"gpu": gpu, "memory_mib": memory_mib, "place": where, **more}
    return Wish(known.model_copy(update=given), stores, networks, group, count)


def limits(at: Host, wanted: Wish) -> str:
    return "; ".join(slots_of(at, wanted).limits)


def holding(name: str = "other", *gpus: GpuDevice, on: bool = True, group: str = "") -> Observed:
    known = seen(vim.VirtualMachine("vm-9"), {})
    power = "poweredOn" if on else "poweredOff"
    marks = {LIFE: group}
    return dataclasses.replace(known, name=name, power=power, gpus=gpus, extra_config=marks)


def has(address: str) -> GpuDevice:
    """A dynamic device that its machine has."""
    return GpuDevice(0, "dynamic", "20b5", assigned=address)


WAITS = GpuDevice(0, "dynamic", "20b5")


def vgpu(profile: str) -> GpuDevice:
    return GpuDevice(0, "vgpu", profile)


def test_each_requirement_is_named() -> None:
    assert limits(host(connected=False), wish()) == "not connected"
    assert limits(host(maintenance=True), wish()) == "in maintenance"
    assert limits(host(), wish(hosts=("esx2",))) == "not among the allowed hosts"
    assert limits(host(), wish(deny_hosts=("esx1",))) == "denied"
    here, there = frozenset({"datastore-1"}), frozenset({"datastore-2"})
    assert limits(host(), wish(stores=(there,))) == "does not mount the datastore"
    both = wish(stores=(here, there))
    assert limits(host(), both) == "does not mount 1 of the 2 datastores"
    assert limits(host(), wish(stores=(here | there,))) == "", "one of them will do"
    one, two = frozenset({"n-1"}), frozenset({"n-1", "n-2"})
    on = host(networks=one)
    assert limits(on, wish(networks=two - one)) == "is not on the network"
    assert limits(on, wish(networks=two)) == "is not on 1 of the 2 networks"
    assert limits(on, wish(networks=one)) == ""
    assert limits(host(memory_mib=512), wish()) == (
        "512 MiB of memory unreserved, a machine reserves 1024"
    )
    assert limits(host(maintenance=True, memory_mib=1), wish()).count(";") == 1


def test_anti_affinity_counts_what_is_there() -> None:
    ours = [holding(f"gpu-{n}", group="o/p/s/g") for n in range(2)]
    there = host(gpus=8, holdings=(*ours, holding("db", group="o/p/s/other")))
    apart = wish(max_per_host=3, life="o/p/s/g")
    assert slots_of(there, apart).free == 1
    full = wish(max_per_host=2, life="o/p/s/g")
    assert limits(there, full) == "has 2 machines of the group, the most per host"
    assert slots_of(host(gpus=8), full).free == 2


def test_rules_of_a_drs_group() -> None:
    kept_away = wish(group=DrsGroup("gpu", (), None, frozenset({"esx1"})))
    assert limits(host(), kept_away) == "mandatory rules of the DRS group keep the machine away"
    assert slots_of(host("esx2"), kept_away).free == 2


def test_devices_must_be_active() -> None:
    rebooting = _with(gpu(0x3B, PassthroughState.ENABLED))
    assert "is enabled for passthrough but not active: reboot the host" in limits(rebooting, wish())


def test_dynamic_devices_that_others_hold_are_not_free() -> None:
    free = host(gpus=3)
    assert slots_of(free, wish()).free == 3
    taken = host(gpus=3, holdings=(holding("other", has("0000:00:00.0")),))
    assert slots_of(taken, wish()).free == 2
    # A machine that is off keeps its device for its next start.
    waiting = host(gpus=3, holdings=(holding("other", WAITS, WAITS, on=False),))
    assert slots_of(waiting, wish()).free == 1
    pairs = dynamic(device_ids=("20b5",), count=2)
    assert slots_of(free, wish(pairs)).free == 1


def test_a_machine_that_is_off_waits_for_the_device_that_it_had() -> None:
    off = holding("other", has("0000:00:00.0"), on=False).slim
    started = dataclasses.replace(off, power="poweredOn")
    assert (started.held, len(started.waiting)) == ((), 1)
    assert holding("other", has("0000:00:00.0")).slim.held == ("0000:00:00.0",)


def test_wrong_device_and_label_say_what_there_is() -> None:
    other = dynamic(device_ids=("2330",), count=1)
    assert limits(host(), wish(other)) == "no device 2330, it has A100 (20b5)"
    labelled = dynamic(device_ids=("20b5",), label="blue", count=1)
    assert limits(host(), wish(labelled)) == "no device labelled 'blue', the labels are ''"


def test_fixed_devices() -> None:
    wanted = wish(fixed(pci_addresses=("0000:00:00.0",)))
    assert slots_of(host(), wanted).free == 1
    held = host(holdings=(holding("twin", GpuDevice(0, "fixed", "0000:00:00.0"), on=False),))
    assert limits(held, wanted) == "0000:00:00.0 is held by twin"
    absent = wish(fixed(pci_addresses=("0000:aa:00.0",)))
    assert limits(host(), absent) == "no device 0000:aa:00.0"


def test_profiles_share_a_gpu_with_their_own_kind_only() -> None:
    wanted = wish(shared(profile=PROFILE))
    assert slots_of(host(), wanted).free == 16  # eight on each of two GPUs
    mixed = host(
        holdings=(holding("other", vgpu("grid_a100d-20c")),),
    )
    assert slots_of(mixed, wanted).free == 8, "the other size has a GPU of its own"
    assert not slots_of(mixed, wanted).certain, "the host does not say which"
    off = host(holdings=(holding("other", vgpu(PROFILE), on=False),))
    assert slots_of(off, wanted).free == 16
    unknown = wish(shared(profile="grid_a100d-5c"))
    assert limits(host(), unknown) == (
        "profile grid_a100d-5c is not offered; offered: grid_a100d-10c, grid_a100d-20c"
    )


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=1, max_size=4),
    st.integers(1, 8),
    st.none() | st.integers(1, 3),
)
def test_as_many_as_any_assignment(
    shapes: list[tuple[int, int]], count: int, at_most: int | None
) -> None:
    """Brute force over every way to give machines to hosts."""
    hosts = tuple(
        host(f"esx{number}", gpus, memory_mib=memory * 1024)
        for number, (gpus, memory) in enumerate(shapes)
    )
    wanted = wish(count=count, memory_mib=2048, max_per_host=at_most)
    placement = place(Inventory(hosts), wanted)
    room = [min(gpus, memory // 2, at_most or 99) for gpus, memory in shapes]
    best = max(
        sum(counts)
        for counts in itertools.product(*(range(limit + 1) for limit in room))
        if sum(counts) <= count
    )
    assert len(placement.hosts) == best
    for number, limit in enumerate(room):
        assert placement.hosts.count(f"esx{number}") <= limit
    assert place(Inventory(hosts), wanted) == placement


def test_refusal_names_every_host() -> None:
    hosts = (host("esx1", 1), host("esx2", 2, maintenance=True))
    placement = place(Inventory(hosts), wish(count=3))
    assert placement.refusal() == (
        "3 machines need a place, 1 fit: esx1 1, esx2 0 (in maintenance)"
    )


NIC = VsphereNics.model_validate({"deviceIds": ["1021"], "hardwareLabel": "rail"})


def nic(number: int) -> PhysicalGpu:
    """A ConnectX-7 of a host."""
    card = gpu(number, label="rail")
    return dataclasses.replace(card, device_id="15b3:1021", name="ConnectX-7", graphics_type="")


def test_nics_of_a_machine_need_a_host_that_has_them_free() -> None:
    wanted = wish(nics=NIC)
    assert "NICs: no device 15b3:1021, it has none" in limits(host(), wanted)
    one = host(gpus=4, nics=(nic(16),))
    assert slots_of(one, wanted).free == 1, "four GPUs, and one NIC"
    assert slots_of(one, wish()).free == 4
    held = dataclasses.replace(one, holdings=(wanted.holding("vm-1", one),))
    assert "NICs: 0 of 1 devices free and a machine needs 1" in limits(held, wanted)
    assert slots_of(held, wish()).free == 3, "a NIC that is waited for is not a GPU"
    named = wish(nics=VsphereNics.model_validate({"pciAddresses": [nic(16).address]}))
    assert slots_of(one, named).free == 1
    assert slots_of(held, named).free == 0
    gpus = tuple(dataclasses.replace(gpu(n), device_id="1021") for n in range(2))
    other = host(gpus=0, nics=(nic(16),))
    other = dataclasses.replace(other, gpus=gpus, holdings=held.holdings)
    assert slots_of(other, wish(dynamic(("1021",), 1))).free == 2, "another vendor's id"


@pytest.mark.parametrize(("allowed", "cloned"), [("esx1", 1), ("esx2", 0)])
def test_a_replacement_is_cloned_where_the_drs_group_may_run(
    monkeypatch: pytest.MonkeyPatch, allowed: str, cloned: int
) -> None:
    old, made = dataclasses.replace(LIVE, host=vim.HostSystem("host-1")), list[str]()
    wanted = wish(group=DrsGroup("gpu", (), frozenset({allowed}), frozenset()))
    known: dict[str, Any] = {
        "check_before": lambda *_: wanted,
        "read_host": lambda *_: host("esx1"),
        "clone": lambda work, *_: made.append(work.settings.name),
    }
    for name, stand_in in known.items():
        monkeypatch.setattr(create, name, stand_in)
    place_of = SimpleNamespace(datacenter=None, pod=None, datastore=None)
    monkeypatch.setattr(MachineWork, "place", place_of)
    monkeypatch.setattr(MachineWork, "find", lambda *_: None)
    monkeypatch.setattr(MachineWork, "all_with", lambda *_: [old])
    session: Any = SimpleNamespace(server_id="server")
    work = MachineWork(session, wanted.settings, "another-uuid", pending=True)
    create.clone_replacement(work, old.instance_uuid)
    assert len(made) == cloned
