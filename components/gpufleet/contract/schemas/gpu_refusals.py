"""Refusals beyond the definition: by the server in claims of devices, and by the code of operators
and their webhooks. `refusals.jsonl` has a row, with its source, for each refusal.

A row has `kinds` (group or API version, and kind), `at` (paths, as `values_at` reads them) and a
`rule`, an expression of CEL about `self`, the value there, and `object`, the whole; what it cannot
evaluate is not refused. A rule about each value of a mapping has `{}` in its path: with `all`, the
order of keys decides. `says` is what is wrong (`{found}` the value), `path` where below `at` and
`by` who refuses it. With `since`, chart and first release that does, it is advice: objects do not
say which release reads them; so it is with `does`, what is done with it in place of a refusal.
`needs`: something is missing, which a patch may leave to its base. `code` is the code of a finding
where its family has that rule. Configurations of programs are kinds of the version `config`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from gpufleet.contract.programs.dra_cel_functions import cel, compiled, functions
from gpufleet.contract.programs.go_json import json_problem
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, visible
from gpufleet.documents.paths import at_steps, values_at
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
    read_as = str(document.get("apiVersion")), str(document.get("kind"))
    for path, rows in _rows(*read_as).items():
        for steps, value in values_at(document, path):
            variables = {"self": value, "object": document}
            for row, needed in rows:
                if any(len(values_at(value, keys)) < least for keys, least in needed):
                    continue
                read = json.dumps(_part(variables, _read_by(row["rule"])), default=str)
                if _is_refused(row["rule"], read):
                    place = (*steps, *_there(value, row.get("path", "")))
                    since: Mapping[str, str] = row.get("since", {})
                    by = " ".join([row["by"], *(f"{one} and later" for one in since.values())])
                    advice = "REFUSED" if {"since", "does"} & {*row} else "CONDITION"
                    kind = SchemaProblemKind["REQUIRED" if "needs" in row else advice]
                    found = visible(document, place, at_steps(document, place))
                    says, does = row["says"].format(found=found), row.get("does", "refuses it")
                    said, fix, code = f"{says}; {by} {does}", row.get("fix"), row.get("code", "")
                    yield SchemaProblem(
                        kind, said, fix, place, found, code=code, since=since or None
                    )


_Needed = tuple[tuple[tuple[str, ...], int], ...]


@cache
def _rows(version: str, kind: str) -> Mapping[str, Sequence[tuple[Mapping[str, Any], _Needed]]]:
    """Path -> the rows for a kind there, each with what `_needed` has for it."""
    found: dict[str, list[tuple[Mapping[str, Any], _Needed]]] = {}
    for group in (version.rpartition("/")[0], version):
        for row in refusals().get(f"{group}/{kind}", ()):
            for path in row["at"]:
                found.setdefault(path, []).append((row, _needed(row["rule"])))
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
        ((f"{one['two']}[]",), 2)
        if one["two"]
        else ((*one["map"].split(".")[1:], one["key"]), 1)
        if one["key"]
        else (tuple("[].".join(filter(None, path)).split(".")), 1)
        for one, path in zip(found, of_lists, strict=True)
    )


@lru_cache(maxsize=4096)
def _is_refused(rule: str, variables: str) -> bool:
    """Whether an expression is false of the variables, in JSON. Containers of one repository repeat
    most of what a rule reads, and to convert values for CEL is slow."""
    own: dict[str, Callable[[str], bool]] = {"isJson": lambda text: json_problem(text) is None}
    called = functions(rule) | (own if "isJson" in rule else {})
    context = cel().Context(json.loads(variables), called)
    try:
        return compiled(rule).execute(context) is False
    except (KeyError, RuntimeError, TypeError, ValueError):
        return False


_VARIABLE = re.compile(r"(has\()?(?<![\w.])(self|object)((?:\.\w+|\[0\])*)([()]?)")


@cache
def _read_by(rule: str) -> dict[str, Any]:
    """The variables and keys that an expression reads, each with the keys below it. Nothing is
    below what is read as a whole; None: whether it is there is read, not the value."""
    whole: dict[tuple[str, ...], bool] = {}
    for asked, name, keys, after in _VARIABLE.findall(rule):
        path = (name, *re.findall(r"\w+|\[0\]", keys)[: -1 if after == "(" else None])
        whole[path] = whole.get(path, False) or not (asked and after == ")")
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
    if is_list(value) and "[0]" in read:
        return [_part(one, read["[0]"]) for one in value[:1]]
    if not read or not is_mapping(value):
        return value
    return {key: _part(value[key], below) for key, below in read.items() if key in value}


def _there(value: Any, path: str) -> Iterator[str]:
    """The steps of a path, as far as they exist."""
    for key in filter(None, path.split(".")):
        if (value := (as_mapping(value) or {}).get(key)) is None:
            return
        yield key
