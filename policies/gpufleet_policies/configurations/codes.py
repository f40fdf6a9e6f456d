"""Every code of the rules of configurations in one table: a code has one meaning for all kinds.

And the listed rules whose faults they are: one for the objects and files of each program, one of
relations. Settings and waivers name the rule, or one fault.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.contract.programs import context
from gpufleet.findings import Level
from gpufleet.rules.rows import SHARED, RuleTable
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.configurations.kinds import KINDS, RULES, rules_of

EVERY_KIND = "every-kind"
"""Family of the rules that hold for documents of every kind."""


@cache
def tables() -> Mapping[str, RuleTable]:
    """Kind -> its rules; first those of every kind."""
    shared = {**context.RULES, **RULES}
    return {EVERY_KIND: shared, **{kind: rules_of(kind) for kind in KINDS}}


@cache
def code_space() -> Mapping[str, Rule]:
    """Code -> its rule, whose family is the first kind that has it. Raises ValueError when two
    tables give one code two meanings."""
    found: dict[str, Rule] = {}
    for kind, table in tables().items():
        for code, rule in table.items():
            known = found.get(code)
            if known is None:
                found[code] = replace(rule, family=kind)
            elif replace(known, family="") != rule:
                raise ValueError(
                    f"the code {code} means one thing in {known.family}, another in {kind}"
                )
    return found


RELATIONS = "relations"
_TEXT = Path(__file__).with_name("groups.jsonl").read_text(encoding="utf-8")
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
