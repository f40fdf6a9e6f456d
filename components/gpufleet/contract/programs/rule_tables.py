"""Rules about values and configurations of programs: rows of the files in this folder."""

from functools import cache
from pathlib import Path

from gpufleet.rules.rows import written_rules
from gpufleet.rules.rule import Rule


@cache
def rules_in(*names: str) -> tuple[Rule, ...]:
    """The rules of `<name>_rules.jsonl`, for each of the names in order."""
    files = (Path(__file__).with_name(f"{name}_rules.jsonl") for name in names)
    return tuple(rule for file in files for rule in written_rules(file))
