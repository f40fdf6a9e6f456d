"""Cases of rules/pairs.py: values of the router of llm-d and of KAI's chart that fail or are not
read, and releases of schedulers and trainers that do not work together."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pair_objects import release

ADVICE = Level.ADVISORY
_SERVERS = {"modelServers": {"matchLabels": {"llm-d.ai/guide": "baseline"}}}


def router(name: str = "standalone", **values: Any) -> Thing:
    return release(f"llm-d-router-{name}", "v0.10.0", {"router": {**_SERVERS, **values}}, "llm-d")


def bare(name: str, **values: Any) -> Thing:
    return release(f"llm-d-router-{name}", "v0.10.0", values, "llm-d")


def proxy(pool: bool = True, **values: Any) -> Thing:
    return router(inferencePool={"create": pool}, proxy=values)


def kai(version: str, **values: Any) -> Thing:
    return release("kai-scheduler", version, values, "kai-scheduler")


def refused(good: Thing, bad: Thing, found: str) -> Case:
    return Case("chart-program-refuses", good, bad, found, ADVICE, alongside=())


CASES = (
    refused(
        router(inferencePool={"create": False}),
        bare("standalone", router={"inferencePool": {"create": False}}),
        "creates no InferencePool and names no labels of model servers",
    ),
    refused(
        router("gateway"),
        bare("gateway", router={"epp": {"replicas": 1}}),
        "names no labels of model servers: rendering fails",
    ),
    refused(proxy(proxyType="Envoy"), proxy(proxyType="nginx"), "has the proxy nginx"),
    refused(proxy(mode="sidecar"), proxy(mode="gateway"), "has the mode gateway of its proxy"),
    refused(
        proxy(mode="sidecar", enabled=False),
        proxy(mode="service", enabled=False),
        "runs its proxy as a service, and the proxy is off",
    ),
    refused(
        router(proxy={"mode": "service"}, extraServicePorts=[{"name": "http", "port": 80}]),
        router(proxy={"mode": "service"}, extraServicePorts=[{"name": "web", "port": 80}]),
        "no extra port is called http",
    ),
    refused(
        proxy(pool=False, proxyType="agentgateway"),
        proxy(proxyType="agentgateway"),
        "which works without an InferencePool alone",
    ),
    refused(
        proxy(mode="service", autoscaling={"enabled": True}),
        proxy(mode="sidecar", autoscaling={"enabled": True}),
        "scales its proxy, which is a sidecar",
    ),
    *(
        refused(
            router(name),
            bare(name, router=_SERVERS, **{key: {"a": "b"}}),
            f"writes {key}, a key of the chart before it",
        )
        for name in ("standalone", "gateway")
        for key in ("inferenceExtension", "inferencePool")
    ),
    refused(
        kai("v0.17.0", kaiConfig={"render": True}, kaiConfigDeployer={"enabled": False}),
        kai("v0.16.9", kaiConfig={"render": True}, kaiConfigDeployer={"enabled": False}),
        "which releases before v0.17.0 such as v0.16.9 do not read: nothing makes it",
    ),
    refused(
        kai("v0.17.1", defaultPriorityClasses={"enabled": False}),
        kai("v0.16.3", defaultPriorityClasses={"enabled": False}),
        "writes defaultPriorityClasses.enabled",
    ),
    refused(
        kai("v0.18.0", **{"global": {"resourceReservation": {"createServiceAccount": False}}}),
        kai("v0.14.2", **{"global": {"resourceReservation": {"createServiceAccount": False}}}),
        "writes global.resourceReservation.createServiceAccount",
    ),
    Case(
        "programs-of-other-releases",
        release("kueue", "0.16.9", {}),
        release("kueue", "0.17.3", {}),
        "writes runtimePatches into queued TrainJobs in 0.17.3",
        ADVICE,
        alongside=(release("kubeflow-trainer", "2.1.0", {}),),
    ),
    Case(
        "programs-of-other-releases",
        release("dynamo-platform", "1.4.2", {"global": {"grove": {"enabled": True}}}),
        release("dynamo-platform", "1.5.0", {"global": {"grove": {"enabled": True}}}),
        "needs KAI Scheduler v0.17.0 or later with Grove in 1.5.0",
        ADVICE,
        alongside=(kai("v0.16.3"),),
    ),
)
