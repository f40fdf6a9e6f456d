"""Rules about configurations, which one validation of a document finds: rows of a table.

A table is made of calls, or read from a file with one JSON object a line.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.rules.rule import LEVELS, Needs, Profile, Proof, Rule, Verdict

SHARED = "config"
"""Codes of rules that configurations of every kind share begin with it; the evidence of a finding
names the kind."""

RuleTable = Mapping[str, Rule]
"""Code of a finding -> its rule."""


def row(
    verdict: Verdict,
    code: str,
    ids: tuple[str, ...],
    sentence: str,
    source: str,
    *,
    proof: Proof = Proof.PART,
    needs: Iterable[Needs] = (),
    chart: str = "",
) -> Rule:
    """A rule that makes of a configuration what its verdict says, in every profile.

    Args:
        verdict: What one finding of it makes of the whole.
        code: Code of the finding.
        ids: Ids in the survey of upstream behaviour.
        sentence: When it applies and what upstream does then.
        source: Where upstream says or does so.
        proof: What must have been read.
        needs: What must be known: another object can disprove it.
        chart: Chart whose values decide it; empty: none.
    """
    return Rule(
        id=code,
        sentence=sentence,
        levels=dict.fromkeys(Profile, LEVELS[verdict]),
        source=source,
        subjects=(NvidiaConfig,),
        needs=frozenset(needs),
        survey=ids,
        proof=proof,
        chart=chart,
    )


def written_rules(file: Path) -> tuple[Rule, ...]:
    """The rules of a file: one JSON object a line, with the arguments of `row`."""
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return tuple(
        row(
            Verdict(one["verdict"]),
            one["code"],
            tuple(one["ids"]),
            one["sentence"],
            one["source"],
            proof=Proof(one.get("proof", Proof.PART)),
            needs=map(Needs, one.get("needs", ())),
            chart=one.get("chart", ""),
        )
        for one in rows
    )


def rule_table(*rules: Rule) -> dict[str, Rule]:
    """Rules by code. Raises ValueError when two different ones have one code."""
    table = {rule.id: rule for rule in rules}
    if any(table[rule.id] != rule for rule in rules):
        raise ValueError("a finding code is used by two rules of one kind")
    return table
