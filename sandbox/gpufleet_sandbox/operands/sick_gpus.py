"""Output of the vendors' programs about simulated GPUs, failing ones included."""

import json
from collections.abc import Mapping
from pathlib import Path

from gpufleet_sandbox.operands.hardware import SimulatedHardware

FAULTS_ANNOTATION = "sandbox.gpufleet.dev/faults"
"""JSON on the Node, each part optional: `missingGpus` (a number), `ncclGbs` (a figure),
`diagnostics` (name of the test of DCGM that fails), `inactiveLinks` (a number), `xid` (a number:
programs fail), `eccErrors` (a number), `busy` (true: a program uses the GPUs)."""
LINKS = 18
"""NVLinks of each GPU, as of an H100."""
HEALTHY_GBS = "478.42"
"""Bus bandwidth of eight H100 (Azure/azurehpc-health-checks, a published log: 480 GB/s)."""


def write_outputs(
    hardware: SimulatedHardware, annotations: Mapping[str, str], folder: Path
) -> None:
    """One file for each query of the programs of `vendor_programs`."""
    faults = json.loads(annotations.get(FAULTS_ANNOTATION) or "{}")
    gpus = hardware.gpus[: len(hardware.gpus) - int(faults.get("missingGpus", 0))]
    driver, ecc = hardware.driver or "595.91.07", int(faults.get("eccErrors", 0))
    inactive = int(faults.get("inactiveLinks", 0))
    links: list[str] = []
    for gpu in gpus:
        links.append(f"GPU {gpu.index}: {gpu.board.product}")
        dead = inactive if gpu.index == 0 else 0
        links += [
            f"\t Link {n}: {'<inactive>' if n < dead else '26.562 GB/s'}" for n in range(LINKS)
        ]
    found = {
        "gpus": [f"{g.board.product}, {g.memory_mib}, {driver}, {ecc}, 1980" for g in gpus],
        "apps": ["4711"] if faults.get("busy") else [],
        "rows": ["No, No" for _ in gpus],
        "links": links,
        "nccl": [str(faults.get("ncclGbs", HEALTHY_GBS))],
        "diagnostics": [str(faults["diagnostics"])] if "diagnostics" in faults else [],
        "xid": [str(faults["xid"])] if "xid" in faults else [],
    }
    for name, lines in found.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
