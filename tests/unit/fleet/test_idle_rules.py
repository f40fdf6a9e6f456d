"""Requirements of idle stops: KEDA, monitoring, an interactive pool, and measured GPU activity."""

from typing import Any

import pytest

from gpufleet.findings import Finding
from gpufleet.platforms.compiled import compile_data

NOTEBOOKS = [
    {"name": "alice", "namespace": "research"},
    {"name": "bob", "namespace": "research", "kind": "Deployment"},
]
URL = "http://prometheus.monitoring.svc:9090"


def spec(idle: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    pool = {
        "name": "lab",
        "gpu": "L4",
        "intent": "interactive",
        "nodes": {"min": 0, "max": 2},
        "idle": {"afterMinutes": 30, "notebooks": NOTEBOOKS, **(idle or {})},
        **changes.pop("pool", {}),
    }
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "provisioner": "karpenter",
        "addons": {"keda": {"enabled": True}},
        "monitoring": {"queryUrl": URL},
        "pools": [pool],
        **changes,
    }


def findings(declared: dict[str, Any]) -> dict[str, Finding]:
    compiled = compile_data(declared)
    return {one.code: one for one in compiled.findings if ".idle" in one.path or "idle" in one.code}


def test_a_lab_that_can_go_to_zero() -> None:
    assert findings(spec()) == {}


MIG = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}


@pytest.mark.parametrize(
    ("declared", "code", "says"),
    [
        (spec(addons={}), "idle-needs-keda", "the fleet has none"),
        (spec(addons={"keda": {"enabled": False}}), "idle-needs-keda", "the fleet has none"),
        (spec(monitoring={"backend": "none", "queryUrl": URL}), "idle-needs-monitoring", "records"),
        (spec(monitoring={}), "idle-needs-monitoring", "KEDA needs the address"),
        (spec(pool={"intent": "inference"}), "idle-not-interactive", "only a user extends"),
        (
            spec(pool={"sharing": {"timeSlicing": {"replicas": 4}}}),
            "idle-not-measured",
            "measures the GPU, not each pod that shares it",
        ),
        (
            spec(pool={"sharing": {"mps": {"replicas": 4}}}),
            "idle-not-measured",
            "measures the GPU, not each pod that shares it",
        ),
        (
            spec(
                pool={"instanceTypes": ["p4de.24xlarge"], "gpu": None, "sharing": MIG},
                monitoring={"queryUrl": URL, "profiling": False},
            ),
            "idle-not-measured",
            "without profiling MIG slices have no activity",
        ),
        (
            spec({"exempt": ["carol"]}),
            "idle-exempt-unknown",
            "carol is not a declared notebook: the entry has no effect",
        ),
        (
            spec({"notebooks": [*NOTEBOOKS, {"name": "bob", "namespace": "research"}]}),
            "idle-notebook-twice",
            "research/bob is at pools[0].idle.notebooks[1] too",
        ),
        (spec(pool={"nodes": {"min": 2, "max": 2}}), "idle-frees-no-node", "is always 2"),
        (
            spec({"notebooks": [{"name": "n" * 55, "namespace": "research"}]}),
            "scaling-name-too-long",
            "55 characters; KEDA puts keda-hpa- before it",
        ),
    ],
)
def test_what_cannot_work_is_named(declared: dict[str, Any], code: str, says: str) -> None:
    found = findings(declared)
    assert list(found) == [code]
    assert says in found[code].message


def test_slices_that_are_measured_may_stop() -> None:
    sliced = {"instanceTypes": ["p4de.24xlarge"], "gpu": None, "sharing": MIG}
    assert findings(spec(pool=sliced)) == {}


@pytest.mark.parametrize(
    ("idle", "says"),
    [
        ({"afterMinutes": 9}, "afterMinutes"),
        ({"afterMinutes": 1441}, "afterMinutes"),
        ({"belowPercent": 0}, "belowPercent"),
        ({"notebooks": []}, "notebooks"),
        ({"notebooks": [{"name": "a", "namespace": "b", "kind": "Notebook"}]}, "kind"),
    ],
)
def test_limits(idle: dict[str, Any], says: str) -> None:
    compiled = compile_data(spec(idle))
    assert any(says in one.path for one in compiled.findings), compiled.findings
