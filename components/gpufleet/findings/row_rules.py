"""Rules that fields alone decide: rows of `findings.jsonl` with `when`, besides those of `rows`.

* `of`: the name under which the rules of the folder ask for the row,
* `when`: path -> what its value must be, for each; a list of such mappings: one of them must hold,
* `each`: path of a list whose entries are examined one by one, as `one`; `#` in `at` is the index,
* `sets`: name -> entries of a list: `of` is its path, `when` what holds for `one` of them,
* `chain`: of the rows with this name, only the first that holds is written, for each entry,
* `at` of such a row is below the examined place if it begins with a dot or a bracket; `place` is
  the path of another place,
* `values`: fact of the texts -> its path, a list of paths, or `{"is": value}`.

A path names a subject and its fields: `pool.nodes.minimum`. `0` is an entry of a list, `*` each of
them, `#` their number. What lies below a field that is not set is null. A condition is a value, a
list of allowed values, or a mapping of tests (`TESTS`, `not` and `given`), which must all hold; a
text that begins with `=` is another path. Of `*` one entry must pass; with `not` none may be equal.
Null is a value for `is`, `not` and `given` alone. No other test, and no negated one (`not above`),
holds for null or for a limit that is null: what is not known is not a violation. Of no entries none
passes, which is known.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, cast

from gpufleet.findings.finding import Finding
from gpufleet.findings.rows import FindingRow, rows_of

Subjects = Mapping[str, object]
Cases = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def _comparable(found: Any) -> Any:
    """A number; of a version, which is a tuple, the list that a row has."""
    return list(cast("tuple[Any, ...]", found)) if isinstance(found, tuple) else found


TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "is": lambda found, wanted: found in (wanted if isinstance(wanted, list | tuple) else [wanted]),
    "other": lambda found, wanted: not TESTS["is"](found, wanted),
    "above": lambda found, limit: _comparable(found) > limit,
    "below": lambda found, limit: _comparable(found) < limit,
    "starts": lambda found, wanted: str(found).startswith(tuple(wanted)),
    "matches": lambda found, pattern: re.search(pattern, str(found)) is not None,
    "given": lambda found, wanted: bool(found) is wanted,
}
"""Test of one value; `other`: it is not among those; `matches`: a part of it matches a regular
expression; `given`: it is true and not empty."""


class _Several(list[Any]):
    """Values of all entries of a list."""


@dataclass(frozen=True, slots=True)
class RowRules:
    """Evaluates the rules of one folder."""

    folder: Path

    def __call__(self, of: str, path: str = "", **subjects: object) -> Iterator[Finding]:
        """A finding of each row with this `of` whose conditions hold.

        Args:
            of: Name of the group of rows.
            path: The place that the rules examine.
            subjects: What the paths begin with, by name.
        """
        chains: set[tuple[str, int]] = set()
        for row in _group(self.folder, of):
            sets = {name: _chosen(subjects, part) for name, part in row.sets.items()}
            named = {**subjects, **sets}
            entries: Sequence[object] = value_of(named, row.each) or () if row.each else (None,)
            for index, one in enumerate(entries):
                known = {**named, "one": one}
                if (row.chain, index) in chains or not holds(row.when, known):
                    continue
                if row.chain:
                    chains.add((row.chain, index))
                facts = {name: _fact(known, of_fact) for name, of_fact in row.values.items()}
                below = row.at[:1] in ("", ".", "[")
                place = value_of(known, row.place) if row.place else path if below else ""
                yield row.finding(place, None, facts, index)


def rules_in(file: str) -> RowRules:
    """The rules of a folder, of whose modules `file` is one."""
    return RowRules(Path(file).parent)


def _chosen(subjects: Subjects, part: Mapping[str, Any]) -> list[Any]:
    """The entries of a list for which conditions hold; those of a set in order."""
    found: Any = value_of(subjects, part["of"]) or ()
    entries = sorted(cast("set[Any]", found)) if isinstance(found, set) else found
    return [one for one in entries if holds(part["when"], {**subjects, "one": one})]


@cache
def _group(folder: Path, of: str) -> Sequence[FindingRow]:
    """Its rows. Raises KeyError if there are none."""
    if rows := [row for row in rows_of(folder).values() if row.of == of]:
        return rows
    raise KeyError(of)


def holds(when: Cases, subjects: Subjects) -> bool:
    """Whether all conditions of one case hold."""
    cases = [when] if isinstance(when, dict) else cast("Sequence[Mapping[str, Any]]", when)
    return any(all(_passes(subjects, path, test) for path, test in one.items()) for one in cases)


def _passes(subjects: Subjects, path: str, condition: Any) -> bool:
    found = value_of(subjects, path)
    entries: list[Any] = found if isinstance(found, _Several) else [found]
    known = [one for one in entries if one is not None]
    tests = cast("dict[str, Any]", condition if isinstance(condition, dict) else {"is": condition})
    for name, limit in tests.items():
        wanted = limit
        if isinstance(limit, str) and limit.startswith("="):
            wanted = value_of(subjects, limit[1:])
        test, negated, of_null = _test(name)
        if not of_null and (wanted is None or (entries and not known)):
            return False
        if any(test(one, wanted) for one in (entries if of_null else known)) is negated:
            return False
    return True


@cache
def _test(written: str) -> tuple[Callable[[Any, Any], bool], bool, bool]:
    name = written.removeprefix("not").strip() or "is"
    return TESTS[name], written.startswith("not"), name in ("is", "given")


def _fact(subjects: Subjects, written: Any) -> object:
    if isinstance(written, Mapping):
        return cast("Mapping[str, object]", written)["is"]
    if isinstance(written, list):
        return [value_of(subjects, path) for path in cast("list[str]", written)]
    found = value_of(subjects, written)
    return found.isoformat() if isinstance(found, datetime) else found


def value_of(subject: Any, path: str) -> Any:
    """The value at a path. Raises AttributeError for a field that a class does not have."""
    return _found(subject, _names(path))


@cache
def _names(path: str) -> Sequence[str]:
    return path.split(".")


@cache
def _form(kind: type[Any]) -> str:
    """How a path continues below a value of this type."""
    if issubclass(kind, list | tuple | set | frozenset | Mapping):
        other = "mapping" if issubclass(kind, Mapping) else "set"
        return "list" if issubclass(kind, list | tuple) else other
    return (
        "leaf" if issubclass(kind, int | float | str) and not issubclass(kind, Enum) else "fields"
    )


def _found(subject: Any, names: Sequence[str]) -> Any:
    for place, name in enumerate(names):
        form = _form(subject.__class__)
        if name == "*":
            entries = subject if form in ("list", "set") else ()
            return _Several(_found(one, names[place + 1 :]) for one in entries)
        if name == "#":
            return len(subject) if form in ("list", "mapping", "set") else None
        if name.isdigit():
            subject = subject[int(name)] if form == "list" and int(name) < len(subject) else None
        elif form == "mapping":
            subject = subject.get(name)
        else:
            subject = getattr(subject, name) if form == "fields" else None
        if subject is None:
            return None
    return subject.value if isinstance(subject, Enum) else subject
