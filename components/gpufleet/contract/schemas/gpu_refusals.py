"""Refusals beyond the definition: by the server in claims of devices, and by the code of operators
and their webhooks. `refusals.jsonl` has a row, with its source, for each refusal.

A row has `kinds` (group or API version, and kind), `at` (paths, as `values_at` reads them) and a
`rule`, an expression of CEL about `self`, the value there, and `object`, the whole; what it cannot
evaluate is not refused, nor what lacks a path of `has` below `self`. A rule about each value of a
mapping has `{}` in its path: with `all`, the order of keys decides. `says` is what is wrong
(`{found}` the value), `path` where below `at` and `by` who refuses it. With `since`, chart and
first release that does, it is advice: objects do not say which release reads them; so it is with
`does`, what is done with it in place of a refusal. `needs`: something is missing, which a patch may
leave to its base. `code` is the code of a finding where its family has that rule. Configurations of
programs are kinds of the version `config`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from gpufleet.contract.programs.dra_cel_functions import cel, compiled, functions
from gpufleet.contract.programs.go_json import json_problem
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, visible
from gpufleet.documents.paths import Steps, at_steps, value_at, values_at
from gpufleet.documents.shapes import as_mapping, is_list, is_mapping


@cache
def refusals() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Group or API version, and kind, of an object -> the rows about it."""
    text = Path(__file__).with_name("refusals.jsonl").read_text(encoding="utf-8")
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in map(json.loads, text.splitlines()):
        for kind in row["kinds"]:
            found.setdefault(kind, []).append(row)
    return found


def refused_by_code(document: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    """The problems of an object that is valid by its definition and has no nulls."""
    root = _places(str(document.get("apiVersion")), str(document.get("kind")))
    for place, steps, value in sorted(_reached(root, (), document), key=lambda one: one[0].order):
        for row, needed in place.rows:
            if any(value_at(value, below) is None for below in needed):
                continue
            read = _part({"self": value, "object": document}, _read_by(row["rule"]))
            if _is_refused(row["rule"], json.dumps(read, default=str)):
                where = (*steps, *_there(value, row.get("path", "")))
                since: Mapping[str, str] = row.get("since", {})
                by = " ".join([row["by"], *(f"{one} and later" for one in since.values())])
                advice = "REFUSED" if {"since", "does"} & {*row} else "CONDITION"
                kind = SchemaProblemKind["REQUIRED" if "needs" in row else advice]
                found = visible(document, where, at_steps(document, where))
                says, does = row["says"].format(found=found), row.get("does", "refuses it")
                said, fix, code = f"{says}; {by} {does}", row.get("fix"), row.get("code", "")
                yield SchemaProblem(kind, said, fix, where, found, code=code, since=since or None)


_Row = tuple[Mapping[str, Any], Sequence[str | tuple[str, ...]]]


@dataclass(slots=True)
class _Place:
    """A place in the objects of a kind: the rows about it, each with the paths of its `has`, and
    the places below by key and step. `order` is that of the first row."""

    order: int = 0
    rows: list[_Row] = field(default_factory=list[_Row])
    below: dict[str, dict[str, "_Place"]] = field(default_factory=dict[str, dict[str, "_Place"]])


@cache
def _places(version: str, kind: str) -> _Place:
    """The root of the places of a kind that rows are about."""
    root, order = _Place(), 0
    for group in (version.rpartition("/")[0], version):
        for row in refusals().get(f"{group}/{kind}", ()):
            needed = [one if isinstance(one, str) else tuple(one) for one in row.get("has", ())]
            for path in row["at"]:
                here = root
                for step in path.split(".") if path else ():
                    here = here.below.setdefault(step.rstrip("[]{}"), {}).setdefault(step, _Place())
                here.order = here.order or (order := order + 1)
                here.rows.append((row, needed))
    return root


def _reached(place: _Place, steps: Steps, value: Any) -> Iterator[tuple[_Place, Steps, Any]]:
    """Places with rows that a value has, each with its steps and the value there."""
    if place.rows:
        yield place, steps, value
    for key, paths in place.below.items() if is_mapping(value) else ():
        for path, below in paths.items() if key in value else ():
            for more, held in values_at(value, path):
                yield from _reached(below, (*steps, *more), held)


@lru_cache(maxsize=4096)
def _is_refused(rule: str, variables: str) -> bool:
    """Whether an expression is false of the variables, in JSON. Containers of one repository repeat
    most of what a rule reads, and to convert values for CEL is slow."""
    own: dict[str, Callable[[str], bool]] = {"isJson": lambda text: json_problem(text) is None}
    called = functions(rule) | (own if "isJson" in rule else {})
    context = cel().Context(json.loads(variables), called)
    try:
        return compiled(rule).execute(context) is False
    except (LookupError, RuntimeError, TypeError, ValueError):
        return False


_USED = re.compile(
    r"(has\()?(?<![\w.])(\w+)((?:\.(?!(?:all|exists|exists_one)\(\w+,)\w+|\[0\])*)"
    r"(?:\.(?:all|exists|exists_one)\((\w+),|([()]))?"
)


@cache
def _read_by(rule: str) -> dict[str, Any]:
    """The variables and keys that an expression reads, each with the keys below; `[]`: an entry.
    Nothing is below what is read as a whole; None: only whether it is there is read."""
    # A variable of `all`, `exists` or `exists_one` is an entry of each list that has it.
    stands_for: dict[str, list[tuple[str, ...]]] = {one: [(one,)] for one in ("self", "object")}
    whole: dict[tuple[str, ...], bool] = {}
    for asked, name, keys, entry, after in _USED.findall(rule):
        below = re.findall(r"\w+|\[0\]", keys)[: -1 if after == "(" else None]
        for start in tuple(stands_for.get(name, ())):
            path = (*start, *below, *(["[]"] if entry else []))
            if entry:
                stands_for.setdefault(entry, []).append(path)
            whole[path] = whole.get(path, False) or not (entry or (asked and after == ")"))
    read: dict[str, Any] = {}
    for path in sorted(whole, key=len, reverse=True):
        if not any(whole.get(path[:length]) for length in range(1, len(path))):
            here = read
            for key in path[:-1]:
                here = here.setdefault(key, {})
            here.setdefault(path[-1], {} if whole[path] else None)
    return read


def _part(value: Any, read: Mapping[str, Any] | None) -> Any:
    """What an expression reads of a value."""
    if read is None:
        return True
    if is_mapping(value) and read:
        # A variable that stands for its entries is a key.
        keys = value if "[]" in read else read
        return {key: _part(value[key], read.get(key)) for key in keys if key in value}
    if is_list(value) and len(read) == 1 and (entries := next(iter(read))) in ("[]", "[0]"):
        return [_part(one, read[entries]) for one in (value if entries == "[]" else value[:1])]
    return value


def _there(value: Any, path: str) -> Iterator[str]:
    """The steps of a path, as far as they exist."""
    for key in filter(None, path.split(".")):
        if (value := (as_mapping(value) or {}).get(key)) is None:
            return
        yield key
