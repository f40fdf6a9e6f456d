"""Your own rules: Python files with functions that carry `@rule`.

    # rules/cost_centre.py
    from gpufleet_policies.own_rules import Level, RuleContext, WorkloadFacts, finding, rule

    @rule(
        "team-cost-centre-missing",
        "A GPU workload without the label cost-centre.",
        subject=WorkloadFacts,
        dev=Level.ADVISORY,
        prod=Level.MANDATORY,
        source="our handbook, chapter 3",
    )
    def cost_centre(context: RuleContext, workload: WorkloadFacts):
        if "cost-centre" not in workload.labels:
            yield finding(
                where="metadata.labels",
                found="has no label cost-centre",
                limit="GPU cost is booked by it",
                alternative="add it",
            )

`gpufleet audit --rules-dir rules` and a policy pack (`load_own_rules` before `start`) apply them.
What is imported here is the interface of own rules; other modules of this package may change.
"""

import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from gpufleet.cluster import FleetFacts, WorkloadFacts
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.queues import ClusterQueue
from gpufleet.findings import Level, finding
from gpufleet.messages import one_line
from gpufleet.rules.context import RuleContext
from gpufleet.rules.rule import Rule, rule
from gpufleet_policies.rules.registry import add_rules, by_id

__all__ = [
    "ClusterQueue",
    "FleetFacts",
    "Level",
    "NodePool",
    "OwnRulesError",
    "RuleContext",
    "WorkloadFacts",
    "finding",
    "load_own_rules",
    "rule",
]

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


class OwnRulesError(ValueError):
    """Files of own rules are wrong; the text has a line for each problem."""


def load_own_rules(folder: Path) -> tuple[Rule, ...]:
    """Read the rules of every `.py` file of a folder, and apply them from now on.

    Files whose names begin with `_` hold helpers, which rule files import by their name. The files
    are programs, and run with the rights of the caller.

    Raises OwnRulesError with every problem at once; no rule is added then.
    """
    if not folder.is_dir():
        raise OwnRulesError(one_line(f"{folder}: no such folder of rules"))
    files = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    problems: list[str] = [] if files else [f"{folder}: holds no .py file with rules"]
    found: list[tuple[Path, Rule]] = []
    sys.path.insert(0, str(folder.resolve()))
    try:
        for path in files:
            try:
                rules = _rules_of(path)
            except Exception as error:  # noqa: BLE001 - whatever a file of rules does
                problems.append(_broken(path, error))
                continue
            if not rules:
                problems.append(f"{path}: holds no rule; decorate a function with @rule")
            found += [(path, one) for one in rules]
    finally:
        sys.path.remove(str(folder.resolve()))
    problems += _wrong(found)
    if problems:
        raise OwnRulesError("\n".join(map(one_line, problems)))
    rules = tuple(one for _, one in found)
    add_rules(rules)
    return rules


def _rules_of(path: Path) -> list[Rule]:
    name = f"gpufleet_own_rules.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [value for value in vars(module).values() if isinstance(value, Rule)]


def _broken(path: Path, error: Exception) -> str:
    """The file, the line in it, and Python's error."""
    if isinstance(error, SyntaxError):
        return f"{path}:{error.lineno}: {error.msg}"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == path.resolve()
    ]
    place = f"{path}:{lines[-1]}" if lines else str(path)
    return f"{place}: {type(error).__name__}: {error}"


def _wrong(found: list[tuple[Path, Rule]]) -> Iterator[str]:
    """Errors of the rules themselves."""
    places: dict[str, Path] = {}
    for path, one in found:
        if not _ID.fullmatch(one.id):
            yield f"{path}: the id {one.id!r} is not written like team-rule-name"
        known = by_id().get(one.id)
        own = getattr(one.check, "__module__", "")
        if known is not None and getattr(known.check, "__module__", "") != own:
            yield f"{path}: the id {one.id!r} is that of a rule of gpufleet; choose another"
        elif one.id in places:
            yield f"{path}: the id {one.id!r} is in {places[one.id]} too"
        places.setdefault(one.id, path)
        for name in ("sentence", "source"):
            if not getattr(one, name).strip():
                yield f"{path}: rule {one.id} has no {name}"
