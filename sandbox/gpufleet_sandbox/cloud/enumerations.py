"""Enumerations behind properties that the SDK types as plain strings."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet_sandbox.cloud.checking import InputProblem
from gpufleet_sandbox.cloud.values import UNKNOWN, Secret


def enumeration_problems(
    allowed: Mapping[str, tuple[str, ...]], inputs: Mapping[str, Any]
) -> list[InputProblem]:
    """Values outside their enumeration.

    Args:
        allowed: path without indexes (`taints.effect`) to the values there are.
        inputs: the resource's inputs.
    """
    found: list[InputProblem] = []
    for path, values in allowed.items():
        for place, value in _at(inputs, path.split("."), ""):
            if value is not None and value is not UNKNOWN and value not in values:
                found.append(
                    InputProblem(place, f"must be one of {', '.join(values)}, and is {value!r}")
                )
    return found


def _at(value: Any, steps: list[str], path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Secret):
        value = value.value
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _at(item, steps, f"{path}[{index}]")
    elif not steps:
        yield path, value
    elif isinstance(value, dict) and steps[0] in value:
        below = f"{path}.{steps[0]}" if path else steps[0]
        yield from _at(value[steps[0]], steps[1:], below)
