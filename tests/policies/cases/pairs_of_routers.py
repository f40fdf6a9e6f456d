"""Cases of rules/pairs.py: values of the router of llm-d and of KAI's chart that fail or are not
read, releases of schedulers and trainers that do not work together, servers over several nodes, and
pools and queues whose labels are wrong."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pair_objects import of_kind, release
from tests.policies.cases.workloads import deployment, job

ADVICE = Level.ADVISORY
PODS = "spec.template.metadata.labels"
_SERVERS = {"modelServers": {"matchLabels": {"llm-d.ai/guide": "baseline"}}}


def router(name: str = "standalone", **values: Any) -> Thing:
    return release(f"llm-d-router-{name}", "v0.10.0", {"router": {**_SERVERS, **values}}, "llm-d")


def bare(name: str, **values: Any) -> Thing:
    return release(f"llm-d-router-{name}", "v0.10.0", values, "llm-d")


def proxy(pool: bool = True, **values: Any) -> Thing:
    return router(inferencePool={"create": pool}, proxy=values)


def kai(version: str, **values: Any) -> Thing:
    return release("kai-scheduler", version, values, "kai-scheduler")


def group(*words: str, tag: str = "v0.11.2", gpus: int = 8) -> Thing:
    """A leader and a worker of vLLM."""
    memory = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    container = {
        "name": "vllm",
        "image": f"vllm/vllm-openai:{tag}",
        "resources": {"limits": {"nvidia.com/gpu": gpus, "memory": "64Gi"}},
        "readinessProbe": {"tcpSocket": {"port": 8000}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    first = {**container, "args": ["--model", "a/b", *words]}
    other = {**container, "command": ["ray"], "args": ["start", "--block", "--address=leader"]}
    leader = {"spec": {"containers": [first], "volumes": [memory]}}
    worker = {"spec": {"containers": [other], "volumes": [memory]}}
    template = {"size": 2, "leaderTemplate": leader, "workerTemplate": worker}
    spec = {"replicas": 1, "leaderWorkerTemplate": template}
    return of_kind("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "llm", spec, namespace="ml")


def split(bad: Thing, found: str, good: Thing) -> Case:
    return Case("server-options-refused", good, bad, found, ADVICE, alongside=())


def pool(**labels: str) -> Thing:
    spec = {
        "selector": {"matchLabels": {f"llm-d.ai/{key}": value for key, value in labels.items()}},
        "targetPorts": [{"number": 8000}],
        "endpointPickerRef": {"name": "epp", "port": {"number": 9002}},
    }
    return of_kind("InferencePool", "inference.networking.k8s.io/v1", "p", spec, namespace="ml")


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
    *(
        split(
            group("--tensor-parallel-size", str(gpus), gpus=gpus // 2),
            f"splits a model over {gpus} GPUs, has {gpus // 2} in a pod",
            group(
                "--tensor-parallel-size",
                str(gpus),
                "--distributed-executor-backend",
                "ray",
                gpus=gpus // 2,
            ),
        )
        for gpus in (2, 4, 8, 16, 32)
    ),
    *(
        split(
            group(f"--tensor-parallel-size={gpus}", "--pipeline-parallel-size=2", gpus=gpus),
            f"splits a model over {2 * gpus} or more GPUs, has {gpus} in a pod",
            group(
                f"--tensor-parallel-size={gpus}",
                "--pipeline-parallel-size=2",
                tag="v0.11.0",
                gpus=gpus,
            ),
        )
        for gpus in (2, 4, 8)
    ),
    Case(
        "kueue-queue-in-annotation",
        job({'metadata.labels."kueue.x-k8s.io/queue-name"': "team"}),
        job({'metadata.annotations."kueue.x-k8s.io/queue-name"': "team"}),
        "names the queue team in an annotation",
        ADVICE,
        alongside=(),
    ),
    *(
        Case(
            "service-selects-nothing",
            pool(**{key: "optimized-baseline"}),
            pool(**{key: "optimised-baseline"}),
            f"selects pods with llm-d.ai/{key} optimised-baseline, which none of these files has",
            ADVICE,
            alongside=(deployment({f'{PODS}."llm-d.ai/{key}"': "optimized-baseline"}),),
        )
        for key in ("guide", "model")
    ),
)
