"""An object that each rule reports, the change that fixes it, and what is reported.

The texts are in `rule_examples.json` next to this file. `make generate` writes it from the case
tables of the tests, so that each example is one that was seen to fail and to pass.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A bad object, and how it becomes a good one."""

    bad: str
    """YAML of the object that is reported; empty where it is too long to be shown."""
    message: str
    """Message about the bad object."""
    change: str = ""
    """Lines of a unified diff from the bad object to a good one."""
    good: str = ""
    """A good document, where it is short enough to be shown whole."""
    given: str = ""
    """Options and context of `gpufleet check` for the example."""


@cache
def rule_examples() -> Mapping[str, RuleExample]:
    """Rule id -> its example."""
    return {rule: RuleExample(**one) for rule, one in json.loads(FILE.read_bytes()).items()}
