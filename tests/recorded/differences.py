"""The comparison of a recording with the tree of today, and the differences that are allowed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tests.recorded.programs import RECORDINGS

_MOST_SHOWN = 40
"""Differences that a failed test shows."""


@dataclass(frozen=True)
class Allowed:
    """A difference from the recording that is meant."""

    part: str
    """`render`, `compile`, `plan` or `resources`."""
    recording: str
    """Name of the recording; a pattern with `*`."""
    place: str
    """Place in the document, as a failed test shows it; a pattern with `*`."""
    why: str
    """Reason, and what a user has to do about it."""


def dumped(document: dict[str, Any]) -> str:
    """The text of a recording: a line for each key of the document."""
    lines = [
        f"{json.dumps(key)}: {json.dumps(document[key], sort_keys=True, ensure_ascii=False)}"
        for key in sorted(document)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def recording(part: str, name: str) -> Any:
    """One recorded document."""
    return json.loads((RECORDINGS / part / f"{name}.json").read_text(encoding="utf-8"))


def recordings(part: str) -> list[str]:
    """Names of the documents of a part."""
    return sorted(file.stem for file in (RECORDINGS / part).glob("*.json"))


def differences(part: str, name: str, found: Any, allowed: tuple[Allowed, ...] = ()) -> list[str]:
    """Every place whose value differs from the recording, without the allowed ones."""
    old, new = dict(_leaves(recording(part, name))), dict(_leaves(json.loads(dumped(found))))
    shown = [
        f"{place}: {_shown(old, place)} -> {_shown(new, place)}"
        for place in sorted(old.keys() | new.keys())
        if old.get(place, ...) != new.get(place, ...)
        and not any(
            fnmatchcase(part, one.part)
            and fnmatchcase(name, one.recording)
            and fnmatchcase(place, one.place)
            for one in allowed
        )
    ]
    more = len(shown) - _MOST_SHOWN
    return [*shown[:_MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Place -> value of every scalar and every empty object or list."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{place}/{key}")
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, f"{place}/{number}")
    else:
        yield place, value


def _shown(leaves: dict[str, Any], place: str) -> str:
    return json.dumps(leaves[place], ensure_ascii=False) if place in leaves else "nothing"
