"""AdmissionCheck: one rule as CEL, over one kind of target."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpufleet.findings import Level
from gpufleet.rules.context import Thresholds
from gpufleet_policies.fronts.admission.targets import AdmissionTarget


@dataclass(frozen=True, slots=True)
class Constants:
    """Data that a cluster cannot look up: expressions hold its value at generation."""

    thresholds: Thresholds = field(default_factory=Thresholds)


Expression = str | Callable[[AdmissionTarget, Constants], str]
"""CEL; a function where it depends on target or thresholds."""


def cel(expression: Expression, target: AdmissionTarget, constants: Constants) -> str:
    """The text of an expression for one target."""
    return expression if isinstance(expression, str) else expression(target, constants)


@dataclass(frozen=True, slots=True)
class ObjectCheck:
    """A rule that one object decides. Exactly one of `container` and `offence` is given."""

    rule: str
    targets: tuple[AdmissionTarget, ...]
    container: Expression | None = None
    """CEL over a container `c` among the pod's GPU containers `cs`: true where it breaks the
    rule."""
    offence: Expression | None = None
    """CEL over `object`: true where it breaks the rule; empty: the settings request nothing."""
    while_stopped: bool = True
    """Whether it counts although no pod of it runs."""
    init_containers: bool = True
    at_most: Level = Level.MANDATORY
    """Caps the level of the rule where the expression has weaker evidence than the rule."""


def quoted(text: str) -> str:
    """A CEL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def listed(texts: Any) -> str:
    """A CEL list of string literals."""
    return "[" + ", ".join(quoted(text) for text in texts) + "]"
