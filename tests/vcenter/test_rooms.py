"""Claiming hosts for machines that are made at the same time."""

import dataclasses
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from gpufleet_vcenter import placement as claims
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.inventory import (
    Host,
    Inventory,
    PassthroughState,
    PhysicalGpu,
)
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.placement import Wish, places, release
from gpufleet_vcenter.settings import NodeSettings, SharedProfile
from tests.vcenter.test_cluster_node import settings
from tests.vcenter.test_placement import WAITS, has, holding

SERVERS = (f"server-{number}" for number in itertools.count())


def host(name: str, gpus: int) -> Host:
    devices = tuple(
        PhysicalGpu(
            f"0000:{n:02x}:00.0", "20b5", "A100", 81_920, PassthroughState.ACTIVE, "", "", ()
        )
        for n in range(gpus)
    )
    return Host(name, name, True, False, 1 << 20, 0, devices, (), (), frozenset())


def with_machine(at: Host, uuid: str, address: str, owner: str = "o/p/s/g/9") -> Host:
    known = holding(uuid, has(address), group=owner)
    held = dataclasses.replace(known, memory_mib=65_536, memory_locked=True, instance_uuid=uuid)
    return dataclasses.replace(at, holdings=(*at.holdings, held), reserved_mib=65_536)


class Vcenter:
    """Counts how often its inventory is read."""

    def __init__(self, *hosts: Host) -> None:
        self.hosts, self.reads = hosts, 0

    def read(self) -> Inventory:
        self.reads += 1
        return Inventory(self.hosts)


@pytest.fixture(autouse=True)
def read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inventory is the test's."""
    monkeypatch.setattr(claims, "inventory_of", lambda work: work.session.cloud.read())


@dataclasses.dataclass
class Claims:
    cloud: Vcenter
    server: str

    def named(self, wish: Wish, machine: str, refused: set[str]) -> str | None:
        """Name of the host that is claimed."""
        found = claims.claim(work(self.server, machine, self.cloud), wish, refused)
        return found and found.name

    def assign(self, machines: dict[str, NodeSettings], common: Wish) -> None:
        """Claim hosts for all machines."""
        works = [work(self.server, uuid, self.cloud, one) for uuid, one in machines.items()]
        claims.assign(works, common)


def rooms(cloud: Vcenter, server: str | None = None) -> Claims:
    return Claims(cloud, server or next(SERVERS))


def work(
    server: str, machine: str, cloud: Vcenter | None = None, of: NodeSettings | None = None
) -> MachineWork:
    session: Any = SimpleNamespace(server_id=server, cloud=cloud)
    return MachineWork(session, of or settings(), machine)


def test_no_slot_is_given_twice() -> None:
    cloud = Vcenter(host("esx1", 3), host("esx2", 5))
    shared = rooms(cloud)
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda n: shared.named(Wish(settings()), f"m{n}", set()), range(8)))
    assert sorted(name for name in given if name) == ["esx1"] * 3 + ["esx2"] * 5


def test_what_an_inventory_shows_running_is_not_counted_twice() -> None:
    server = next(SERVERS)
    before = Vcenter(host("esx1", 2))
    assert rooms(before, server).named(Wish(settings()), "m1", set()) == "esx1"
    after = Vcenter(with_machine(host("esx1", 2), "m1", "0000:00:00.0"))
    assert rooms(after, server).named(Wish(settings()), "m2", set()) == "esx1"
    full = Vcenter(
        with_machine(with_machine(host("esx1", 2), "m1", "0000:00:00.0"), "m2", "0000:01:00.0")
    )
    with pytest.raises(VsphereError) as caught:
        rooms(full, server).named(Wish(settings()), "m3", set())
    assert caught.value.code == "vsphere-gpu-capacity"
    assert "0 of 2 devices free and a machine needs 1, held by m1, m2" in str(caught.value)


def test_room_that_comes_later_is_found() -> None:
    cloud = Vcenter(with_machine(host("esx1", 1), "gone", "0000:00:00.0"))
    shared = rooms(cloud)
    with pytest.raises(VsphereError):
        shared.named(Wish(settings()), "m1", set())
    cloud.hosts = (host("esx1", 1),)
    assert shared.named(Wish(settings()), "m1", set()) == "esx1"


def test_a_claim_that_ends_makes_room_for_who_waits() -> None:
    server = next(SERVERS)
    shared = rooms(Vcenter(host("esx1", 1)), server)
    assert shared.named(Wish(settings()), "m1", set()) == "esx1"
    timer = threading.Timer(0.2, release, (work(server, "m1"),))
    timer.start()
    assert shared.named(Wish(settings()), "m2", set()) == "esx1"
    timer.join()


def test_a_newer_inventory_is_believed() -> None:
    """A machine that ran, and is missing later, was removed by another client."""
    server = next(SERVERS)
    cloud = Vcenter(host("esx1", 1))
    assert rooms(cloud, server).named(Wish(settings()), "m1", set()) == "esx1"
    release(work(server, "m1"))
    assert rooms(cloud, server).named(Wish(settings()), "m2", set()) == "esx1"


def test_the_slot_of_a_machine_that_runs_since_is_not_given() -> None:
    server = next(SERVERS)
    cloud = Vcenter(host("esx1", 2))
    shared = rooms(cloud, server)
    assert shared.named(Wish(settings()), "m1", set()) == "esx1"
    release(work(server, "m1"))
    assert shared.named(Wish(settings()), "m2", set()) == "esx1"
    cloud.hosts = (
        with_machine(with_machine(host("esx1", 2), "m1", "0000:00:00.0"), "m2", "0000:01:00.0"),
    )
    release(work(server, "m2"))
    with pytest.raises(VsphereError, match="0 of 2 devices free"):
        shared.named(Wish(settings()), "m3", set())


def bound_to(*hosts: str, **more: object) -> NodeSettings:
    """Settings of a machine that may run on these hosts alone; none: on any."""
    known = settings()
    place = known.place.model_copy(update={"hosts": hosts})
    return known.model_copy(update={"place": place, **more})


def test_the_hosts_of_a_group_are_assigned_at_once() -> None:
    """The machine that can go anywhere comes first in the declaration, and leaves the one place of
    the other."""
    server = next(SERVERS)
    cloud = Vcenter(host("esx1", 2), host("esx2", 1))
    shared = rooms(cloud, server)
    machines = {"any": bound_to(), "a": bound_to("esx1"), "b": bound_to("esx1")}
    shared.assign(machines, Wish(bound_to()))
    found = {name: shared.named(Wish(given), name, set()) for name, given in machines.items()}
    assert found == {"any": "esx2", "a": "esx1", "b": "esx1"}
    assert cloud.reads == 1
    assert shared.named(Wish(machines["a"]), "a", {"esx1"}) is None, "it refused"


def test_a_preview_places_the_machines_of_a_group_together() -> None:
    """Each of them alone would fit."""
    inventory = Inventory((host("esx1", 1), host("esx2", 1)))
    one, other = bound_to("esx1", name="gpu-1"), bound_to("esx1", "esx2", name="gpu-2")
    assert all(row.complete for row in places(inventory, [bound_to(), one], Wish(one)))
    assert all(row.complete for row in places(inventory, [other, one], Wish(one)))
    found = places(inventory, [bound_to(name="gpu-0"), other, one], Wish(one))
    (reason,) = [str(row.failure()) for row in found if not row.complete]
    assert reason.startswith(
        "vsphere-gpu-capacity: no host can take gpu-0: 1 machines need a place, 0 fit: "
    )
    assert "esx1 0 (0 of 1 devices free and a machine needs 1, held by gpu-1" in reason
    assert "esx2 0 (0 of 1 devices free and a machine needs 1, held by gpu-2" in reason


def test_who_waits_too_long_is_told() -> None:
    server = next(SERVERS)
    shared = rooms(Vcenter(host("esx1", 1)), server)
    hasty = settings().model_copy(
        update={"timeouts": settings().timeouts.model_copy(update={"clone": 0})}
    )
    assert shared.named(Wish(hasty), "m1", set()) == "esx1"
    with pytest.raises(VsphereError) as caught:
        shared.named(Wish(hasty), "m2", set())
    assert "every free slot for gpu-0 was claimed by other machines of this update" in str(
        caught.value
    )


def test_hosts_that_refused_a_machine_are_not_offered_again() -> None:
    shared = rooms(Vcenter(host("esx1", 1), host("esx2", 0)))
    assert shared.named(Wish(settings()), "m1", {"esx1"}) is None
    assert shared.named(Wish(settings()), "m1", {"esx1", "esx2"}) is None


def test_a_claim_counts_as_what_it_is() -> None:
    """A GPU that one pool's machine will have by passthrough runs no vGPU of another pool's."""
    server = next(SERVERS)
    cards = tuple(
        dataclasses.replace(gpu, graphics_type="sharedDirect") for gpu in host("esx1", 2).gpus
    )
    both = dataclasses.replace(host("esx1", 0), gpus=cards, profiles=("grid_a100d-10c",))
    shared = rooms(Vcenter(both), server)
    profile = settings().model_copy(
        update={
            "gpu": SharedProfile(mode="vgpu", profile="grid_a100d-10c", count=8),
            "timeouts": settings().timeouts.model_copy(update={"clone": 0}),
        }
    )
    assert shared.named(Wish(settings()), "whole", set()) == "esx1"
    assert shared.named(Wish(profile), "v1", set()) == "esx1"
    with pytest.raises(VsphereError, match="claimed by other machines of this update"):
        shared.named(Wish(profile), "v2", set())
    release(work(server, "whole"))
    assert shared.named(Wish(profile), "v2", set()) == "esx1"


def test_a_machine_that_is_being_made_counts_once() -> None:
    """An inventory that was read between its clone and its start shows it too, off."""
    server = next(SERVERS)
    cloud = Vcenter(host("esx1", 2))
    assert rooms(cloud, server).named(Wish(settings()), "m1", set()) == "esx1"
    off = dataclasses.replace(holding("m1", WAITS, on=False), instance_uuid="m1")
    cloud.hosts = (dataclasses.replace(host("esx1", 2), holdings=(off,)),)
    assert rooms(cloud, server).named(Wish(settings()), "m2", set()) == "esx1"


def test_the_place_of_machines_that_leave_counts_as_free() -> None:
    busy = with_machine(host("esx1", 1), "m1", "0000:00:00.0")
    freed = Inventory((busy,)).later({}, {"m1"})
    assert freed.hosts[0] == host("esx1", 1)
    assert Inventory((busy,)).later({}, {"m2"}) == Inventory((busy,))
