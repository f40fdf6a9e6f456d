"""Outputs that are there only when further resources are."""

from typing import Any, TypeVar

import pulumi

Value = TypeVar("Value")


def ready_output(
    value: pulumi.Output[Value], *resources: pulumi.CustomResource
) -> pulumi.Output[Value]:
    """The value, with a dependency on the resources.

    What uses it is made after them and removed before them: in every language, and without
    `dependsOn`.
    """
    return pulumi.Output.all(value, *(one.id for one in resources)).apply(_first)


def _first(known: list[Any]) -> Any:
    return known[0]
