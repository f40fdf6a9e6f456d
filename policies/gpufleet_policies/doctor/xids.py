"""XID errors: which ones NVIDIA names, and what it says to do at once.

Source: NVIDIA, "Analyzing Xid Errors with the Xid Catalog", docs.nvidia.com/deploy/xid-errors
(resolution bucket, immediate action; 48 and 74 name workflows whose first step is a reset).
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
_NUMBER = re.compile(
    r"\b(?:NvidiaXID|Xid\b[^:\n]{0,60}:|XID[-_ ]?|ErrorCode:)\s*(\d{1,3})(?!\d|\w)", re.I
)
_REASON = re.compile(r"NvidiaXID(\d{1,3})(?:Error|Warning)")


@dataclass(frozen=True, slots=True)
class Xid:
    """One row of the catalogue."""

    number: int
    name: str
    action: str
    """NVIDIA's immediate action: `RESET_GPU`."""


@cache
def xids() -> dict[int, Xid]:
    """Every row by its number."""
    lines = files("gpufleet_policies.doctor").joinpath("xids.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["xid"]: Xid(row["xid"], row["name"], row["action"]) for row in rows}


def xid_in(said: str) -> Xid | None:
    """The first XID of the catalogue in a reason, message or log."""
    for form in (_REASON, _NUMBER):
        for found in form.finditer(said):
            row = xids().get(int(found[1]))
            if row is not None:
                return row
    return None
