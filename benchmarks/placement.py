"""One MIG decision, any request on any GPU (budget 1 ms in process), and 10,000 random layouts of
eight GPUs each compiled and rendered: the mig-parted file and the device plugin's (budget 2 s).
"""

import gc
import random
import statistics
import time

from gpufleet.catalogue import load
from gpufleet.catalogue.gpu import Gpu, MigGeometry
from gpufleet.fleet.config_names import device_plugin_config_name, mig_config_name
from gpufleet.partition.partition import cut
from gpufleet.partition.placement import place
from gpufleet.partition.slot_table import slot_table
from gpufleet.render.gpu_operator_values import device_plugin_files, mig_parted_file
from gpufleet.spec.sharing import Sharing

GPUS_PER_NODE = 8
LAYOUTS = 10_000


def measure() -> list[str]:
    """Rows of the report."""
    return [*_decisions(), "", *_layouts()]


def _decisions() -> list[str]:
    chance = random.Random(2026)
    geometries = list(load().geometries.values())
    requests = []
    for _ in range(10_000):
        geometry = chance.choice(geometries)
        names = chance.sample(list(geometry.profiles), chance.randint(1, 4))
        requests.append((geometry, {name: chance.randint(1, 4) for name in names}))
    for geometry in geometries:
        place(geometry, {next(iter(geometry.profiles)): 1})
    gc.collect()
    gc.freeze()  # garbage collection is not part of a decision's time
    times = sorted(_cpu_seconds(g, r) for g, r in requests)
    median, late = statistics.median(times), times[int(len(times) * 0.99)]
    figures = f"{median * 1e6:.0f} us | {late * 1e6:.0f} us | {times[-1] * 1e3:.2f} ms"
    return [
        "| decisions | CPU, median | 99 % | slowest |",
        "|---|---|---|---|",
        f"| {len(times):,} | {figures} |",
    ]


def _cpu_seconds(geometry: MigGeometry, request: dict[str, int]) -> float:
    start = time.process_time()
    place(geometry, request)
    return time.process_time() - start


def _layouts() -> list[str]:
    """Legal layouts only: refusing one takes less."""
    chance = random.Random(2026)
    gpus = [gpu for gpu in load().gpus.values() if gpu.mig is not None]
    declared = [(f"pool-{i}", *_declared(chance, chance.choice(gpus))) for i in range(LAYOUTS)]
    times: list[float] = []
    for _ in range(5):
        start = time.process_time()
        size = _compile_and_render(declared)
        times.append(time.process_time() - start)
    figures = f"{times[0]:.2f} s | {statistics.median(times):.2f} s | {size / 1e6:.1f} MB"
    return [
        "| layouts compiled and rendered | CPU, first | CPU, median of five | text |",
        "|---|---|---|---|",
        f"| {LAYOUTS:,} | {figures} |",
    ]


def _declared(chance: random.Random, gpu: Gpu) -> tuple[Gpu, Sharing]:
    assert gpu.mig is not None
    table = slot_table(gpu.mig)
    counts = table.counts[chance.randrange(1, len(table.counts))]
    devices = {name: n for name, n in zip(gpu.mig.profiles, counts, strict=True) if n}
    layouts = [{"gpus": "all", "devices": devices}]
    return gpu, Sharing.model_validate({"mig": {"strategy": "mixed", "layouts": layouts}})


def _compile_and_render(declared: list[tuple[str, Gpu, Sharing]]) -> int:
    configs, plugins = {}, {}
    for name, gpu, sharing in declared:
        partition, findings = cut(gpu, GPUS_PER_NODE, sharing, "sharing")
        assert partition is not None, findings
        configs[mig_config_name(name, partition)] = (gpu, partition)
        plugins[device_plugin_config_name(name, partition)] = partition
    return len(mig_parted_file(configs)) + sum(map(len, device_plugin_files(plugins).values()))
