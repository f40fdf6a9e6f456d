"""AdmissionCheck: one rule as CEL, over one kind of target."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpufleet_policies.fronts.admission.targets import AdmissionTarget
from gpufleet_policies.rules.context import Thresholds
from gpufleet_policies.rules.rule import Level


@dataclass(frozen=True, slots=True)
class Constants:
    """What a cluster cannot look up: it is in the expressions as it was when they were made."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    gpus: tuple[str, ...] = ()
    """Kinds of GPUs of the fleet the settings name; empty: they name none."""
    queue: str = ""
    """LocalQueue that jobs without one are given; empty: none."""


Expression = Callable[[AdmissionTarget, Constants], str]


@dataclass(frozen=True, slots=True)
class ObjectCheck:
    """A rule that one object decides. Exactly one of `container` and `offence` is given."""

    rule: str
    targets: tuple[AdmissionTarget, ...]
    advice: str
    """What to write instead, for the message."""
    container: Expression | None = None
    """CEL over a container `c` among the pod's GPU containers `cs`: true where it breaks the
    rule."""
    offence: Expression | None = None
    """CEL over `object`: true where it breaks the rule; empty: the settings ask for nothing."""
    detail: Expression | None = None
    """CEL: text that names what was found, for the message."""
    while_stopped: bool = True
    """Whether it counts although no pod of it runs."""
    init_containers: bool = True
    at_most: Level = Level.MANDATORY
    """Caps the level of the rule where the expression has weaker evidence than the rule."""


def fixed(text: str) -> Expression:
    """An expression that depends on neither target nor thresholds."""

    def expression(target: AdmissionTarget, constants: Constants) -> str:
        return text

    return expression


def quoted(text: str) -> str:
    """A CEL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def listed(texts: Any) -> str:
    """A CEL list of string literals."""
    return "[" + ", ".join(quoted(text) for text in texts) + "]"
