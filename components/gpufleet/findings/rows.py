"""Findings as rows: severity, place, message and fix of a code are written once, beside its rule.

`findings.jsonl` in a folder has a row for each text of the modules there, one JSON object a line:

* `code`; where one code has several texts, with `/` and what distinguishes them,
* `severity`; left out where a rule of the code says it (`contract/programs`),
* `at`: the field below the place that the rule names; left out: the place itself,
* `message` and `fix`, with `{name}` for a fact and `{name!r}` for it in quotation marks,
* `source`: who says so; it becomes evidence.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

from gpufleet.findings.finding import Finding, Severity

FACT = re.compile(r"\{([a-z_][a-z0-9_]*)(!r)?\}")
"""A fact in a text. Other braces are what they are in YAML: `{enabled: true}`."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One row of a table."""

    code: str
    severity: Severity
    message: str
    at: str = ""
    fix: str | None = None
    source: str | None = None

    @property
    def facts(self) -> frozenset[str]:
        """Names of the facts that the texts tell."""
        return frozenset(found[1] for found in FACT.finditer(f"{self.message} {self.fix or ''}"))

    def finding(self, path: str, fix: str | None, facts: Mapping[str, object]) -> Finding:
        """The finding at a place, with all facts as its evidence. Raises KeyError for a fact that
        the texts tell and that is missing."""
        evidence = {name: _listed(value) for name, value in facts.items()}
        if self.source is not None:
            evidence["source"] = self.source
        message, fix = self.texts(fix, evidence)
        code = self.code.partition("/")[0]
        return Finding(code, self.severity, path + self.at, message, evidence, fix)

    def texts(self, fix: str | None, facts: Mapping[str, object]) -> tuple[str, str | None]:
        """Message and fix with their facts; a fix that is given replaces the row's."""
        if fix is None and self.fix is not None:
            fix = filled(self.fix, facts)
        return filled(self.message, facts), fix


class Writer(Protocol):
    """Writes findings of one folder."""

    def __call__(
        self, row: str, path: str = "", *, fix: str | None = None, **facts: object
    ) -> Finding:
        """The finding of a row.

        Args:
            row: Its `code`.
            path: The place that the rule looked at; the row's `at` follows. Default: the whole.
            fix: What to write instead, as it is shown. Default: the row's, with its facts.
            facts: What the texts tell, and more evidence; text, number, or several of them.
        """
        ...


def findings_in(file: str) -> Writer:
    """The writer of findings for the modules of a folder, of which `file` is one."""
    folder = Path(file).parent

    def written(row: str, path: str = "", *, fix: str | None = None, **facts: object) -> Finding:
        return rows_of(folder)[row].finding(path, fix, facts)

    return written


@cache
def rows_of(folder: Path) -> Mapping[str, FindingRow]:
    """The rows of a folder by code. Raises ValueError for two rows of one code."""
    text = (folder / "findings.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    table = {
        row["code"]: FindingRow(**{**row, "severity": Severity(row.get("severity", "error"))})
        for row in rows
    }
    if len(table) < len(rows):
        raise ValueError(f"{folder}: two rows have one code")
    return table


def filled(text: str, facts: Mapping[str, object]) -> str:
    """A text with its facts; several values are separated by commas."""

    def shown(found: re.Match[str]) -> str:
        value = facts[found[1]]
        if found[2]:
            return repr(value)
        if isinstance(value, list | tuple):
            return ", ".join(f"{item}" for item in cast("Iterable[object]", value))
        return f"{value}"

    return FACT.sub(shown, text)


def _listed(value: object) -> object:
    """What JSON can hold: amounts of money are text, sets are lists in order."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return cast("object", value)
    several = cast("Iterable[Any]", value)
    return sorted(several) if isinstance(value, frozenset | set) else list(several)
