"""Rules whose texts, levels and sources are rows of `rules.jsonl`, in the order of the registry."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.catalogue.edition import read_rows
from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import Level
from gpufleet.findings.finding import Provenance
from gpufleet.rules.rule import Check, Needs, Rule, rule

_READ: Mapping[str, Callable[[str], object]] = {
    "dev": Level,
    "prod": Level,
    "strict": Level,
    "mandatory_needs": Provenance,
}


@cache
def rule_rows() -> Mapping[str, Mapping[str, Any]]:
    """Rule id -> its row: the arguments of `rule`, and `family`, `detail` and `pairs` of rules
    whose check is written once for all of them. Pairs of `release-has-fault`: `faults.jsonl`."""
    rows = {row["id"]: row for row in read_rows(Path(__file__).parent, "rules")}
    rows["release-has-fault"]["pairs"] = read_rows(Path(__file__).parent, "faults")
    return rows


def written_rule(
    id: str, subject: type | tuple[type, ...] = WorkloadFacts
) -> Callable[[Check], Rule]:
    """Make the rule of a row from the decorated check. Raises KeyError without a row."""
    row: dict[str, Any] = {
        name: _READ[name](value) if name in _READ else value
        for name, value in rule_rows()[id].items()
        if name not in ("family", "detail", "pairs", "each")
    }
    row["needs"] = map(Needs, row.get("needs", ()))
    return rule(subject=subject, **row)
