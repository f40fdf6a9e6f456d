"""Differences between present and requested values, path by path."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.cloud.replacement import replaces
from gpufleet_sandbox.cloud.values import UNKNOWN, has_unknown, revealed


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path that differs."""

    path: str
    kind: str
    """`add`, `delete` or `update`."""
    replaces: bool
    """The resource must be replaced."""


def changes(
    token: str, before: Mapping[str, Any], after: Mapping[str, Any], found: Mapping[str, Any]
) -> list[PathChange]:
    """Every difference between two sets of inputs.

    Args:
        token: type of the resource.
        before: inputs of the last update.
        after: inputs of this one.
        found: properties the cloud reported last; what drifted since differs from `after`.
    """
    seen: dict[str, PathChange] = {}
    for path, kind in _differences(revealed(dict(before)), revealed(dict(after)), ""):
        seen[path] = PathChange(path, kind, replaces(token, path))
    for name, wanted in after.items():
        plain = revealed(wanted)
        if name in found and name in before and not has_unknown(wanted):
            for path, kind in _differences(revealed(found[name]), plain, name):
                if kind != "delete":  # the cloud's own additions are no drift
                    seen.setdefault(path, PathChange(path, kind, replaces(token, path)))
    return list(seen.values())


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, str]]:
    if before == after:
        return
    if after is UNKNOWN:
        yield path, "update" if before is not None else "add"
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            if name.startswith("__"):
                continue
            below = _below(path, name)
            if name not in after:
                yield below, "delete"
            elif name not in before:
                yield below, "add"
            else:
                yield from _differences(before[name], after[name], below)
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            below = f"{path}[{index}]"
            if index >= len(after):
                yield below, "delete"
            elif index >= len(before):
                yield below, "add"
            else:
                yield from _differences(before[index], after[index], below)
    elif _same(before, after):
        return
    elif before is None:
        yield path, "add"
    else:
        yield path, "delete" if after is None else "update"


def _same(before: Any, after: Any) -> bool:
    """Whether two scalars are one to a provider that reads `"3"` as 3."""
    if isinstance(before, bool) or isinstance(after, bool):
        return str(before).lower() == str(after).lower()
    return isinstance(before, str | int | float) and str(before) == str(after)


def _below(path: str, name: str) -> str:
    if not name.replace("_", "").isalnum():
        return f'{path}["{name}"]'
    return f"{path}.{name}" if path else name
