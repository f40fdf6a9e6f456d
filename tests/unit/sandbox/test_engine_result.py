"""Facts read from the engine's event log."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpufleet_sandbox.engine_result import EngineError, Result


def write_log(folder: Path, *events: dict[str, Any], tail: str = "") -> Path:
    log = folder / "events"
    lines = (json.dumps(event, separators=(",", ":")) for event in events)
    log.write_text("".join(f"{line}\n" for line in lines) + tail)
    return log


def step(kind: str, name: str) -> dict[str, Any]:
    return {"resourcePreEvent": {"metadata": {"op": kind, "urn": f"urn::{name}"}}}


def said(severity: str, message: str) -> dict[str, Any]:
    return {"diagnosticEvent": {"severity": severity, "message": message}}


def test_events_complete_a_result(tmp_path: Path) -> None:
    violation = {
        "enforcementLevel": "mandatory",
        "policyPackName": "pack",
        "policyName": "rule",
        "message": "what\nwhy\n",
    }
    log = write_log(
        tmp_path,
        step("same", "a"),
        step("create", "b"),
        said("debug", "noise"),
        said("info#err", "printed"),
        said("warning", "careful\n"),
        said("error", "broken\n"),
        {"policyEvent": violation},
        {"summaryEvent": {"resourceChanges": {"create": 1, "same": 1}}},
    )
    result = Result("pulumi up", 255, 1.0, "").with_events(log)
    assert result.steps == (("create", "urn::b"),)
    assert result.changes == {"create": 1, "same": 1}
    assert result.changed == 1
    assert result.errors == ("broken",)
    assert result.warnings == ("careful",)
    assert result.violations == ("[mandatory] pack/rule: what\nwhy",)
    assert result.summary() == "1 create; 1 unchanged"
    with pytest.raises(EngineError) as caught:
        result.checked()
    assert str(caught.value) == (
        "`pulumi up` ended with exit status 255:\n[mandatory] pack/rule: what\nwhy\nbroken"
    )


def test_the_cause_comes_after_advice() -> None:
    result = Result(
        "pulumi up",
        1,
        1.0,
        "",
        errors=("no capacity",),
        violations=("[mandatory] pack/b: stops", "[advisory] pack/a: costs money"),
    )
    assert str(EngineError(result)).splitlines()[1:] == [
        "[advisory] pack/a: costs money",
        "[mandatory] pack/b: stops",
        "no capacity",
    ]


def test_a_log_cut_short_by_a_kill_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    log = write_log(tmp_path, step("create", "a"), tail='{"resourcePreEvent":{"meta')
    assert Result("pulumi up", -9, 1.0, "").with_events(log).steps == (("create", "urn::a"),)


def test_without_a_log_the_output_explains_the_failure(tmp_path: Path) -> None:
    result = Result("pulumi up", 1, 0.1, "error: no stack\n").with_events(tmp_path / "absent")
    assert result.summary() == "no changes; 0 unchanged"
    with pytest.raises(EngineError, match="exit status 1:\nerror: no stack"):
        result.checked()
