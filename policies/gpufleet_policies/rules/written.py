"""Rules whose sentences, levels and sources are rows of `rules.jsonl`, in the order of the
registry, and the texts of their findings rows of `texts.jsonl`.

A row of `texts.jsonl` has the arguments `where`, `found`, `limit`, `alternative` and `at_most` of
`finding`, which name facts and their fields (`{pool.gpu.value}`; entries of a list are separated by
commas), `evidence` (name -> fact, or `{"is": value}`), and a `note` for readers of the table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, cast

from gpufleet.catalogue.edition import RawRow, read_rows
from gpufleet.cluster import WorkloadFacts
from gpufleet.documents.shapes import is_mapping
from gpufleet.findings import Finding, Level, finding
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
    whose check is written once for all of them. Pairs of `release-has-fault`: `faults.jsonl`. A
    pair with a `part` has what `parts.jsonl` requires of it, and of a node or pool where it runs.
    """
    here = Path(__file__).parent
    rows = {row["id"]: row for row in read_rows(here, "rules")}
    known = {(row["of"], row.get("part")): row for row in read_rows(here, "parts")}
    rows["release-has-fault"]["pairs"] = read_rows(here, "faults")
    for name, row in rows.items():
        for pair in row.get("pairs", ()):
            fault = name == "release-has-fault"
            key = (pair["at"].get("name"), pair.get("part"))
            part: RawRow = known.get(key, {}) if fault or "part" in pair else {}
            at, node = part.get("at", {}), part.get("node", {})
            pair["at"] = at | (part.get("image", {}) if fault else {}) | pair["at"]
            labels = {path: one for path, one in node.items() if path.startswith("metadata.labels")}
            where = {"Node": node, "Pool": labels}
            pair["with"] = [where.get(one["kind"], {}) | one for one in pair.get("with", ())]
    return rows


@cache
def texts() -> Mapping[str, Mapping[str, Any]]:
    """Rule id, with `/` and a word where it has several texts -> row of `texts.jsonl`."""
    return {row["code"]: row for row in read_rows(Path(__file__).parent, "texts")}


class _Filled(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, list | tuple):
            return ", ".join(map(str, cast("Iterable[object]", value)))
        return super().format_field(value, format_spec)


_TEXT = _Filled()
_TEXTS = ("where", "found", "limit", "alternative")
_OTHERS = frozenset({"money", "provenance", "at_most", "evidence", "remediation"})


@dataclass(frozen=True, slots=True)
class RuleWithTexts(Rule):
    """A rule whose findings have rows of texts."""

    def say(
        self, where: str = "", *, case: str = "", certain: bool = True, **facts: Any
    ) -> Finding:
        """A finding of it.

        Args:
            where: Place; empty: that of the row.
            case: The row, where the rule has several.
            certain: False: it is advice.
            facts: What the row names, and arguments of `finding`, which replace those of the row.

        Raises:
            KeyError: there is no such row, or a fact that it names is missing.
        """
        row = texts()[f"{self.id}/{case}" if case else self.id]
        given = {name: facts.pop(name) for name in (*_TEXTS[2:], *_OTHERS) if name in facts}
        said = {key: _TEXT.vformat(row.get(key, ""), (), facts) for key in _TEXTS}
        evidence = {
            name: one["is"] if is_mapping(one) else _TEXT.get_field(one, (), facts)[0]
            for name, one in row.get("evidence", {}).items()
        }
        level = Level(row.get("at_most", "mandatory")) if certain else Level.ADVISORY
        said["where"] = where or said["where"]
        written: dict[str, Any] = {**said, "evidence": evidence, "at_most": level, **given}
        return finding(**written)


def written_rule(
    id: str, subject: type | tuple[type, ...] = WorkloadFacts
) -> Callable[[Check], RuleWithTexts]:
    """Make the rule of a row from the decorated check. Raises KeyError without a row."""
    row: dict[str, Any] = {
        name: _READ[name](value) if name in _READ else value
        for name, value in rule_rows()[id].items()
        if name not in ("family", "detail", "pairs", "each")
    }
    row["needs"] = map(Needs, row.get("needs", ()))
    make = rule(subject=subject, **row)

    def written(check: Check) -> RuleWithTexts:
        made = make(check)
        return RuleWithTexts(**{one.name: getattr(made, one.name) for one in fields(made)})

    return written
