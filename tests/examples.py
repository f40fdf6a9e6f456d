"""How much of a table, or of what hypothesis draws, is tried: a part of it with every commit.

`make nightly` sets GPUFLEET_ALL_EXAMPLES and runs every test with all of it.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
ALL = bool(os.environ.get("GPUFLEET_ALL_EXAMPLES"))
PART = 4
"""One of so many is tried with every commit."""


def examples(count: int) -> int:
    """Number of examples that are drawn; never fewer than 20, unless `count` is."""
    return count if ALL else min(count, max(20, count // PART))


def part(items: Sequence[Item], seed: int = 0) -> Sequence[Item]:
    """One of `PART` items; another seed gives others. All of them at night."""
    return items if ALL else items[seed % PART :: PART]
