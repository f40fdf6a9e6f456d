"""vGPUs as the driver of a guest sees them: whole boards of their own name, not divisible.

Named by NVML as `NVIDIA A100D-3-40C`, before driver branch 510 as `GRID A100D-3-40C`. How the type
is backed, by a MIG slice or by turns on the GPU, is decided on the host. Not simulated:
the MIG mode that a guest driver reports under a MIG-backed type, because no source shows it.
"""

import re

from gpufleet_sandbox.operands.boards import BOARDS, Board

_NAME = re.compile(
    r"(?:NVIDIA |GRID )(?P<board>[A-Z0-9]+(?:-A[Dd][Aa])?)(?:-[1-7])?-[1-9][0-9]*[ABCQ](?:ME)?"
)
_PHYSICAL = {
    "T4": "Tesla T4",
    "A10": "NVIDIA A10",
    "A16": "NVIDIA A16",
    "A30": "NVIDIA A30",
    "A40": "NVIDIA A40",
    "A100": "NVIDIA A100-SXM4-40GB",
    "A100X": "NVIDIA A100-SXM4-40GB",
    "A100D": "NVIDIA A100-SXM4-80GB",
    "A100DX": "NVIDIA A100-SXM4-80GB",
    "L2": "NVIDIA L2",
    "L4": "NVIDIA L4",
    "L20": "NVIDIA L20",
    "L40": "NVIDIA L40",
    "L40S": "NVIDIA L40S",
    "RTX6000-ADA": "NVIDIA RTX 6000 Ada Generation",
    "H100": "NVIDIA H100 80GB HBM3",
    "H100XM": "NVIDIA H100 80GB HBM3",
    "H100L": "NVIDIA H100 NVL",
    "H100XL": "NVIDIA H100 NVL",
    "H200": "NVIDIA H200 NVL",
    "H200X": "NVIDIA H200",
}
"""First part of a vGPU's name -> a board of its kind (NVIDIA Virtual GPU Software User Guide, vGPU
types; read 2026-11-21)."""


def virtual_board(product: str) -> Board | None:
    """The board a guest sees under this name; None where it is not a vGPU's."""
    match = _NAME.fullmatch(product)
    physical = BOARDS.get(_PHYSICAL.get(match["board"].upper(), "")) if match else None
    if physical is None:
        return None
    return Board(product, physical.family, physical.compute_capability, "", virtual=True)
