"""The listed rules with faults: one for the objects and files of each program, one of relations.

The first report that a program refuses or misreads a configuration; their faults are the codes of
`gpufleet check`. Settings and waivers name the rule, or one fault.
"""

import json
from pathlib import Path
from typing import Any

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.findings import Level
from gpufleet.rules.rows import SHARED
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.configurations.codes import EVERY_KIND

RELATIONS = "relations"
_TEXT = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8")
_ROWS: tuple[dict[str, Any], ...] = tuple(map(json.loads, _TEXT.splitlines()))
"""Rule, kinds of `gpufleet check` that it is about, sentence and source."""

CONFIGURATION_GROUPS: tuple[Rule, ...] = tuple(
    Rule(
        id=row["rule"],
        sentence=row["sentence"],
        levels=dict.fromkeys(Profile, Level.MANDATORY),
        source=row["source"],
        family=row["rule"],
        subjects=(NvidiaConfig,),
    )
    for row in _ROWS
)
"""The rules, in the order they are listed."""

_GROUP_OF = {kind: row["rule"] for row in _ROWS for kind in row["kinds"]}


def group_of(rule: Rule) -> str:
    """The listed rule that a code is a fault of: by its kind, or that of all kinds."""
    return _GROUP_OF[EVERY_KIND if rule.id.startswith((f"{SHARED}-", "object-")) else rule.family]
