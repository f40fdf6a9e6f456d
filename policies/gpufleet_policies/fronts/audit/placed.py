"""PlacedFinding: a finding with the line it is about and a fingerprint that outlives edits."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from gpufleet.cluster.release_values import steps_of
from gpufleet_policies.fronts.audit.written_lines import Located
from gpufleet_policies.rules.finding import PolicyFinding
from gpufleet_policies.rules.former_names import former_ids
from gpufleet_policies.rules.rule import Level

_ENCODER = json.JSONEncoder(sort_keys=True, default=str, ensure_ascii=True)
_PATH = re.compile(r"[A-Za-z_$][\w$-]*(?:\.[\w$/-]+|\[[^\]\s]*\])*")
_VOLATILE = re.compile(r"usd|money|price|hour", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """What the audit reports."""

    finding: PolicyFinding
    file: str
    line: int
    """Counted from 1."""
    fingerprint: str
    """The same finding in a later version of the file has the same one, wherever it moved."""
    former: tuple[str, ...] = ()
    """Fingerprints that it had under former ids of its rule."""

    @property
    def is_mandatory(self) -> bool:
        """Whether it fails the audit."""
        return self.finding.level is Level.MANDATORY


def placed(finding: PolicyFinding, document: Located, file: str) -> PlacedFinding:
    """A finding with its line in the document."""
    return PlacedFinding(
        finding, file, _line(finding, document), fingerprint(finding), _former(finding)
    )


def _line(finding: PolicyFinding, document: Located) -> int:
    """The line of the deepest field that the finding names, else the object's first."""
    best = (0, max(document.line, 1))
    for operation in finding.remediation:
        steps = pointer_steps(str(operation["path"]))
        best = max(best, document.located(steps), key=lambda found: found[0])
    where = finding.violation.where
    # `data[a]: sharing.mps`: a path in the document that the field holds as text.
    inside = _PATH.findall(where.replace(": ", ".")) if ": " in where else []
    for path in (*_PATH.findall(where), *inside):
        best = max(best, document.located(steps_of(path)), key=lambda found: found[0])
    return best[1]


def pointer_steps(pointer: str) -> list[str | int]:
    """The steps of an RFC 6901 pointer; numbers could be indices."""
    steps = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return [int(step) if step.isdecimal() else step for step in steps]


def fingerprint(finding: PolicyFinding) -> str:
    """Rule, object, place and evidence; neither line nor price, which change by themselves."""
    evidence = {
        key: value for key, value in finding.violation.evidence.items() if not _VOLATILE.search(key)
    }
    return _hashed(finding.rule, finding, evidence)


def _former(finding: PolicyFinding) -> tuple[str, ...]:
    """A finding of a configuration once had its code among the evidence."""
    evidence = {"code": finding.rule, **finding.violation.evidence}
    return tuple(_hashed(old, finding, evidence) for old in former_ids(finding.rule))


def _hashed(rule: str, finding: PolicyFinding, evidence: dict[str, object]) -> str:
    known: list[Any] = [rule, str(finding.locator), finding.violation.where, evidence]
    return hashlib.sha256(_ENCODER.encode(known).encode()).hexdigest()[:32]
