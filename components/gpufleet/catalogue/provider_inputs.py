"""Constraints of the AWS and Google Cloud providers on the inputs of a resource.

`providers/<cloud>.jsonl` holds one constraint a line, each with its source. `tools/
provider_inputs.py` writes the files from the providers' own schemas. Which inputs exist, and of
which type they are, is there for resources with raw arguments only (`provider_shapes`).
"""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

FOLDER = Path(__file__).parent / "providers"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConstraint:
    """Constraint on one input of a resource."""

    type: str
    """`gcp:container/nodePool:NodePool`."""
    path: str
    """`nodeConfig.taints.effect`: lists are written without an index."""
    source: str
    """Key of a source."""
    at: str
    """Place in the source: shape of a service model, attribute of a schema."""
    one_of: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    most_items: int | None = None
    least_items: int | None = None
    longest: int | None = None
    """Characters."""
    pattern: str | None = None
    format: str | None = None
    """`cidr`."""
    conflicts_with: tuple[str, ...] = ()
    exactly_one_of: tuple[str, ...] = ()
    at_least_one_of: tuple[str, ...] = ()
    replaces: str | None = None
    """`value`: a change of the value or of anything in it makes a new resource; `block`: only when
    the block appears or goes away."""

    @property
    def group(self) -> tuple[str, ...]:
        """Paths of which one must be set; empty: no such constraint."""
        return self.exactly_one_of or self.at_least_one_of

    @property
    def refuses(self) -> bool:
        """Whether the constraint limits any input."""
        bounds = (self.minimum, self.maximum, self.most_items, self.least_items, self.longest)
        named = (self.one_of, self.pattern, self.format, self.conflicts_with, self.group)
        return any(one is not None for one in bounds) or any(named)


@dataclass(frozen=True, slots=True)
class InputViolation:
    """One input that the provider refuses."""

    path: str
    """`taints[0].effect`."""
    reason: str


@cache
def constraints(cloud: str) -> Mapping[str, tuple[InputConstraint, ...]]:
    """Resource type -> constraints of its inputs. `cloud` is `aws` or `gcp`."""
    found: dict[str, list[InputConstraint]] = {}
    for row in provider_rows(cloud):
        if "path" in row:
            values: dict[str, Any] = {
                key: tuple(cast("list[str]", item)) if isinstance(item, list) else item
                for key, item in row.items()
            }
            found.setdefault(row["type"], []).append(InputConstraint(**values))
    return {type_: tuple(rows) for type_, rows in found.items()}


@cache
def provider_rows(cloud: str) -> Sequence[Mapping[str, Any]]:
    """Sources, constraints and inputs of types: the rows of a cloud's file; none without one."""
    if not (FOLDER / f"{cloud}.jsonl").is_file():
        return ()
    text = (FOLDER / f"{cloud}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def of_type(token: str) -> tuple[InputConstraint, ...]:
    """Constraints of a resource type; empty for a type that is in no file."""
    return constraints(token.partition(":")[0]).get(token, ())


def violations(token: str, inputs: Mapping[str, Any]) -> list[InputViolation]:
    """All violations of the provider's constraints by the inputs of a resource.

    Values that are not plain data (outputs, secrets, unknown values) are not checked.

    Args:
        token: Type of the resource.
        inputs: Its inputs, in the provider's spelling.
    """
    return [found for one in _refusing(token) for found in _violations(one, inputs)]


@cache
def _refusing(token: str) -> tuple[InputConstraint, ...]:
    """Constraints of a type that refuse inputs; others only state what a change replaces."""
    return tuple(one for one in of_type(token) if one.refuses)


def _violations(one: InputConstraint, inputs: Mapping[str, Any]) -> Iterator[InputViolation]:
    top, _, _ = one.path.partition(".")
    parent, _, last = one.path.rpartition(".")
    if top not in inputs and (parent or not one.group):
        return
    for place, value in _at(inputs, one.path.split("."), ""):
        for reason in _of_value(one, value):
            yield InputViolation(place, reason)
    if one.most_items is not None or one.least_items is not None:
        for place, block in _at(inputs, parent.split(".") if parent else [], ""):
            if not isinstance(block, Mapping):
                continue
            items = cast("Mapping[str, Any]", block).get(last)
            if isinstance(items, list | tuple):
                yield from _of_count(
                    one, f"{place}.{last}" if place else last, len(cast("Sequence[Any]", items))
                )
    if one.conflicts_with and _given(inputs, one.path):
        others = [path for path in one.conflicts_with if _given(inputs, path)]
        if others:
            yield InputViolation(one.path, f"excludes {', '.join(others)}")
    group = one.group
    # Each member of a group names the whole group: the first reports for all.
    if group and one.path == min(group) and (not parent or _given(inputs, parent)):
        given = [path for path in group if _given(inputs, path)]
        if not given or (one.exactly_one_of and len(given) > 1):
            what = "exactly one" if one.exactly_one_of else "at least one"
            yield InputViolation(
                parent, f"needs {what} of {', '.join(group)}, and has {', '.join(given) or 'none'}"
            )


def _of_count(one: InputConstraint, place: str, count: int) -> Iterator[InputViolation]:
    if one.most_items is not None and count > one.most_items:
        yield InputViolation(place, f"has at most {one.most_items} entries, and {count} are given")
    if one.least_items is not None and count < one.least_items:
        yield InputViolation(
            place, f"has at least {one.least_items} entries, and {count} are given"
        )


def _of_value(one: InputConstraint, value: Any) -> Iterator[str]:
    if one.one_of and isinstance(value, str) and value not in one.one_of:
        shown = ", ".join(text for text in one.one_of if text)
        yield f"must be one of {shown}, and is {value!r}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if one.minimum is not None and value < one.minimum:
            yield f"must be at least {one.minimum:g}, and is {value:g}"
        if one.maximum is not None and value > one.maximum:
            yield f"must be at most {one.maximum:g}, and is {value:g}"
    if isinstance(value, str):
        if one.longest is not None and len(value) > one.longest:
            yield f"has at most {one.longest} characters, and {value!r} has {len(value)}"
        if one.pattern is not None and not re.search(one.pattern, value):
            yield f"must match {one.pattern}, and is {value!r}"
        if one.format == "cidr" and not _is_cidr(value):
            yield f"must be an address range, and is {value!r}"


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _at(value: Any, steps: Sequence[str], place: str) -> Iterator[tuple[str, Any]]:
    """Place and value of everything at a path."""
    if isinstance(value, list | tuple):
        for index, item in enumerate(cast("Sequence[Any]", value)):
            yield from _at(item, steps, f"{place}[{index}]")
    elif not steps:
        if value is not None:
            yield place, value
    elif isinstance(value, Mapping) and steps[0] in value:
        below = f"{place}.{steps[0]}" if place else steps[0]
        yield from _at(cast("Mapping[str, Any]", value)[steps[0]], steps[1:], below)


def _given(inputs: Mapping[str, Any], path: str) -> bool:
    return any(True for _ in _at(inputs, path.split("."), ""))
