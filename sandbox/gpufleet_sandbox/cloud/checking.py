"""Whether inputs are what the SDK declares: unknown, missing, of the wrong type, no such value."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.cloud.shapes import (
    Anything,
    ListOf,
    MapOf,
    ObjectShape,
    Scalar,
    Shape,
    StringChoice,
    described,
    fits,
)
from gpufleet_sandbox.cloud.values import UNKNOWN, Secret


@dataclass(frozen=True, slots=True)
class InputProblem:
    """One input that cannot be."""

    path: str
    """`scalingConfig.maxSize`, `taints[0].effect`."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


def problems(record: ObjectShape, inputs: Mapping[str, Any]) -> list[InputProblem]:
    """Everything that is wrong with the inputs of a resource, a function or a provider."""
    return list(_record(record, inputs, ""))


def _record(record: ObjectShape, value: Mapping[str, Any], path: str) -> Iterator[InputProblem]:
    known = record.properties
    for name, item in value.items():
        if name.startswith("__"):  # the engine's own, `__defaults`
            continue
        if name in known:
            yield from _value(known[name].shape, item, _below(path, name))
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; there is {', '.join(sorted(known))}"
        yield InputProblem(_below(path, name), f"{record.name} has no property {name}{hint}")
    for name, declared in known.items():
        if declared.required and value.get(name) is None:
            yield InputProblem(_below(path, name), "required and not given")


def _value(shape: Shape, value: Any, path: str) -> Iterator[InputProblem]:
    if isinstance(value, Secret):
        # What is wrong with a secret is reported without showing it.
        for problem in _value(shape, value.value, path):
            yield InputProblem(problem.path, f"the secret given is not {described(shape)}")
            return
        return
    if value is UNKNOWN or value is None:
        return
    match shape:
        case Anything():
            return
        case Scalar():
            if not fits(shape, value):
                yield _wrong(path, shape, value)
        case StringChoice(values):
            if value not in values:
                yield _wrong(path, shape, value)
        case ListOf(item):
            if not isinstance(value, list):
                yield _wrong(path, shape, value)
                return
            for index, one in enumerate(value):
                yield from _value(item, one, f"{path}[{index}]")
        case MapOf(item):
            if not isinstance(value, dict):
                yield _wrong(path, shape, value)
                return
            for key, one in value.items():
                yield from _value(item, one, f'{path}["{key}"]')
        case ObjectShape():
            if not isinstance(value, dict):
                yield _wrong(path, shape, value)
                return
            yield from _record(shape, value, path)


def _wrong(path: str, shape: Shape, value: Any) -> InputProblem:
    kinds = {dict: "an object", list: "a list", bool: f"the boolean {str(value).lower()}"}
    found = kinds.get(type(value), repr(value))
    return InputProblem(path, f"must be {described(shape)}, and is {found}")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
