"""Faults that were recorded before the doctor existed: it names the cause, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.findings import Severity
from gpufleet_policies.doctor.cause import Diagnosis
from gpufleet_policies.doctor.diagnosis import diagnose
from gpufleet_policies.doctor.report import full_text
from gpufleet_policies.doctor.snapshot import cluster_of
from tests.policies.doctor.clusters import POOLS, World
from tests.policies.doctor.steps import broken, cases

HERE = Path(__file__).parent
FAULTS = list(cases(HERE / "blind_faults.yaml"))
REPORTS = list(cases(HERE / "public_issues.yaml"))


def diagnosed(world: World) -> tuple[Diagnosis, ...]:
    found = diagnose(cluster_of(world.dump(), world.logs))
    assert [line for line in full_text(found) if "{" in line and "}" not in line] == []
    assert [one.cause.code for one in found if not tuple(one.evidence)] == []
    return found


def named(found: tuple[Diagnosis, ...]) -> set[tuple[str, str]]:
    """Code and object, without the namespace, of what is wrong."""
    return {
        (d.cause.code, "/".join((d.found.at.split("/")[0], d.found.at.split("/")[-1])))
        for d in found
        if d.cause.severity is not Severity.INFO
    }


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one["fault"])
def test_a_fault_is_named_and_nothing_else(fault: dict[str, Any]) -> None:
    found = named(diagnosed(broken(fault["in"], fault["do"])))
    cause, also = set(fault["cause"].items()), set(fault.get("also", {}).items())
    assert cause <= found
    assert found - cause - also == set()


@pytest.mark.parametrize("report", REPORTS, ids=lambda one: one["issue"].split(".com/")[1])
def test_a_public_report_has_its_cause(report: dict[str, Any]) -> None:
    found = named(diagnosed(broken("none", report["do"])))
    assert set(report["cause"].items()) <= found


@pytest.mark.parametrize("kind", [*POOLS, "karpenter"])
def test_a_healthy_cluster_has_no_finding(kind: str) -> None:
    assert diagnosed(World(kind)) == ()


def test_words_about_a_pod_that_runs_by_now_are_no_cause() -> None:
    pod = "Pod/gpu-operator/nvidia-device-plugin-daemonset-gpu-0"
    said = 'failed to get sandbox runtime: no runtime for "nvidia" is configured'
    event = {"event": pod, "reason": "FailedCreatePodSandBox", "message": said}
    assert diagnosed(broken("whole", [event])) == ()
