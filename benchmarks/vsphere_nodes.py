"""100 machines on the vCenter simulator, whose tasks take their time (clone 2 s, reconfigure 0.2 s,
power on 0.6 s; a vCenter takes about thirty times that): one after the other, and as a group makes
them.

One after the other is measured on six machines and multiplied.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psutil

from benchmarks.paired import seconds
from gpufleet_sandbox import bootstrap
from gpufleet_sandbox.progress import SilentProgress
from gpufleet_vcenter.group_provider import VsphereGpuNodeGroupProvider
from gpufleet_vcenter.group_run import make
from gpufleet_vcenter.session import close_all
from tests.vcenter.simulator import (
    SimulatedGpu,
    SimulatedHost,
    SimulatedVcenter,
    vcenter,
)

MACHINES = int(os.environ.get("GPUFLEET_BENCH_MACHINES", "100"))
ONE_BY_ONE = 6
WIDTHS = (16, 32, 64)
TASKS = {"CloneVm": 2000, "ReconfigVm": 200, "PowerOn": 600, "LockHandoff": 0}
"""Milliseconds of each task; with `LockHandoff` a task does not lock the template for as long."""
_GPUS = 8
_SLOTS = (0x1A, 0x3B, 0x4C, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)


def measure() -> Iterator[str]:
    rows: list[tuple[str, float, float]] = []

    def one_by_one(nodes: Sequence[dict[str, Any]]) -> None:
        for node in nodes[:ONE_BY_ONE]:
            make(node)

    def group(width: int) -> Callable[[Sequence[dict[str, Any]]], None]:
        return lambda nodes: _made(_group(nodes, width))

    for name, way, factor in (
        ("one after the other", one_by_one, MACHINES / ONE_BY_ONE),
        *((f"creationWidth {width}", group(width), 1.0) for width in WIDTHS),
    ):
        wall, grown = _measured(way)
        rows.append((name, wall * factor, grown))
    alone = rows[0][1]
    yield f"| {MACHINES} machines | wall | share of one by one | memory grew by |"
    yield "|---|---|---|---|"
    for name, wall, grown in rows:
        yield f"| {name} | {wall:.1f} s | {wall / alone:.3f} | {grown:.0f} MiB |"


def _measured(way: Callable[[Sequence[dict[str, Any]]], None]) -> tuple[float, float]:
    """Seconds and MiB of this process, with its own vCenter."""
    me = psutil.Process()
    with _cloud() as port:
        nodes = [_node(ordinal, port) for ordinal in range(MACHINES)]
        make(_node(MACHINES, port))  # libraries and login are not counted
        before = me.memory_info().rss
        wall = seconds(lambda: way(nodes))
        grown = (me.memory_info().rss - before) / (1 << 20)
        close_all()
        time.sleep(0.1)
    return wall, max(0.0, grown)


@contextmanager
def _cloud() -> Iterator[int]:
    program = bootstrap.prepare(["vcsim"], SilentProgress())["vcsim"]
    devices = tuple(SimulatedGpu(f"0000:{slot:02x}:00.0") for slot in _SLOTS)
    hosts = MACHINES // _GPUS + 2
    inventory = SimulatedVcenter(
        hosts=hosts,
        memory_gib=2048,
        gpu_hosts={f"DC0_C0_H{n}": SimulatedHost(devices) for n in range(hosts)},
        user="operator",
        password="simulated",
        method_delay_ms=TASKS,
    )
    os.environ |= {"VSPHERE_USER": "operator", "VSPHERE_PASSWORD": "simulated"}
    with vcenter(program, inventory) as running:
        yield running.port


def _node(ordinal: int, port: int) -> dict[str, Any]:
    return {
        "owner": f"organisation/benchmark/stack/group/{ordinal}",
        "generation": "0123456789ab",
        "endpoint": {"server": "127.0.0.1", "port": port, "plainHttp": True},
        "place": {"datacenter": "DC0", "cluster": "DC0_C0", "template": "gpu-template"},
        "name": f"gpu-{ordinal}",
        "cpus": 16,
        "memoryMib": 65_536,
        "gpu": {"mode": "dynamic", "deviceIds": ["20b5"], "count": 1},
        "gpuMemoryGib": 80,
        "userData": "#cloud-config\n",
    }


def _made(given: dict[str, Any]) -> None:
    VsphereGpuNodeGroupProvider().create(given)


def _group(nodes: Sequence[dict[str, Any]], width: int) -> dict[str, Any]:
    keys = [str(node["owner"]).rpartition("/")[2] for node in nodes]
    return {
        "group": "organisation/benchmark/stack/group",
        "life": "0123456789ab",
        "names": "gpu-",
        "order": keys,
        "width": width,
        "rolloutWidth": 4,
        "preflight": "create",
        "nodes": dict(zip(keys, nodes, strict=True)),
    }
