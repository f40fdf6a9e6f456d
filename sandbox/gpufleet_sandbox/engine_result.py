"""Result of an engine command, read from its event log."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpufleet_sandbox.errors import SandboxError

UNCHANGED = frozenset({"same", "read", "refresh"})
"""Step names of the engine that change nothing outside."""


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one engine command."""

    command: str
    """As typed, without the additions of this package."""
    status: int
    """Exit status; 0 is success, negative a signal."""
    seconds: float
    output: str
    """Standard output and error together, as a person would read them."""
    changes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of resources per kind of step: `create`, `update`, `delete`, `replace`, `same`, ..."""
    steps: tuple[tuple[str, str], ...] = ()
    """(kind of step, URN) in the order in which the engine began them, unchanged ones left out.

    A replacement appears as its parts (`create-replacement`, `replace`, `delete-replaced`)."""
    errors: tuple[str, ...] = ()
    """Texts of the engine's error diagnostics."""
    warnings: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    """Texts of policy violations, each beginning with its level: `[mandatory] pack/policy: ...`."""

    @property
    def changed(self) -> int:
        """Number of resources that were, or would be, changed."""
        return sum(count for step, count in self.changes.items() if step not in UNCHANGED)

    def summary(self) -> str:
        """One line: `12 create, 3 update; 40 unchanged`."""
        changed = [f"{n} {step}" for step, n in self.changes.items() if step not in UNCHANGED]
        return f"{', '.join(changed) or 'no changes'}; {self.changes.get('same', 0)} unchanged"

    def checked(self) -> "Result":
        """This result when it is a success.

        Raises:
            EngineError: the command failed.
        """
        if self.status != 0:
            raise EngineError(self)
        return self

    def with_events(self, log: Path) -> "Result":
        """This result completed from the engine's event log; absent when it failed early."""
        steps: list[tuple[str, str]] = []
        errors: list[str] = []
        warnings: list[str] = []
        violations: list[str] = []
        changes: dict[str, int] = {}
        for event in _events(log):
            if begun := event.get("resourcePreEvent"):
                if begun["metadata"]["op"] not in UNCHANGED:
                    steps.append((begun["metadata"]["op"], begun["metadata"]["urn"]))
            elif said := event.get("diagnosticEvent"):
                found = {"error": errors, "warning": warnings}.get(said["severity"])
                if found is not None:
                    found.append(said["message"].strip())
            elif broken := event.get("policyEvent"):
                violations.append(
                    f"[{broken['enforcementLevel']}] {broken['policyPackName']}/"
                    f"{broken['policyName']}: {broken['message'].strip()}"
                )
            elif end := event.get("summaryEvent"):
                changes = end["resourceChanges"]
        return replace(
            self,
            changes=changes,
            steps=tuple(steps),
            errors=tuple(errors),
            warnings=tuple(warnings),
            violations=tuple(violations),
        )


class EngineError(SandboxError):
    """An engine command failed; `result` holds all of its output."""

    def __init__(self, result: Result) -> None:
        # The cause comes last, where a reader of a long log looks; advice caused nothing.
        stopping = [one for one in result.violations if one.startswith("[mandatory]")]
        advice = [one for one in result.violations if one not in stopping]
        printed = [*advice, *stopping, *result.errors]
        said = "\n".join(printed) if printed else result.output.strip()[-2000:]
        super().__init__(f"`{result.command}` ended with exit status {result.status}:\n{said}")
        self.result = result


def _events(log: Path) -> Iterator[dict[str, Any]]:
    if not log.exists():
        return
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            # Nine events of ten are debug messages of the SDK; parsing them would take seconds.
            if '"severity":"debug"' in line or not line.endswith("\n"):
                continue
            yield json.loads(line)
