"""Refusals beyond the definition: by the server in claims of devices, and by the code of operators
and their webhooks. `refusals.jsonl` has a row, with its source, for each refusal.

A row has `kinds` (group or API version, and kind), `at` (paths, as `values_at` reads them) and a
`rule`, an expression of CEL about `self`, the value there, and `object`, the whole; what it cannot
evaluate is not refused. A rule about each value of a mapping has `{}` in its path: with `all`, the
order of keys decides. `says` is what is wrong (`{found}` the value), `path` where below `at` and
`by` who refuses it. With `since`, the first release that does, it is advice: objects do not say
which release reads them; so it is with `does`, what is done with it in place of a refusal.
`needs`: something is missing, which a patch may leave to its base. `code` is the code of a finding
where its family has that rule. Configurations of programs are kinds of the version `config`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.contract.programs.dra_cel_functions import cel, compiled, functions
from gpufleet.contract.programs.go_json import json_problem
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, visible
from gpufleet.documents.paths import at_steps, values_at
from gpufleet.documents.shapes import as_mapping


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
    about = _rows(str(document.get("apiVersion")), str(document.get("kind")))
    written = _keys(document) if about else set[str]()
    held: dict[str, list[tuple[tuple[str | int, ...], Any]]] = {}
    contexts: dict[tuple[Any, ...], Any] = {}  # making one for CEL is slow
    for row, path, needed in (one for one, keys in about if keys <= written):
        if path not in held:
            held[path] = values_at(document, path)
        for steps, value in held[path]:
            if not all(len(values_at(value, keys)) >= least for keys, least in needed):
                continue
            called = _called(row["rule"])
            key = (id(value), "object" in row["rule"], *called)
            if key not in contexts:
                names = {"self": value, **({"object": document} if key[1] else {})}
                contexts[key] = cel().Context(names, called)
            if _is_refused(row["rule"], contexts[key]):
                place = (*steps, *_there(value, row.get("path", "")))
                by = row["by"] + (f" {row['since']} and later" if "since" in row else "")
                kinds = SchemaProblemKind
                advice = kinds.REFUSED if {"since", "does"} & {*row} else kinds.CONDITION
                what = kinds.REQUIRED if "needs" in row else advice
                found = visible(document, place, at_steps(document, place))
                message = f"{row['says'].format(found=found)}; {by} {row.get('does', 'refuses it')}"
                fix, code = row.get("fix"), row.get("code", "")
                yield SchemaProblem(what, message, fix, place, found, code=code)


@cache
def _called(rule: str) -> dict[str, Callable[..., Any]]:
    own: dict[str, Callable[[str], bool]] = {"isJson": lambda text: json_problem(text) is None}
    return functions(rule) | (own if "isJson" in rule else {})


_Needed = tuple[tuple[Sequence[str], int], ...]
_Row = tuple[Mapping[str, Any], str, _Needed]


@cache
def _rows(version: str, kind: str) -> Sequence[tuple[_Row, frozenset[str]]]:
    """Each row and path for a kind, with what `_needed` has for it, and all keys of these paths."""
    found: list[tuple[_Row, frozenset[str]]] = []
    for group in (version.rpartition("/")[0], version):
        for row in refusals().get(f"{group}/{kind}", ()):
            needed = _needed(row["rule"])
            for path in row["at"]:
                words = [*path.split("."), *(word for below, _ in needed for word in below)]
                keys = frozenset(word.rstrip("[]{}") for word in words)
                found.append(((row, path, needed), keys - {""}))
    return found


def _keys(value: Any) -> set[str]:
    """The keys of all mappings in a value."""
    found: set[str] = set(as_mapping(value) or ())
    for one in value.values() if found else value:
        if type(one) in (dict, list):
            found |= _keys(one)
    return found


_NEEDED = re.compile(
    r"!(?P<not>\()?(?:has\()?self\.(?P<at>[\w.]+?)"
    r"(?:(?:\[0\]|(?P<any>\.exists\(\w+, has\(\w+))\.(?P<item>\w+))?\)"
    r"(?(not) && [^|]*\)|(?(any) && [^|]*\)))"
    r"|!\('(?P<key>[^']+)' in self(?P<map>[\w.]*)\)"
    r"|self\.(?P<list>\w+)\.all\(\w+, !has\(\w+\.(?P<each>[\w.]+)\)(?: \|\| .*)?\)"
    r"|size\(self\.(?P<two>\w+)\) < 2"
)
"""An alternative of a rule that holds, or cannot be evaluated, where something is absent."""


def _needed(rule: str) -> _Needed:
    """Keys below `self`, and the least number of values there, without any of which no object
    breaks a rule: it is not evaluated then."""
    parts, depth = [""], 0
    for word in re.findall(r"'[^']*'|\|\||[()?]|[^'|()?]+", rule):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "?" and not depth:
            return ()
        if word == "||" and not depth:
            parts.append("")
        else:
            parts[-1] += word
    found = [one for part in parts if (one := _NEEDED.fullmatch(part.strip()))]
    of_lists = [(one["at"] or one["list"], one["item"] or one["each"]) for one in found]
    return tuple(
        ([f"{one['two']}[]"], 2)
        if one["two"]
        else ([*one["map"].split(".")[1:], one["key"]], 1)
        if one["key"]
        else ("[].".join(filter(None, path)).split("."), 1)
        for one, path in zip(found, of_lists, strict=True)
    )


def _is_refused(rule: str, context: Any) -> bool:
    try:
        return compiled(rule).execute(context) is False
    except (KeyError, RuntimeError, TypeError, ValueError):
        return False


def _there(value: Any, path: str) -> Iterator[str]:
    """The steps of a path, as far as they exist."""
    for key in filter(None, path.split(".")):
        if (value := (as_mapping(value) or {}).get(key)) is None:
            return
        yield key
