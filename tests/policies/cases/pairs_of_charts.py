"""Cases of rules/pairs.py: values that a chart refuses, and values of two charts that disagree."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.pair_objects import dra, node, of_kind, operator, release
from tests.policies.cases.workloads import CONTAINER, LIMITS, job

ADVICE = Level.ADVISORY
GVISOR = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "runsc"}
RESERVED = {"key": "reserved-by", "value": "upgrade", "effect": "NoSchedule"}
SANDBOXED = job(
    {
        "spec.template.spec.runtimeClassName": "gvisor",
        LIMITS: {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"},
    }
)
_PERCONA = {"useBitnami": False, "usePerconaOperator": True}


def sentinel(values: dict[str, Any], version: str = "v1.34.0") -> Thing:
    return release("nvsentinel", version, values, "nvsentinel")


def store(values: dict[str, Any]) -> Thing:
    return sentinel({"global": {"mongodbStore": {"enabled": True}}, "mongodb-store": values})


def connector(values: dict[str, Any]) -> Thing:
    return sentinel({"global": {"platformConnectorAuth": values}})


def transport(mode: str) -> Thing:
    deployed = {"deployment": {"enabled": True}}
    values = {"global": {"platformConnectorDeployment": {"tls": {"mode": mode}}}}
    return sentinel({**values, "platformConnector": deployed})


def dynamo(staleness: str) -> Thing:
    installed = {"install": True}
    own = {"scheduler": {"args": {"default-staleness-grace-period": staleness}}}
    values = {"global": {"grove": installed, "kai-scheduler": installed}, "kai-scheduler": own}
    return release("dynamo-platform", "1.5.0", values)


def percona(values: dict[str, Any]) -> Thing:
    return store({**_PERCONA, **values})


def database(key: str, value: Any, declared: str = "1.22.0") -> Thing:
    return percona({"psmdbVersion": declared, "psmdb-db": {key: value}})


def hami(values: dict[str, Any]) -> Thing:
    return release("hami", "2.11.0", values, "kube-system")


def refused(good: Thing, bad: Thing, found: str) -> Case:
    return Case("chart-program-refuses", good, bad, found, ADVICE, alongside=())


def namespace(**labels: str) -> Thing:
    return of_kind("Namespace", "v1", "ml", labels=labels)


_PREFLIGHT = sentinel({"global": {"preflight": {"enabled": True}}}, "v1.23.0")
_BY_LABEL = {"nvsentinel.nvidia.com/preflight": "enabled"}
_NAMED = {'spec.template.metadata.annotations."nvsentinel.nvidia.com/preflight-checks"': "dcgm"}
_GPU_CLAIM = {
    f"{CONTAINER}.resources": {"claims": [{"name": "gpu"}]},
    "spec.template.spec.resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
}
_REQUEST = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}
_TEMPLATE = of_kind(
    "ResourceClaimTemplate",
    "resource.k8s.io/v1",
    "one",
    {"spec": {"devices": _REQUEST}},
    namespace="ml",
)

_RENAMED = {
    "resourceName": "resourceCountName",
    "resourceMem": "resourceMemoryName",
    "resourceMemPercentage": "resourceMemoryPercentageName",
    "resourceCores": "resourceCoreName",
    "resourcePriority": "resourcePriorityName",
}
_MOVED = (
    "deviceSplitCount",
    "deviceMemoryScaling",
    "deviceCoreScaling",
    "preConfiguredDeviceMemory",
    "enableNumaTopology",
    "runtimeClassName",
    "createRuntimeClass",
)
_PUBLISHERS = {
    "gpu-health-monitor": "gpuHealthMonitor",
    "csp-health-monitor": "cspHealthMonitor",
    "health-events-analyzer": "healthEventsAnalyzer",
    "preflight": "preflight",
}

CASES = (
    Case(
        "dra-driver-root-elsewhere",
        dra({"nvidiaDriverRoot": "/run/nvidia/driver"}),
        dra({"nvidiaDriverRoot": "/"}),
        "looks for the GPU driver in /, and Release gpu/gpu-operator installs it",
        ADVICE,
        alongside=(operator("v26.3.3", {}),),
    ),
    Case(
        "dra-driver-root-elsewhere",
        dra({"nvidiaDriverRoot": "/"}),
        dra({"nvidiaDriverRoot": "/run/nvidia/driver"}),
        "has driver.enabled: false, so the driver is that of the nodes",
        ADVICE,
        alongside=(operator("v26.3.3", {"driver": {"enabled": False}}),),
    ),
    Case(
        "sentinel-preflight-skips",
        job(),
        job(_NAMED),
        "names preflight checks, and Namespace ml lacks the label",
        ADVICE,
        alongside=(_PREFLIGHT, namespace(team="a")),
    ),
    Case(
        "sentinel-preflight-skips",
        job(),
        job(_GPU_CLAIM),
        "gets its GPUs by claims alone",
        ADVICE,
        alongside=(_PREFLIGHT, namespace(**_BY_LABEL), _TEMPLATE),
    ),
    Case(
        "programs-of-other-releases",
        release("hami-webui", "1.3.0", {}),
        release("hami-webui", "1.0.5", {}),
        "reads what HAMi wrote before 2.8, and Release kube-system/hami is of 2.11.0",
        ADVICE,
        alongside=(hami({}),),
    ),
    refused(percona({"oplogSizeMB": 1400}), percona({"oplogSizeMB": 500}), "oplogSizeMB of 500"),
    refused(
        store({"oplogSizeMB": 1400, "mongodb": {"extraFlags": ["--oplogSize=1400"]}}),
        store({"oplogSizeMB": 1400}),
        "mongodb.extraFlags without --oplogSize=1400",
    ),
    refused(percona({}), store({"usePerconaOperator": True}), "both backends of MongoDB on"),
    refused(
        database("crVersion", "1.22.0"),
        database("crVersion", "1.21.1"),
        "psmdb-db.crVersion 1.21.1, which differs from psmdbVersion",
    ),
    refused(
        percona({"psmdbVersion": "1.22.0", "psmdb-operator": {"image": {"tag": "1.22.0"}}}),
        percona({"psmdbVersion": "1.22.0", "psmdb-operator": {"image": {"tag": "1.21.1"}}}),
        "the tag 1.21.1 for psmdb-operator, which differs from psmdbVersion",
    ),
    refused(
        percona({"psmdb-operator": {"image": {"tag": "1.22.0"}}}),
        percona(
            {
                "psmdb-operator": {"image": {"tag": "1.22.0"}},
                "psmdb-db": {"initImage": {"tag": "1.21.1"}},
            }
        ),
        "the tag 1.21.1 for psmdb-db.initImage",
    ),
    refused(
        percona({"collectionExpirySeconds": 2147483647}),
        percona({"collectionExpirySeconds": "30d"}),
        "collectionExpirySeconds 30d, which is not a whole number",
    ),
    refused(connector({"mode": "audit"}), connector({"mode": "warn"}), "names the mode warn"),
    refused(
        connector({"enabled": False}),
        connector({"enabled": "false"}),
        "writes platformConnectorAuth.enabled as text",
    ),
    refused(
        connector({"tokenExpirationSeconds": 600}),
        connector({"tokenExpirationSeconds": 300}),
        "has tokens of 300 seconds",
    ),
    refused(transport("insecureDevelopmentMode"), transport("off"), "names the TLS mode off"),
    refused(
        connector({"crossNodeServiceAccounts": ["system:serviceaccount:ops:monitor"]}),
        connector({"crossNodeServiceAccounts": ["ops/monitor"]}),
        "names ops/monitor in crossNodeServiceAccounts",
    ),
    *(
        refused(
            sentinel({"global": {part: {"enabled": True}}, name: {"publishTo": "deployment"}}),
            sentinel({"global": {part: {"enabled": True}}, name: {"publishTo": "grpc"}}),
            "publishes to grpc, which the chart does not know",
        )
        for name, part in _PUBLISHERS.items()
    ),
    *(
        refused(
            hami({"devices": {"nvidia": {new: "example.com/x"}}}),
            hami({old: "example.com/x"}),
            f"writes {old}, which 2.11.0 has no more",
        )
        for old, new in _RENAMED.items()
    ),
    *(
        refused(
            hami({"devices": {"nvidia": {name: 1}}}),
            hami({"devicePlugin": {name: 1}}),
            f"writes devicePlugin.{name}, which 2.11.0 has no more",
        )
        for name in _MOVED
    ),
    refused(
        dynamo("-1s"), dynamo("-1"), "ends PodGroups itself, and 1.5.0 renders only if KAI does not"
    ),
    Case(
        "hami-beside-others",
        release("hami", "2.9.0", {"devicePlugin": {"enabled": False}}, "kube-system"),
        release("hami", "2.9.0", {}, "kube-system"),
        "does not load in gVisor, and",
        ADVICE,
        alongside=(manifest({**GVISOR, "metadata": {"name": "gvisor"}}), SANDBOXED),
    ),
    *(
        Case(
            "operands-repelled",
            operator("v26.3.2", {"daemonsets": {"tolerations": [*own, RESERVED]}}),
            operator("v26.3.2", {"daemonsets": {"tolerations": own}} if own else {}),
            "does not tolerate a taint of Node gpu-1, which has GPUs",
            ADVICE,
            alongside=(
                node(
                    labels={"nvidia.com/gpu.present": "true"},
                    taints=[RESERVED],
                ),
            ),
        )
        for own in ([], [{"key": "nvidia.com/gpu", "operator": "Exists"}])
    ),
)
