"""Rules about configurations, as rows of a table; one validation of a document applies them."""

import json
from collections.abc import Mapping
from pathlib import Path

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.rules.rule import LEVELS, Needs, Profile, Proof, Rule, Verdict

SHARED = "config"
"""Prefix of the codes of rules that all kinds of configuration share; the evidence of a finding
names the kind."""

RuleTable = Mapping[str, Rule]
"""Code of a finding -> its rule."""


def written_rules(file: Path) -> tuple[Rule, ...]:
    """The rules of a file, one JSON object a line. `verdict` is the effect on a configuration, in
    every profile. `sentence` states when the rule applies and how the upstream program reacts,
    `source` where upstream documents it, `ids` are its ids in the survey of upstream behaviour."""
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return tuple(
        Rule(
            id=one["code"],
            sentence=one["sentence"],
            levels=dict.fromkeys(Profile, LEVELS[Verdict(one["verdict"])]),
            source=one["source"],
            subjects=(NvidiaConfig,),
            needs=frozenset(map(Needs, one.get("needs", ()))),
            survey=tuple(one["ids"]),
            proof=Proof(one.get("proof", Proof.PART)),
            chart=one.get("chart", ""),
        )
        for one in rows
    )


def rule_table(*rules: Rule) -> dict[str, Rule]:
    """Rules by code. Raises ValueError when two different rules have one code."""
    table = {rule.id: rule for rule in rules}
    if any(table[rule.id] != rule for rule in rules):
        raise ValueError("a finding code is used by two rules of one kind")
    return table
