"""Baseline: findings that were there before the audit was, and do not fail it."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpufleet.documents.shapes import is_list, mapping
from gpufleet.documents.strict_rules import fault
from gpufleet.findings import Finding
from gpufleet.findings.waiver import Waiver, WaiverKind
from gpufleet.messages import json_text
from gpufleet_policies.fronts.audit.placed import fingerprint
from gpufleet_policies.fronts.audit.run import Audit, FileResult

VERSION = 1
_WAIVER = Waiver(WaiverKind.BASELINE, "baseline", "was there before the baseline was written")


class UnreadableBaselineError(ValueError):
    """The file is not a baseline; the text gives the reason."""


def baseline_text(findings: Iterable[Finding]) -> str:
    """A baseline of these findings: sorted, so that its changes read well in a review."""
    rows = sorted((one.file, str(one.locator), one.code, fingerprint(one)) for one in findings)
    keys = ("file", "object", "rule", "fingerprint")
    document = {
        "version": VERSION,
        "findings": [dict(zip(keys, row, strict=True)) for row in rows],
    }
    return json_text(document, indent=1) + "\n"


def read_baseline(path: Path) -> Counter[str]:
    """Fingerprint -> how often it is known. Raises UnreadableBaselineError and OSError."""
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise UnreadableBaselineError(f"{path}: not valid JSON: {fault(problem)}") from None
    rows = mapping(document).get("findings")
    if not is_list(rows) or mapping(document).get("version") != VERSION:
        raise UnreadableBaselineError(
            f"{path}: no baseline of version {VERSION}; write one with --write-baseline"
        )
    found = [mapping(row).get("fingerprint") for row in rows]
    return Counter(one for one in found if isinstance(one, str))


def without_known(result: Audit, known: Counter[str]) -> Audit:
    """The audit with known findings set aside, each as often as the baseline has it."""
    left = Counter(known)
    aside: list[Finding] = []
    files: list[FileResult] = []
    for file in result.files:
        fresh: list[Finding] = []
        for finding in file.findings:
            known_as = fingerprint(finding)
            if left[known_as] > 0:
                left[known_as] -= 1
                aside.append(replace(finding, waiver=_WAIVER))
            else:
                fresh.append(finding)
        files.append(replace(file, findings=tuple(fresh)))
    return replace(result, files=tuple(files), known=tuple(aside))
