"""VsphereError: the error for a machine that cannot be made, changed or removed."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from gpufleet.findings.row_rules import holds


@dataclass(eq=False)
class VsphereError(Exception):
    """One failure in one paragraph: fact, place, fix, and vCenter's name of the fault.

    Never holds a password, user data or a SOAP dump.
    """

    code: str
    """Kind of failure, stable for scripts and documentation: `vsphere-` with the first part of the
    name of its row in `failures.jsonl`."""
    summary: str
    """What was found and which limit it breaks, with the names of the objects."""
    remedy: str = ""
    """Action for the user. Default: no suggestion."""
    fault: str = ""
    """vCenter's type name of the fault. Default: vCenter raised none."""
    left: str = ""
    """What exists now because the work stopped here. Default: nothing was left."""

    def __str__(self) -> str:
        parts = [f"{self.code}: {self.summary}"]
        parts += [self.left] if self.left else []
        parts += [f"fix: {self.remedy}"] if self.remedy else []
        parts += [f"[{self.fault.rpartition('.')[2]}]"] if self.fault else []
        return " ".join(part if part.endswith((".", "]", "?")) else part + "." for part in parts)

    def with_left(self, left: str) -> "VsphereError":
        """The same failure, with a text of what exists now because of it."""
        return replace(self, left=left)


@cache
def rows_of(table: str, of: str = "") -> Mapping[str, Mapping[str, Any]]:
    """The rows of a table of texts of this package, by their names: of a group, or all."""
    text = Path(__file__).with_name(f"{table}.jsonl").read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines())
    return {row["row"]: row for row in rows if of in ("", row.get("of"))}


def failed(row: str, *, fault: str = "", left: str = "", **facts: object) -> VsphereError:
    """The failure of a row of `failures.jsonl`, which has the texts: each is written once.

    Args:
        row: Its name: the code without `vsphere-`, and after `/` the variant of its texts.
        fault: vCenter's type name of the fault. Default: vCenter raised none.
        left: What exists now because the work stopped here. Default: the text of the row.
        facts: Values in the texts.
    """
    code = f"vsphere-{row.partition('/')[0]}"
    message, fix, stays = (said(row, part, **facts) for part in ("message", "fix", "left"))
    return VsphereError(code, message, fix, fault, left or stays)


def said(row: str, part: str = "message", **facts: object) -> str:
    """One text of a row, with its facts; empty: the row has none.

    Args:
        row: Its name.
        part: `message`, `fix` or `left`. Default: the message.
        facts: Values in the text; of a sequence the text has all values with commas, or `none`.
    """
    return _filled(rows_of("failures")[row].get(part, ""), facts)


def holding(of: str, table: str = "failures", **facts: Any) -> list[Mapping[str, str]]:
    """The rows of a group (`of`) whose conditions hold, with the facts in their texts. `when` is as
    in `gpufleet.findings.row_rules`; of the fact that `each` names, each entry is examined, as
    `one`."""
    found: list[Mapping[str, str]] = []
    for row in rows_of(table, of).values():
        for one in facts.get(row.get("each", ""), (None,)):
            known = {**facts, "one": one}
            if holds(row["when"], known):
                texts = row.keys() & {"message", "fix", "found"}
                found.append({**row, **{key: _filled(row[key], known) for key in texts}})
    return found


def _filled(text: str, facts: Mapping[str, object]) -> str:
    several = {
        name: ", ".join(map(str, cast("Sequence[object]", fact))) or "none"
        for name, fact in facts.items()
        if isinstance(fact, (list, tuple))
    }
    return text.format_map({**facts, **several})


def near(wanted: str, names: Iterable[str]) -> str:
    """`; near: gpu-a, gpu-b`, for a name that does not exist; empty: no name is similar."""
    found = difflib.get_close_matches(wanted, sorted(set(names)), n=3, cutoff=0.5)
    return f"; near: {', '.join(found)}" if found else ""


class OutcomeUnknownError(Exception):
    """A call that changes something lost its answer: it may or may not have been carried out.

    Never shown: the caller reads the current state and continues from it.
    """
