"""The frame of every component: arguments become a plan, and a plan becomes resources.

A constructor declares and validates its arguments, refuses them with all findings at once, and
passes the resulting plan to `GpuComponent`. If another component of this package has already
validated and rendered everything, it calls `from_plan` instead.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import pulumi

from gpufleet.arguments import GpuPoolArgs
from gpufleet.components_base.inputs import refuse, to_camel
from gpufleet.findings import Finding, Severity, has_errors, ordered
from gpufleet.fleet import Fleet, Pool
from gpufleet.spec.base import SpecModel


@dataclass(frozen=True, kw_only=True)
class ComponentPlan:
    """Plan of a component: validated, and rendered as far as possible without Outputs."""

    warnings: tuple[str, ...] = ()
    """Printed by the component once it is registered."""


@dataclass(frozen=True, kw_only=True)
class FleetPlan(ComponentPlan):
    """The plan of a component that follows from all pools of a cluster."""

    fleet: Fleet


@dataclass(frozen=True, kw_only=True)
class PoolPlan(ComponentPlan):
    """The plan of a component that creates the nodes of one pool."""

    pool: Pool


Plan = TypeVar("Plan", bound=ComponentPlan)
AnyPoolPlan = TypeVar("AnyPoolPlan", bound=PoolPlan)
Options = pulumi.ResourceOptions | None
"""Type of a component's `opts`."""


class GpuComponent(pulumi.ComponentResource, Generic[Plan]):
    """A component of gpufleet: its type is `gpufleet:index:<class>`.

    A subclass has `_make`, and a constructor with typed `args`, which Pulumi's analyser reads and
    which ends with `_construct`. All constructors have the same arguments:

    Args:
        name: Name of the component, unique in its stack.
        args: Its inputs.
        opts: Options; `provider` or `providers` must contain the cluster's Kubernetes provider, or
            the provider that the constructor names.

    Raises:
        InvalidArgumentsError: an argument is not valid; the text contains all errors.
    """

    def _construct(self, name: str, plan: Plan, opts: pulumi.ResourceOptions | None) -> None:
        """Register the component and create its resources.

        Not a constructor: the SDK counts constructors above its own to find the program's line
        that created a component.
        """
        super().__init__(
            f"gpufleet:index:{type(self).__name__}", name, self._properties(plan), opts
        )
        self._plan = plan
        for warning in plan.warnings:
            pulumi.log.warn(warning, self)
        outputs = self._make(name, plan)
        for attribute, value in outputs.items():
            known = isinstance(value, pulumi.Output)
            setattr(self, attribute, value if known else known_output(value))
        self.register_outputs({to_camel(attribute): value for attribute, value in outputs.items()})

    @classmethod
    def from_plan(cls, name: str, plan: Plan, opts: pulumi.ResourceOptions | None = None) -> Self:
        """The component of a plan from another component of this package."""
        component = cls.__new__(cls)
        component._construct(name, plan, opts)
        return component

    @classmethod
    def label(cls, name: str) -> str:
        """The component in error texts: `GpuFleet "fleet"`."""
        return f'{cls.__name__} "{name}"'

    def _properties(self, plan: Plan) -> dict[str, Any]:
        """Inputs that are registered with the component itself. Default: none."""
        del plan
        return {}

    def _make(self, name: str, plan: Plan) -> Mapping[str, object]:
        """Create the resources.

        Returns the component's outputs by attribute: each is an Output, or plain data without any
        Output, resource or awaitable inside.
        """
        raise NotImplementedError


class GpuPoolComponent(GpuComponent[AnyPoolPlan]):
    """A component that creates the nodes of one pool."""

    @property
    def spec(self) -> GpuPoolArgs:
        """The pool's declaration, for other components: `GpuAddons` takes a list."""
        return pool_arguments(self._plan.pool)


def accepted(component: str, findings: Iterable[Finding]) -> tuple[str, ...]:
    """Texts of the warnings. Raises InvalidArgumentsError with every finding when one is an error.

    `component` is the component's `label`.
    """
    in_order = ordered(findings)
    if has_errors(in_order):
        refuse(component, in_order)
    return tuple(warning_texts(in_order))


def warning_texts(findings: Iterable[Finding]) -> Iterable[str]:
    """Texts of the warnings among findings, in the form of a log."""
    return (str(f).removeprefix("warning ") for f in findings if f.severity is Severity.WARNING)


def pool_arguments(pool: Pool) -> GpuPoolArgs:
    """The pool's declaration in the form of arguments."""
    arguments: Any = written(pool.spec)
    return arguments


def written(declaration: SpecModel) -> dict[str, Any]:
    """Only values that the author of a declaration wrote, in the spelling of arguments."""
    return declaration.model_dump(mode="json", exclude_unset=True, exclude_none=True)


Value = TypeVar("Value")


def known_output(value: Value) -> pulumi.Output[Value]:
    """The output of plain data: `value` contains no output, resource or awaitable.

    `pulumi.Output.from_input` looks for outputs inside a value and creates an output, with its own
    task, for each key and each entry; the tasks of a fleet of 1,000 pools are tens of thousands.
    Plain data needs one.
    """
    return pulumi.Output(set(), _done(value), _done(True), _done(False))


def _done(value: Any) -> asyncio.Future[Any]:
    done: asyncio.Future[Any] = asyncio.Future()
    done.set_result(value)
    return done
