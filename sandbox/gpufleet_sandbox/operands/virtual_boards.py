"""vGPUs as the driver of a guest sees them: whole boards with their own name, not divisible.

Named by NVML as `NVIDIA A100D-3-40C`, before driver branch 510 as `GRID A100D-3-40C`. The host
decides whether a MIG slice or time-slicing backs the type. Not simulated: the MIG mode that a
guest driver reports under a MIG-backed type, because no source shows it.
"""

import re

from gpufleet_sandbox.operands.boards import BOARDS, Board

_NAME = re.compile(
    r"(?:NVIDIA |GRID )(?P<board>(?:RTX Pro [0-9]+ Blackwell )?[A-Z0-9]+(?:-A[Dd][Aa])?)"
    r"(?:-[1-7])?-[1-9][0-9]*[ABCQ](?:ME|GFX)?"
)
_PHYSICAL = {
    "V100": "Tesla V100-PCIE-16GB",
    "V100L": "Tesla V100-PCIE-16GB",
    "V100X": "Tesla V100-SXM2-16GB",
    "V100D": "Tesla V100-PCIE-32GB",
    "V100S": "Tesla V100-PCIE-32GB",
    "V100DX": "Tesla V100-SXM2-32GB",
    "T4": "Tesla T4",
    "A2": "NVIDIA A2",
    "RTXA6000": "NVIDIA RTX A6000",
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
    "H20": "NVIDIA H20",
    "H20X": "NVIDIA H20-3e",
    "GH200": "NVIDIA GH200 480GB",
    "GH200L": "NVIDIA GH200 144G HBM3e",
    "B200X": "NVIDIA B200",
    "GB200": "NVIDIA GB200",
    "B300X": "NVIDIA B300",
    "RTX PRO 6000 BLACKWELL DC": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "RTX PRO 4500 BLACKWELL DC": "NVIDIA RTX PRO 4500 Blackwell Server Edition",
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
