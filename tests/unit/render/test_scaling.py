"""Autoscalers by the right signal, and a clear word about the wrong one."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from gpufleet.fleet.scaling_rules import validate_scaling
from gpufleet.render.scaled_object import (
    SOURCES,
    pod_pattern,
    scaled_job,
    scaled_object,
    trigger_authentication,
)
from gpufleet.spec.scaling import KedaScaling, ScalingTarget
from tests.unit.render.known_series import KNOWN
from tests.unit.render.upstream_definitions import assert_accepted

TARGET = {"name": "chat", "namespace": "product"}
SERVER = "http://prometheus.monitoring.svc:9090"


def keda(**more: Any) -> KedaScaling:
    given: dict[str, Any] = {
        "target": TARGET,
        "min": 0,
        "max": 8,
        "server": SERVER,
        "on": [{"signal": "queueLength", "target": 5, "query": "sum(gateway_queue{app='chat'})"}],
    }
    return KedaScaling.model_validate({**given, **more})


def codes(scaling: KedaScaling, name: str = "chat") -> list[str]:
    return [finding.code for finding in validate_scaling(scaling, name)]


@pytest.mark.parametrize(
    "legal",
    [
        keda(fallback={"replicas": 1}),
        keda(min=1, on=[{"signal": "kvCache"}, {"signal": "requestsWaiting", "target": 2}]),
        keda(min=1, workload="serving", on=[{"signal": "gpuUtilisation"}]),
        keda(min=1, workload="batch", mig=True, on=[{"signal": "tensorActive", "target": 0.6}]),
        keda(fallback={"replicas": 2}),
        keda(min=1, on=[{"signal": "requestsRunning", "target": 12}]),
        keda(min=1, authentication="shared", on=[{"signal": "kvCache"}]),
        keda(min=1, workload="serving", on=[{"signal": "gpuUtilisation", "thresholds": {}}]),
    ],
)
def test_legal(legal: KedaScaling) -> None:
    assert codes(legal) == []


@pytest.mark.parametrize(
    ("scaling", "code", "said"),
    [
        (
            keda(min=1, on=[{"signal": "gpuUtilisation"}]),
            "scaling-signal-wrong",
            "as soon as one sequence",
        ),
        (keda(min=1, on=[{"signal": "tensorActive"}]), "scaling-signal-wrong", "requestsRunning"),
        (
            keda(min=1, workload="serving", mig=True, on=[{"signal": "gpuUtilisation"}]),
            "scaling-signal-not-on-mig",
            "0 or missing on MIG",
        ),
        (
            keda(min=1, workload="batch", on=[{"signal": "requestsRunning", "target": 3}]),
            "scaling-signal-wrong",
            "a batch job has no server",
        ),
        (
            keda(min=1, on=[{"signal": "requestsRunning"}]),
            "scaling-target-missing",
            "of one replica is not known",
        ),
        (
            keda(min=1, on=[{"signal": "kvCache", "target": 80}]),
            "scaling-target-out-of-range",
            "never reaches 80",
        ),
        (
            keda(on=[{"signal": "queueLength", "target": 2}]),
            "scaling-query-missing",
            "only you know",
        ),
        (
            keda(on=[{"signal": "kvCache"}]),
            "scaling-from-zero-by-pods",
            "at 0 replicas there are none",
        ),
        (
            keda(
                authentication="a",
                secrets=[{"parameter": "bearerToken", "secret": "s", "key": "k"}],
                authModes="bearer",
            ),
            "scaling-two-authentications",
            "another would be made",
        ),
        (
            keda(secrets=[{"parameter": "bearerToken", "secret": "s", "key": "k"}]),
            "scaling-authentication-incomplete",
            "must be given together",
        ),
        (
            keda(on=[{"signal": "kvCache", "thresholds": {}}]),
            "scaling-thresholds-signal",
            "gpuUtilisation or tensorActive",
        ),
        (
            keda(on=[{"signal": "tensorActive", "target": 0.5, "thresholds": {}}]),
            "scaling-thresholds-and-target",
            "remove one",
        ),
        (keda(fallback={"replicas": 9}), "scaling-fallback-over-max", "more than max 8"),
    ],
)
def test_wrong(scaling: KedaScaling, code: str, said: str) -> None:
    found = {finding.code: finding for finding in validate_scaling(scaling, "chat")}
    assert code in found, found
    assert said in f"{found[code].message} {found[code].fix}"


def test_names_leave_room_for_kedas_own() -> None:
    assert "scaling-name-too-long" in codes(keda(fallback={"replicas": 1}), "x" * 55)
    assert codes(keda(fallback={"replicas": 1}), "x" * 54) == []


def test_pace_follows_the_time_a_replica_takes() -> None:
    def behaviour(node: int, model: int) -> Any:
        made = scaled_object(keda(load={"nodeSeconds": node, "modelSeconds": model}))
        return made["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]

    slow = behaviour(300, 600)
    assert slow["scaleUp"]["policies"] == [{"type": "Pods", "value": 2, "periodSeconds": 900}]
    assert slow["scaleDown"]["stabilizationWindowSeconds"] == 1800
    fast = behaviour(0, 5)
    assert fast["scaleUp"]["policies"][0]["periodSeconds"] == 15
    assert fast["scaleDown"]["stabilizationWindowSeconds"] == 300
    endless = behaviour(7200, 7200)
    assert endless["scaleUp"]["policies"][0]["periodSeconds"] == 1800
    assert endless["scaleDown"]["stabilizationWindowSeconds"] == 3600


def test_kedas_definition_accepts_the_object() -> None:
    made = scaled_object(
        keda(
            on=[
                {"signal": "queueLength", "target": 5, "query": "sum(q)", "activation": 1},
                {"signal": "kvCache"},
            ],
            secrets=[{"parameter": "bearerToken", "secret": "thanos", "key": "token"}],
            authModes="bearer",
        )
    )
    assert_accepted("keda.sh_scaledobjects.yaml", made)
    spec = made["spec"]
    assert spec["cooldownPeriod"] == 600
    assert spec["initialCooldownPeriod"] == 300
    assert spec["fallback"]["replicas"] == 1
    first, second = spec["triggers"]
    assert first["metadata"]["ignoreNullValues"] == "false"
    assert all(isinstance(value, str) for value in first["metadata"].values())
    assert first["authenticationRef"] == {"name": "chat"}
    assert second["metadata"]["query"] == (
        'sum(vllm:kv_cache_usage_perc{namespace="product", pod=~"chat-[a-z0-9]{1,10}-[a-z0-9]{5}"})'
    )


def test_two_thresholds_have_the_figures_of_the_guide() -> None:
    """Packt, Kubernetes for Generative AI Solutions, chapter 10: more above 80 %, fewer after ten
    minutes below 20 %."""
    on = [{"signal": "gpuUtilisation", "thresholds": {}}]
    made = scaled_object(keda(min=1, workload="serving", on=on))
    assert_accepted("keda.sh_scaledobjects.yaml", made)
    (trigger,) = made["spec"]["triggers"]
    assert trigger["metadata"]["threshold"] == "1"
    assert "> bool 0.8)" in trigger["metadata"]["query"]
    assert "< bool 0.2)" in trigger["metadata"]["query"]
    down = made["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
    assert down["stabilizationWindowSeconds"] == 600
    assert down["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 300}]
    both = [*on, {"signal": "queueLength", "target": 5, "query": "sum(q)"}]
    slow = scaled_object(keda(on=both, load={"nodeSeconds": 600, "modelSeconds": 0}))
    behavior = slow["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] == 1200
    with pytest.raises(ValidationError, match="is not less than above"):
        keda(on=[{"signal": "gpuUtilisation", "thresholds": {"above": 0.2}}])


def test_at_zero_replicas_what_pods_tell_is_zero() -> None:
    """As an error it would start the fallback's replica again after every cooldown."""
    both = [
        {"signal": "queueLength", "target": 5, "query": "sum(q)"},
        {"signal": "kvCache"},
    ]

    def ignored(least: int) -> list[str]:
        triggers = scaled_object(keda(min=least, on=both))["spec"]["triggers"]
        return [one["metadata"]["ignoreNullValues"] for one in triggers]

    assert ignored(0) == ["false", "true"]
    assert ignored(1) == ["false", "false"]


@pytest.mark.parametrize(
    ("kind", "own", "others"),
    [
        (
            "Deployment",
            ["chat-6d4b75cb6d-x7k2p", "chat-5c7-abcde"],
            ["chat-large-6d4b75cb6d-x7k2p", "chat-0", "chat-benchmark", "achat-6d4b75cb6d-x7k2p"],
        ),
        ("StatefulSet", ["chat-0", "chat-12"], ["chat-large-0", "chat-6d4b75cb6d-x7k2p"]),
        ("LeaderWorkerSet", ["chat-0", "chat-0-1"], ["chatty-0"]),
    ],
)
def test_pods_of_others_are_not_counted(kind: str, own: list[str], others: list[str]) -> None:
    pattern = pod_pattern(ScalingTarget.model_validate({**TARGET, "kind": kind}))
    assert all(re.fullmatch(pattern, name) for name in own)
    assert not any(re.fullmatch(pattern, name) for name in others)


def test_pods_of_a_long_name_are_cut() -> None:
    """The API server makes names of at most 63 characters: the hash is truncated, 5 are added."""
    name = "c" * 54
    pattern = pod_pattern(ScalingTarget.model_validate({**TARGET, "name": name}))
    assert re.fullmatch(pattern, f"{name}-6d4b75cb6d-"[:58] + "x7k2p")


@pytest.mark.parametrize(
    ("mode", "parameters", "missing"),
    [
        ("basic", ["username"], ["password"]),
        ("bearer", ["username", "password"], ["bearerToken"]),
        ("tls", ["ca", "cert"], ["key"]),
        ("custom", ["customAuthValue"], ["customAuthHeader"]),
        ("custom", ["customAuthValue", "customAuthHeader"], []),
        ("tls", ["ca", "cert", "key"], []),
    ],
)
def test_a_way_of_authenticating_needs_its_secrets(
    mode: str, parameters: list[str], missing: list[str]
) -> None:
    secrets = [{"parameter": one, "secret": "s", "key": one} for one in parameters]
    found = [
        one
        for one in validate_scaling(keda(secrets=secrets, authModes=mode), "chat")
        if one.code == "scaling-authentication-incomplete"
    ]
    assert [one.evidence["missing"] for one in found] == ([missing] if missing else [])


def test_authentication_names_secrets() -> None:
    secrets = [{"parameter": "bearerToken", "secret": "thanos", "key": "token"}]
    made = trigger_authentication(keda(secrets=secrets, authModes="bearer"))
    assert made is not None
    assert_accepted("keda.sh_triggerauthentications.yaml", made)
    assert trigger_authentication(keda()) is None


def test_jobs_from_a_queue() -> None:
    job = {
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        }
    }
    made = scaled_job(keda(workload="batch"), job)
    assert_accepted("keda.sh_scaledjobs.yaml", made)
    assert made["spec"]["maxReplicaCount"] == 8


def test_signals_are_of_known_series() -> None:
    for source in SOURCES.values():
        assert source.series in KNOWN or source.series.startswith("gpu:")
