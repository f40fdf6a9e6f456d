"""Findings with the line that they are about, and a fingerprint that outlives edits."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpufleet.cluster.release_values import steps_of
from gpufleet.findings import Finding
from gpufleet_policies.resolve.json_patch import pointer_keys
from gpufleet_policies.resolve.layers import Layers
from gpufleet_policies.resolve.written_lines import Located

_ENCODER = json.JSONEncoder(sort_keys=True, default=str, ensure_ascii=True)
_PATH = re.compile(r"[A-Za-z_$][\w$-]*(?:\.[\w$/-]+|\[[^\]\s]*\])*")
_VOLATILE = re.compile(r"usd|money|price|hour|^since$", re.IGNORECASE)


def placed(finding: Finding, document: Located, file: str) -> Finding:
    """A finding with its line in the document, and with the file of that line.

    Changes that would fix an object which several files make are left out: they fit none of them.
    """
    if not isinstance(document, Layers):
        return replace(finding, file=file, line=_deepest(finding, document.located, document)[1])
    _, line, where = _deepest(finding, document.placed, document)
    fixes = () if document.is_changed else finding.remediation
    return replace(finding, file=where, line=line, remediation=fixes)


def _deepest(finding: Finding, located: Callable[..., Any], document: Located) -> Any:
    """Origin of the deepest known field that the finding names, else of the object's first."""
    best: Any = (0, max(document.line, 1), document.file if isinstance(document, Layers) else "")
    paths = [pointer_steps(str(operation["path"])) for operation in finding.remediation]
    where = finding.path
    # `data[a]: sharing.mps`: a path in the document that the field holds as text.
    inside = _PATH.findall(where.replace(": ", ".")) if ": " in where else []
    paths += [list(steps_of(path)) for path in (*_PATH.findall(where), *inside)]
    for steps in paths:
        best = max(best, located(steps), key=lambda found: found[0])
    return best


def pointer_steps(pointer: str) -> list[str | int]:
    """The steps of an RFC 6901 pointer; numbers could be indices."""
    return [int(key) if key.isdecimal() else key for key in pointer_keys(pointer)]


def fingerprint(finding: Finding) -> str:
    """The same finding in a later version of the file has the same one, wherever it moved.

    Rule, object, place and evidence; neither line, price nor first release: they change alone.
    """
    evidence = {key: value for key, value in finding.evidence.items() if not _VOLATILE.search(key)}
    known: list[Any] = [finding.code, str(finding.locator), finding.path, evidence]
    return hashlib.sha256(_ENCODER.encode(known).encode()).hexdigest()[:32]
