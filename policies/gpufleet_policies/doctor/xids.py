"""XID errors: which ones NVIDIA names, and what it says to do at once.

Source: NVIDIA, "Analyzing Xid Errors with the Xid Catalog", docs.nvidia.com/deploy/xid-errors
(resolution bucket, immediate action; 48 and 74 name workflows whose first step is a reset).
"""

import json
import re
from importlib.resources import files
from typing import Any

_NUMBER = re.compile(
    r"\b(?:NvidiaXID|Xid\b[^:\n]{0,60}:|XID[-_ ]?|ErrorCode:)\s*(\d{1,3})(?!\d|\w)", re.I
)
_REASON = re.compile(r"NvidiaXID(\d{1,3})(?:Error|Warning)")
_ROWS = files("gpufleet_policies.doctor").joinpath("xids.jsonl").read_text().splitlines()
XIDS: dict[int, dict[str, Any]] = {row["xid"]: row for row in map(json.loads, _ROWS)}
"""Rows of the catalogue by number: `xid`, `name`, and `action`, NVIDIA's immediate action."""


def xid_in(said: str) -> dict[str, Any] | None:
    """The first XID of the catalogue in a reason, message or log."""
    numbers = (int(found[1]) for form in (_REASON, _NUMBER) for found in form.finditer(said))
    return next((XIDS[number] for number in numbers if number in XIDS), None)
