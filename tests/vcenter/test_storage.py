"""Datastores that are played: which takes a machine's disks, and what is reported when none
does."""

import dataclasses
import itertools
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.storage import (
    DatastoreRoom,
    check_rooms,
    chosen_store,
    sizes,
)
from tests.vcenter.test_disks import disk
from tests.vcenter.test_outputs import DEVICES, LIVE, NODE

GIB = 1 << 30
SERVERS = (f"stores-{number}" for number in itertools.count())


def settings(**more: Any) -> NodeSettings:
    place = {**NODE["place"], "datastoreCluster": "pod"}
    return NodeSettings.model_validate({**NODE, "place": place, **more})


def room(name: str, free_gib: int, **more: Any) -> DatastoreRoom:
    return DatastoreRoom(vim.Datastore(f"datastore-{name}"), name, free_gib * GIB, **more)


def refused(code: str, ask: Any) -> str:
    with pytest.raises(VsphereError) as caught:
        ask()
    assert caught.value.code == code
    return str(caught.value)


def test_every_disk_counts_where_it_goes() -> None:
    extra = [
        {"name": "a", "sizeGib": 5},
        {"name": "b", "sizeGib": 7, "datastore": "fast"},
        {"name": "c", "sizeGib": 9, "datastore": "fast"},
    ]
    two = dataclasses.replace(LIVE, devices=(*DEVICES, disk(1000, 1, gib=40)))
    assert sizes(settings(extraDisks=extra), two) == {None: 245 * GIB, "fast": 16 * GIB}
    assert sizes(settings(diskGib=300), two) == {None: 340 * GIB}
    assert sizes(settings(), dataclasses.replace(LIVE, devices=())) == {None: 0}


@pytest.mark.parametrize(
    ("store", "count", "code", "expected"),
    [
        (
            room("a", 109),
            1,
            "vsphere-datastore-full",
            "datastore a has 109 GiB free, and gpu-0 needs 110",
        ),
        (room("a", 219), 2, "vsphere-datastore-full", "and 2 machines like gpu-0 need 220 GiB"),
        (
            room("a", 999, shut="is not accessible"),
            1,
            "vsphere-datastore-state",
            "datastore a is not accessible",
        ),
        (
            room("a", 999, shut="is in maintenance mode"),
            1,
            "vsphere-datastore-state",
            "a is in maintenance mode",
        ),
    ],
)
def test_a_datastore_that_will_not_do(
    store: DatastoreRoom, count: int, code: str, expected: str
) -> None:
    text = refused(code, lambda: check_rooms(settings(), 100 * GIB, [store], count))
    assert expected in text


def test_a_datastore_with_just_enough() -> None:
    check_rooms(settings(), 100 * GIB, [room("a", 110)], 1)


def room_for(rooms: list[DatastoreRoom], count: int) -> None:
    check_rooms(settings(), 100 * GIB, rooms, count, of_cluster=True)


def test_a_cluster_takes_machines_whole() -> None:
    rooms = [room("a", 109), room("b", 230), room("c", 999, shut="is in maintenance mode")]
    room_for(rooms, 2)
    text = refused("vsphere-datastore-full", lambda: room_for(rooms, 3))
    assert (
        "datastore cluster pod has room for 2 of 3 machines like gpu-0, each with 110 GiB" in text
    )
    assert "on one datastore: a 109 GiB, b 230 GiB, c is in maintenance mode" in text
    assert "it has no datastore" in refused("vsphere-datastore-full", lambda: room_for([], 1))


def test_machines_that_are_made_together_spread_and_do_not_overfill() -> None:
    rooms, server = [room("a", 250), room("b", 240)], next(SERVERS)
    mounted = frozenset(item.id for item in rooms)

    def choose(number: int, among: frozenset[str] = mounted) -> Any:
        session: Any = SimpleNamespace(server_id=server)
        work = MachineWork(session, settings(), f"m{number}")
        return chosen_store(work, rooms, among, 100 * GIB)

    with ExitStack() as making:
        chosen = [making.enter_context(choose(number))._moId for number in range(4)]
        assert chosen == ["datastore-a", "datastore-b", "datastore-a", "datastore-b"]
        text = refused("vsphere-datastore-full", lambda: making.enter_context(choose(4)))
        assert "no datastore of cluster pod that the host mounts has 110 GiB for gpu-0" in text
    with choose(5) as store:
        assert store._moId == "datastore-a", "what was taken is given back"
    with choose(6, frozenset({"datastore-b"})) as store:
        assert store._moId == "datastore-b", "the host mounts no other"
