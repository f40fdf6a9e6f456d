"""Findings with the line that they are about, and a fingerprint that outlives edits."""

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

from gpufleet.cluster.release_values import steps_of
from gpufleet.findings import Finding
from gpufleet_policies.fronts.audit.written_lines import Located

_ENCODER = json.JSONEncoder(sort_keys=True, default=str, ensure_ascii=True)
_PATH = re.compile(r"[A-Za-z_$][\w$-]*(?:\.[\w$/-]+|\[[^\]\s]*\])*")
_VOLATILE = re.compile(r"usd|money|price|hour", re.IGNORECASE)


def placed(finding: Finding, document: Located, file: str) -> Finding:
    """A finding with its line in the document."""
    return replace(finding, file=file, line=_line(finding, document))


def _line(finding: Finding, document: Located) -> int:
    """The line of the deepest field that the finding names, else the object's first."""
    best = (0, max(document.line, 1))
    for operation in finding.remediation:
        steps = pointer_steps(str(operation["path"]))
        best = max(best, document.located(steps), key=lambda found: found[0])
    where = finding.path
    # `data[a]: sharing.mps`: a path in the document that the field holds as text.
    inside = _PATH.findall(where.replace(": ", ".")) if ": " in where else []
    for path in (*_PATH.findall(where), *inside):
        best = max(best, document.located(steps_of(path)), key=lambda found: found[0])
    return best[1]


def pointer_steps(pointer: str) -> list[str | int]:
    """The steps of an RFC 6901 pointer; numbers could be indices."""
    steps = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return [int(step) if step.isdecimal() else step for step in steps]


def fingerprint(finding: Finding) -> str:
    """The same finding in a later version of the file has the same one, wherever it moved.

    Rule, object, place and evidence; neither line nor price, which change by themselves.
    """
    evidence = {key: value for key, value in finding.evidence.items() if not _VOLATILE.search(key)}
    known: list[Any] = [finding.code, str(finding.locator), finding.path, evidence]
    return hashlib.sha256(_ENCODER.encode(known).encode()).hexdigest()[:32]
