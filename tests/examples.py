"""Part of a table, or of hypothesis' examples, that is tried: a part of it with every commit.

`make nightly` sets GPUFLEET_ALL_EXAMPLES and runs every test with all of it. A table whose file
changed is tried as a whole.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

Item = TypeVar("Item")
ALL = bool(os.environ.get("GPUFLEET_ALL_EXAMPLES"))
PART = 4
"""One of this number is tried with every commit."""


def examples(count: int) -> int:
    """Number of examples that are drawn; never fewer than 20, unless `count` is."""
    return count if ALL else min(count, max(20, count // PART))


def part(items: Sequence[Item], seed: int = 0) -> Sequence[Item]:
    """One of `PART` items; another seed gives others. All of them at night."""
    return items if ALL else items[seed % PART :: PART]


def sweep(items: Sequence[Item], *tables: str, seed: int = 0) -> Sequence[Item]:
    """`part` of a table's rows; all of them if a file has changed that one of `tables` names.

    `tables` are ends of paths, patterns too: the table, and code that reads little else.
    """
    return items if has_changed(*tables) else part(items, seed)


def at_night(*rows: Any, changed: str = "") -> list[Any]:
    """Parameters of a test that only `make nightly` tries, or a commit that changed a file.

    Args:
        rows: One value each, or a tuple with one for each name.
        changed: End of the path of a file; a pattern too. Empty: at night alone.
    """
    if changed and has_changed(changed):
        return list(rows)
    marks = pytest.mark.nightly
    return [pytest.param(*(r if isinstance(r, tuple) else (r,)), marks=marks) for r in rows]


def has_changed(*files: str) -> bool:
    """Whether a file has changed whose path ends as one of `files`; also if Git cannot tell.

    Args:
        files: Ends of paths, patterns too. One that ends with `/` is a folder: all that is in it.
    """
    found = changed_files()
    return found is None or any(is_named(one, end) for one in found for end in files)


def is_named(path: str, end: str) -> bool:
    """Whether a path of the repository ends as `end`, or is in a folder that ends so."""
    return pattern(end).search(path) is not None


@cache
def pattern(end: str) -> re.Pattern[str]:
    """Of a path's end, in which `*` is any part of one name."""
    text = "[^/]*".join(re.escape(word) for word in end.split("*"))
    return re.compile(f"(?:^|/){text}{'' if end.endswith('/') else '$'}")


@cache
def changed_files() -> frozenset[str] | None:
    """Files that differ from the commit before the last, or from that which GPUFLEET_SINCE names;
    None if Git does not know."""
    git = ["git", "-C", str(Path(__file__).parent.parent)]
    answers = [
        subprocess.run([*git, *words], capture_output=True, text=True, check=False)
        for words in (
            ["diff", "--name-only", os.environ.get("GPUFLEET_SINCE") or "HEAD~1"],
            ["ls-files", "--others", "--exclude-standard"],
        )
    ]
    if any(one.returncode != 0 for one in answers):
        return None
    return frozenset(line for one in answers for line in one.stdout.splitlines())
