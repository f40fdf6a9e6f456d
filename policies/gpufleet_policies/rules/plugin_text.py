"""Changes of a device-plugin configuration: a patch of its data, or of the text that holds it."""

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.cluster.nvidia import NvidiaConfig, SharingConfig
from gpufleet.findings.remediation import JsonPatch, add, replace, steps
from gpufleet_policies.readers.nvidia_configs import parsed


def sharing_patch(config: SharingConfig, key: str, value: bool) -> JsonPatch:
    """Set a switch of the sharing block; empty where its path or its text cannot be edited.

    A text keeps its lines and comments: one line is added, or one value changed.
    """
    if config.path is None:
        return ()
    if not config.text:
        return (add(value, "", *config.path, "sharing", config.mode, key),)
    changed = _switched(config.text, config.mode, key, value)
    return () if changed is None else (replace(changed, "", *config.path),)


def replicas_patch(config: NvidiaConfig, limits: Mapping[str, int]) -> JsonPatch:
    """Lower numbers of replicas, by their places in the configuration, to their limits.

    All values of a text are lowered together: patches that each write the text would undo each
    other. Empty where there are none, or one cannot be edited.
    """
    if config.path is None or not limits:
        return ()
    if not config.held:
        return tuple(
            replace(limit, "", *config.path, *steps(place)) for place, limit in limits.items()
        )
    text: str | None = config.held
    for place, limit in limits.items():
        text = None if text is None else _lowered(text, steps(place), limit)
    return () if text is None else (replace(text, "", *config.path),)


def _lowered(text: str, place: Sequence[str], limit: int) -> str | None:
    """The text with one number changed; None where not exactly that number can be."""
    wanted = copy.deepcopy(parsed(text))
    holder = wanted
    for step in place[:-1]:
        holder = holder[int(step) if isinstance(holder, list) else step]
    written, holder[place[-1]] = holder[place[-1]], limit
    spelled = rf"(?<![\w-]){re.escape(place[-1])}[\"']?:\s*({re.escape(str(written))})(?![\w.])"
    for found in re.finditer(spelled, text):
        changed = f"{text[: found.start(1)]}{limit}{text[found.end(1) :]}"
        if parsed(changed) == wanted:
            return changed
    return None


def _switched(text: str, mode: str, key: str, value: bool) -> str | None:
    written = str(value).lower()
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if re.match(rf" +{mode}:\s*(?:#.*)?$", line)]
    if len(heads) != 1:
        return None
    head = heads[0]
    indent = _indent_below(lines, head)
    if indent is None:
        return None
    for at in range(head + 1, len(lines)):
        found = re.match(rf"({indent}{key}:\s*)\S+(.*)$", lines[at], re.DOTALL)
        if found is not None:
            lines[at] = f"{found[1]}{written}{found[2]}"
            break
    else:
        end = "\n" if lines[head].endswith("\n") else ""
        lines.insert(head + 1, f"{indent}{key}: {written}{end}")
    changed = "".join(lines)
    return changed if parsed(changed) == _expected(text, mode, key, value) else None


def _indent_below(lines: Sequence[str], head: int) -> str | None:
    """Blanks in front of what is in a block; None where it holds nothing."""
    own = len(lines[head]) - len(lines[head].lstrip(" "))
    for line in lines[head + 1 :]:
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        width = len(line) - len(line.lstrip(" "))
        return " " * width if width > own else None
    return None


def _expected(text: str, mode: str, key: str, value: bool) -> Any:
    data = copy.deepcopy(parsed(text))
    data["sharing"][mode][key] = value
    return data
