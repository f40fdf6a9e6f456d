"""Findings as rows: severity, place, message and fix of a code are written once, next to its rule.

`findings.jsonl` in a folder has a row for each text of the modules there, one JSON object a line:

* `code`; where one code has several texts, with `/` and what distinguishes them,
* `severity`; omitted if a rule of the code has it (`contract/programs`),
* `at`: the field below the place that the rule names; omitted: the place itself,
* `message` and `fix`, with `{name}` for a fact and `{name!r}` for it in quotation marks,
* `source`: where the statement is documented; it becomes evidence,
* `because`: a chain of facts, each a text and its source, after those that the rule gives; `{path}`
  is the place of the finding,
* `note`: what readers of the table must know, such as the source of a limit.

Rows of rules that fields alone decide have more keys: `row_rules`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, cast

from gpufleet.findings.finding import Finding, Severity

FACT = re.compile(r"\{([a-z_][a-z0-9_]*)(!r)?\}")
"""A fact in a text. Other braces are literal, as in YAML: `{enabled: true}`."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One row of a table."""

    code: str
    severity: Severity
    message: str
    at: str = ""
    fix: str | None = None
    source: str | None = None
    because: Sequence[Sequence[str]] = ()
    of: str = ""
    when: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ()
    """Cases of its conditions; none: a function writes it."""
    each: str = ""
    sets: Mapping[str, Any] = field(default_factory=dict[str, Any])
    chain: str = ""
    place: str = ""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    note: str = ""

    @property
    def facts(self) -> frozenset[str]:
        """Names of the facts in the texts."""
        return frozenset(found[1] for found in FACT.finditer(f"{self.message} {self.fix or ''}"))

    def finding(
        self, path: str, fix: str | None, facts: Mapping[str, object], index: int = 0
    ) -> Finding:
        """The finding at a place, with all facts as its evidence; `index`: that of the entry of
        `each`. Raises KeyError for a fact that the texts contain and that is missing."""
        evidence = {name: _listed(value) for name, value in facts.items()}
        if self.source is not None:
            evidence["source"] = self.source
        message, fix = self.texts(fix, evidence)
        code = self.code.partition("/")[0]
        place = path + (self.at.replace("#", f"{index}") if self.each else self.at)
        if self.because:
            known = {**evidence, "path": place}
            chain = [[filled(text, known) for text in link] for link in self.because]
            own = [{"fact": fact, "source": source} for fact, source in chain]
            evidence["facts"] = [*cast("list[object]", evidence.get("facts", [])), *own]
        return Finding(code, self.severity, place, message, evidence, fix)

    def texts(self, fix: str | None, facts: Mapping[str, object]) -> tuple[str, str | None]:
        """Message and fix with their facts; a given fix replaces that of the row."""
        if fix is None and self.fix is not None:
            fix = filled(self.fix, facts)
        return filled(self.message, facts), fix


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes findings of one folder."""

    folder: Path

    def __call__(
        self, row: str, path: str = "", *, fix: str | None = None, **facts: object
    ) -> Finding:
        """The finding of a row.

        Args:
            row: Its `code`.
            path: The place that the rule examined; the row's `at` is appended. Default: the whole.
            fix: What to write instead, as literal text. Default: that of the row, with its facts.
            facts: Values for the texts, and more evidence; text, number, or several of them.
        """
        return rows_of(self.folder)[row].finding(path, fix, facts)


def findings_in(file: str) -> Writer:
    """The writer of findings for the modules of a folder, of which `file` is one."""
    return Writer(Path(file).parent)


@cache
def rows_of(folder: Path) -> Mapping[str, FindingRow]:
    """The rows of a folder by code. Raises ValueError if two rows have one code."""
    text = (folder / "findings.jsonl").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        row["severity"] = Severity(row.get("severity", "error"))
    table = {row["code"]: FindingRow(**row) for row in rows}
    if len(table) < len(rows):
        raise ValueError(f"{folder}: two rows have one code")
    return table


def filled(text: str, facts: Mapping[str, object]) -> str:
    """A text with its facts; several values are separated by commas."""

    def shown(found: re.Match[str]) -> str:
        value = facts[found[1]]
        if found[2] and isinstance(value, str):
            return repr(value)
        if isinstance(value, list | tuple):
            return ", ".join(map(_plain, cast("Iterable[object]", value)))
        return _plain(value)

    return FACT.sub(shown, text)


def _plain(value: object) -> str:
    """A value as YAML has it."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return f"{{{', '.join(f'{key}: {_plain(one)}' for key, one in pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, cast('Iterable[object]', value)))}]"
    return (
        "null" if value is None else f"{value}".lower() if isinstance(value, bool) else f"{value}"
    )


def _listed(value: object) -> object:
    """A value as JSON can hold it: amounts of money are text, sets are sorted lists."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return cast("object", value)
    several = cast("Iterable[Any]", value)
    return sorted(several) if isinstance(value, frozenset | set) else list(several)
