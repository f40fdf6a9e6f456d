"""Trees of keys a chart or custom resource knows, written down in one line per mapping.

    .: driver devicePlugin extraObjects*
    driver: enabled version env*

A star means that what stands below is someone else's (labels, data, a sub-chart) and not
validated.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.contract.foreign.go_json import as_mapping
from gpufleet.contract.foreign.unknown_keys import report_key
from gpufleet.contract.foreign.validation import CheckReport
from gpufleet.documents.paths import child

KnownKeys = Mapping[str, tuple[str, ...]]
"""Dotted path (empty: the top) -> keys. A mapping whose path is absent is not validated."""


def known_keys(text: str) -> KnownKeys:
    """Parse the notation above; lines that begin with a space continue the one before."""
    lines: list[str] = []
    for line in text.strip("\n").splitlines():
        if line.startswith(" ") and lines:
            lines[-1] += line
        else:
            lines.append(line)
    pairs = (line.partition(":") for line in lines)
    return {path.strip("."): tuple(k.rstrip("*") for k in keys.split()) for path, _, keys in pairs}


def report_unknown(
    data: Mapping[str, Any],
    known: KnownKeys,
    path: str,
    prefix: str,
    reader: str,
    report: CheckReport,
    ignored: Mapping[str, str] | None = None,
) -> None:
    """Report every key that the tree does not have, below `path` of the document.

    `ignored` names dotted paths that have a finding of their own.
    """
    _walk(data, known, "", path, (prefix, reader), report, ignored or {})


def _walk(
    data: Mapping[str, Any],
    known: KnownKeys,
    dotted: str,
    path: str,
    words: tuple[str, str],
    report: CheckReport,
    ignored: Mapping[str, str],
) -> None:
    names = known.get(dotted)
    if names is None:
        return
    for key, value in data.items():
        below = f"{dotted}.{key}" if dotted else key
        if below in ignored:
            continue
        if key not in names:
            report_key(report, words[0], path, key, names, words[1])
            continue
        inner = as_mapping(value)
        if inner:
            _walk(inner, known, below, child(path, key), words, report, ignored)
