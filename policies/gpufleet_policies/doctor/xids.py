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
_FIXES = {
    "RESTART_APP": "restart the program; nothing is wrong with the GPU unless it comes again",
    "RESET_GPU": "kubectl cordon {node}, drain it, then reset the GPU (`nvidia-smi --gpu-reset`) "
    "or reboot the machine",
    "RESTART_BM": "kubectl cordon {node}, drain it, reboot the machine (power off and on); if it "
    "comes again, replace the machine and report it to its vendor",
    "RESTART_VM": "kubectl cordon {node}, drain it, restart the virtual machine",
    "CHECK_MECHANICALS": "kubectl cordon {node}, drain it, and let someone look at power and seat "
    "of the GPU",
    "UPDATE_SWFW": "update driver and firmware of the host and of the guest",
    "IGNORE": "nothing at once; look for another XID before it",
}


@dataclass(frozen=True, slots=True)
class Xid:
    """One row of the catalogue."""

    number: int
    name: str
    action: str
    """NVIDIA's immediate action: `RESET_GPU`."""

    def fix(self, node: str) -> str:
        """The action in words, with commands."""
        return _FIXES[self.action].format(node=node)


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
