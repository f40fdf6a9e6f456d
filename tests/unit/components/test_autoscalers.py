from typing import Any

import pytest

from gpufleet.addons.keda import GpuScaledObject, Keda
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.gpu_fleet import GpuFleet

RELEASE = "kubernetes:helm.sh/v3:Release"
KEDA: dict[str, Any] = {
    "target": {"name": "chat", "namespace": "product"},
    "min": 0,
    "max": 8,
    "server": "http://prometheus.monitoring.svc:9090",
    "on": [{"signal": "queueLength", "target": 5, "query": "sum(gateway_queue)"}],
}


def test_the_wrong_signal_is_told(run: Any) -> None:
    wrong = {**KEDA, "min": 1, "on": [{"signal": "gpuUtilisation"}]}
    recorded = run(lambda: GpuScaledObject("h", {"scaling": wrong}))  # type: ignore[arg-type]
    (warned,) = recorded.warnings
    assert "high as soon as one sequence runs" in warned


def test_a_scaled_object_and_its_authentication(run: Any) -> None:
    secret = {"parameter": "bearerToken", "secret": "thanos", "key": "token"}
    given = {**KEDA, "secrets": [secret], "auth_modes": "bearer"}
    recorded = run(lambda: GpuScaledObject("k", {"scaling": given}))  # type: ignore[arg-type]
    made = recorded.one("kubernetes:keda.sh/v1alpha1:ScaledObject")
    assert made.depends_on == ["k-authentication"]
    trigger = made.inputs["spec"]["triggers"][0]
    assert trigger["metadata"]["authModes"] == "bearer"
    assert trigger["authenticationRef"] == {"name": "chat"}


def test_jobs_instead_of_replicas(run: Any) -> None:
    given: Any = {"scaling": {**KEDA, "workload": "batch"}, "job": {"template": {"spec": {}}}}
    recorded = run(lambda: GpuScaledObject("k", given))
    assert recorded.one("kubernetes:keda.sh/v1alpha1:ScaledJob").inputs["spec"]["jobTargetRef"]


def test_keda_is_pinned_and_fails_closed(run: Any) -> None:
    recorded = run(lambda: Keda("keda", {"catalogue": "2026.11", "watched": True}))
    release = recorded.one(RELEASE).inputs
    assert (release["chart"], release["version"], release["namespace"]) == (
        "keda",
        "2.20.2",
        "keda",
    )
    assert release["values"]["prometheus"]["operator"]["serviceMonitor"] == {"enabled": True}
    assert release["values"]["webhooks"] == {"failurePolicy": "Fail"}


def test_a_fleet_brings_keda_when_asked(run: Any) -> None:
    def fleet(**keda: Any) -> Any:
        return {
            "spec": {
                "catalogue": "2026.11",
                "platform": "sandbox",
                "cluster": {"name": "ml"},
                "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 1}}],
                "addons": {"keda": keda},
            }
        }

    recorded = run(lambda: GpuFleet("f", fleet(enabled=True, values={"watchNamespace": "a"})))
    (release,) = (r for r in recorded.all(RELEASE) if r.inputs["name"] == "keda")
    assert release.inputs["version"] == "2.20.2"
    assert release.inputs["values"]["webhooks"] == {"failurePolicy": "Fail"}
    assert release.inputs["values"]["watchNamespace"] == "a"
    assert not [r for r in run(lambda: GpuFleet("f", fleet())).all(RELEASE) if "keda" in r.name]


@pytest.mark.parametrize(
    ("scaling", "code"),
    [
        ({**KEDA, "max": 0}, "argument-invalid"),
        ({**KEDA, "on": [{"signal": "kvCache"}]}, "scaling-from-zero-by-pods"),
    ],
)
def test_what_cannot_work_is_refused(run: Any, scaling: Any, code: str) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            GpuScaledObject("x", {"scaling": scaling})
        assert code in str(caught.value)

    assert run(program).resources == []


@pytest.mark.parametrize(("ownership", "made"), [("managed", 1), ("existing", 1), ("gitops", 0)])
def test_notebooks_that_stop_when_idle_come_after_keda(run: Any, ownership: str, made: int) -> None:
    """One notebook is exempt; who hands objects to GitOps gets them as files."""
    spec: dict[str, Any] = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "lab"},
        "addons": {"keda": {"enabled": True, "ownership": ownership}},
        "monitoring": {"queryUrl": "http://prometheus.monitoring.svc:9090"},
        "pools": [
            {
                "name": "lab",
                "gpu": "L4",
                "intent": "interactive",
                "nodes": {"min": 0, "max": 2},
                "idle": {
                    "afterMinutes": 30,
                    "notebooks": [
                        {"name": "alice", "namespace": "research"},
                        {"name": "bob", "namespace": "research"},
                    ],
                    "exempt": ["bob"],
                },
            }
        ],
    }
    recorded = run(lambda: GpuFleet("fleet", {"spec": spec}))
    found = recorded.all("kubernetes:keda.sh/v1alpha1:ScaledObject")
    assert [one.name for one in found] == ["fleet-idle-research-alice"] * made
    assert all("fleet-addons" in " ".join(one.depends_on) for one in found)
