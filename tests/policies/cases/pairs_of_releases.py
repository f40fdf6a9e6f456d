"""Cases of rules/pairs.py: releases on nodes where they fail, HAMi, and values without effect in a
program."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pair_objects import GKE, node, operator, release
from tests.policies.cases.workloads import CONTAINER, job

ADVICE = Level.ADVISORY
GPU = {"nvidia.com/gpu.present": "true"}
ARM = {"key": "kubernetes.io/arch", "operator": "Exists", "effect": "NoSchedule"}
TOOLKIT = "nvidia.com/gpu.deploy.container-toolkit"
SPARK = node("spark-1", {**GPU, "nvidia.com/gpu.product": "NVIDIA-GB10"})
TALOS = node("talos-1", image="Talos (v1.12.6)")
OLD_DRIVER = node(labels={**GPU, "nvidia.com/cuda.driver-version.major": "550"})
RELEASE = "feature.node.kubernetes.io/system-os_release.VERSION_ID"
MEMORY = 'metadata.annotations."nvidia.com/gpumem"'
CHOICE = '"nvidia.com/use-gpuuuid"'
CHOSEN = f"spec.template.metadata.annotations.{CHOICE}"


def plugin(version: str, **values: Any) -> Thing:
    return release("nvidia-device-plugin", version, values)


def crio(name: str = "gpu-2", **labels: str) -> Thing:
    return with_runtime(node(name, {**GPU, **labels}), "cri-o://1.33.4")


def with_runtime(thing: Thing, runtime: str) -> Thing:
    thing.properties["status"]["nodeInfo"]["containerRuntimeVersion"] = runtime
    return thing


def sliced() -> Thing:
    thing = node(labels={**GPU, "nvidia.com/mig.strategy": "mixed"}, gpus=7)
    thing.properties["status"]["allocatable"]["nvidia.com/mig-1g.10gb"] = "7"
    return thing


def nri(version: str) -> Thing:
    return operator(version, {"cdi": {"nriPluginEnabled": True}})


def hami(values: dict[str, Any] | None = None, version: str = "2.10.0") -> Thing:
    return release("hami", version, values or {}, "kube-system")


def mig_mode(strategy: str) -> dict[str, Any]:
    modes = {"config": '{"nodeconfig": [{"name": "a", "operatingmode": "mig"}]}'}
    return {"devicePlugin": {"deviceListStrategy": strategy, "nodeConfiguration": modes}}


def exporter(memory: str) -> Thing:
    return release(
        "dcgm-exporter", "4.8.0", {"resources": {"limits": {"memory": memory, "cpu": "1"}}}
    )


def sentinel(values: dict[str, Any]) -> Thing:
    return release("nvsentinel", "v1.16.0", values)


def on_node(good: Thing, bad: Thing, found: str, *beside: Thing) -> Case:
    return Case("release-fails-on-node", good, bad, found, ADVICE, alongside=beside)


def with_system(name: str, version: str) -> Thing:
    return node(name, {**GPU, "nvidia.com/gpu.deploy.driver": "true", RELEASE: version})


def in_values(good: Thing, bad: Thing, found: str) -> Case:
    return Case("chart-program-refuses", good, bad, found, ADVICE)


CASES = (
    Case(
        "release-has-fault",
        release("kueue", "0.17.7", {"enableCertManager": True}),
        release("kueue", "0.17.6", {"enableCertManager": True}),
        "ends again and again with enableCertManager in 0.17.6",
        ADVICE,
        alongside=(),
    ),
    on_node(
        operator("v25.10.1", {}), operator("v25.3.4", {}), "is of v25.3.4, and Node spark-1", SPARK
    ),
    on_node(
        plugin("0.17.4"),
        plugin("0.17.3"),
        "is of 0.17.3, and Node spark-1 has a GB10",
        SPARK,
    ),
    on_node(
        operator("v26.3.1", {"toolkit": {"enabled": False}}),
        operator("v26.3.0", {"toolkit": {"enabled": False}}),
        "cannot read the version label of Node talos-1 (Talos (v1.12.6))",
        TALOS,
    ),
    on_node(
        plugin("0.18.1", deviceListStrategy="envvar"),
        plugin("0.18.1", deviceListStrategy="cdi-annotations"),
        "ends with drivers before 570, and Node gpu-1 has 550",
        OLD_DRIVER,
    ),
    on_node(
        nri("v26.3.2"),
        nri("v26.3.1"),
        "Node gpu-2 runs cri-o://1.33.4, which it does not work with in v26.3.1",
        crio(),
    ),
    on_node(
        operator("v26.7.0", {"toolkit": {"enabled": False}}),
        nri("v26.7.0"),
        f"the label {TOOLKIT} keeps it off Node gpu-2",
        crio(**{TOOLKIT: "false"}),
    ),
    on_node(
        operator("v25.3.1", {"toolkit": {"enabled": False}}),
        operator("v25.3.1", {}),
        "Node gpu-1 runs containerd and Node gpu-2 CRI-O",
        node(labels=GPU),
        crio(),
    ),
    on_node(
        operator("v25.3.2", {"cdi": {"enabled": False}, "toolkit": {"enabled": False}}),
        operator("v25.3.2", {"cdi": {"enabled": True}, "toolkit": {"enabled": False}}),
        "which v25.3.2 does not support on RKE2",
        node(labels=GPU, kubelet="v1.32.5+rke2r1"),
    ),
    on_node(
        operator("v25.3.2", {"driver": {"version": "570.172.08"}}),
        operator("v25.3.2", {"driver": {"version": "570.148.08"}}),
        "pods with GPUs stay pending on a node of whole GPUs and slices such as Node gpu-1",
        sliced(),
    ),
    on_node(
        operator("v25.10.1", {"cdi": {"enabled": False}}),
        operator("v25.10.1", {}),
        "which needs containerd 1.7, and Node gpu-1 runs containerd://1.6.31",
        with_runtime(node(labels=GPU), "containerd://1.6.31"),
    ),
    on_node(
        operator("v26.3.3", {}),
        operator("v26.7.0", {}),
        "supports containerd 2.0 and later, and Node gpu-1 runs containerd://1.7.27",
        with_runtime(node(labels=GPU), "containerd://1.7.27"),
    ),
    Case(
        "hami-not-read",
        job({'metadata.annotations."example.com/gpumem"': "6000"}),
        job({MEMORY: "6000"}),
        "requests a part of a GPU in annotations",
        ADVICE,
    ),
    Case(
        "hami-not-read",
        job({CHOSEN: "GPU-1"}),
        job({f"metadata.annotations.{CHOICE}": "GPU-1"}),
        "chooses GPUs in its own annotations, which its pods do not have",
        ADVICE,
    ),
    Case(
        "hami-not-read",
        job({'spec.template.metadata.annotations."hami.io/gpu-scheduler-policy"': "spread"}),
        job({'spec.template.metadata.annotations."hami.io/gpu-schedule-policy"': "spread"}),
        "has an annotation that is nearly one of HAMi's",
        ADVICE,
    ),
    Case(
        "hami-not-read",
        job({'spec.template.metadata.annotations."nvidia.com/use-gputype"': "A100"}),
        job({'spec.template.metadata.annotations."hami.io/use-gputype"': "A100"}),
        "chooses GPUs by an annotation that HAMi does not read",
        ADVICE,
    ),
    Case(
        "hami-beside-others",
        hami({"devicePlugin": {"nvidiaNodeSelector": {"pool": "a"}}}),
        hami(),
        "which neither Node gpu-1 nor another node here has",
        ADVICE,
        alongside=(node(labels={"pool": "a"}),),
    ),
    Case(
        "hami-beside-others",
        hami({"devicePlugin": {"enabled": False}}),
        hami(),
        "and so does the device plugin of Release gpu/gpu-operator",
        ADVICE,
        alongside=(operator("v25.3.0", {}),),
    ),
    Case(
        "hami-beside-others",
        hami(),
        hami({"scheduler": {"forceOverwriteDefaultScheduler": False}}),
        "names default-scheduler, which knows no nvidia.com/gpumem",
        ADVICE,
        alongside=(
            job(
                {
                    "spec.template.spec.schedulerName": "default-scheduler",
                    f"{CONTAINER}.resources.limits": {
                        "nvidia.com/gpu": "1",
                        "nvidia.com/gpumem": "3000",
                    },
                }
            ),
        ),
    ),
    Case(
        "hami-beside-others",
        hami({"devicePlugin": {"nvidiaDriverRoot": "/home/kubernetes/bin/nvidia"}}),
        hami(),
        "GKE puts it in /home/kubernetes/bin/nvidia on nodes such as Node gpu-1",
        ADVICE,
        alongside=(node(labels={**GKE, "gpu": "on"}),),
    ),
    Case(
        "sentinel-misses-driver",
        sentinel({"labeler": {"assumeDriverInstalled": True}}),
        sentinel({}),
        "looks for driver pods, and Release gpu/gpu-operator has driver.enabled: false",
        ADVICE,
        alongside=(operator("v26.3.3", {"driver": {"enabled": False}}),),
    ),
    Case(
        "sentinel-misses-driver",
        sentinel({"metadata-collector": {"runtimeClassName": "nvidia-container-runtime"}}),
        sentinel({}),
        "names the RuntimeClass nvidia, and Release gpu/gpu-operator makes nvidia-container",
        ADVICE,
        alongside=(
            operator("v26.3.3", {"operator": {"runtimeClass": "nvidia-container-runtime"}}),
        ),
    ),
    Case(
        "operands-repelled",
        release("nvsentinel", "v0.10.0", {"global": {"tolerations": [{"operator": "Exists"}]}}),
        release("nvsentinel", "v0.10.0", {}),
        "has no tolerations in v0.10.0, and Node gpu-1 has a taint",
        ADVICE,
        alongside=(node(labels=GPU, taints=[{"key": "gpu", "effect": "NoSchedule"}]),),
    ),
    Case(
        "operands-repelled",
        operator("v26.3.1", {"daemonsets": {"tolerations": [ARM]}}),
        operator("v26.3.1", {}),
        "has no toleration of kubernetes.io/arch, a taint of Node gpu-1",
        ADVICE,
        alongside=(
            node(
                labels=GPU,
                taints=[{"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"}],
            ),
        ),
    ),
    Case("exporter-memory-too-small", exporter("1Gi"), exporter("358Mi"), "may take 358Mi", ADVICE),
    Case(
        "exporter-memory-too-small",
        operator("v26.3.3", {"dcgmExporter": {"resources": {"limits": {"memory": "512Mi"}}}}),
        operator("v26.3.3", {"dcgmExporter": {"resources": {"limits": {"memory": "128Mi"}}}}),
        "may take 128Mi",
        ADVICE,
    ),
    in_values(
        operator("v26.3.3", {"dcgm": {"enabled": True, "args": ["-n", "-b", "ALL"]}}),
        operator("v26.3.3", {"dcgm": {"enabled": True, "args": ["--log-level", "DEBUG"]}}),
        "gives DCGM arguments without -b",
    ),
    in_values(
        operator("v25.10.1", {"validator": {"image": "gpu-operator"}}),
        operator("v25.10.1", {"validator": {"image": "gpu-operator-validator"}}),
        "which has no tag of v25.10.1",
    ),
    in_values(
        hami({"scheduler": {"kubeScheduler": {"image": {"tag": "v1.29.0"}}}}),
        hami({"scheduler": {"kubeScheduler": {"imageTag": "v1.29.0"}}}),
        "as releases before 2.9.0 did: 2.10.0 does not read it",
    ),
    in_values(
        hami({"devicePlugin": {"hostPIDBroker": {"enabled": True}}}),
        hami({"devicePlugin": {"hostPIDBroker": {"enabled": True}, "hostPID": False}}),
        "requests host PIDs from the device plugin, and hostPID is false",
    ),
    in_values(
        hami({"devicePlugin": {"numaRefit": {"enabled": True}, "enableNumaTopology": True}}),
        hami({"devicePlugin": {"numaRefit": {"enabled": True}}}),
        "enableNumaTopology is not true",
    ),
    in_values(
        hami(mig_mode("envvar")),
        hami(mig_mode("cdi-annotations")),
        "gives devices by CDI, and a node is in the mode mig",
    ),
    in_values(
        sentinel({"node-drainer": {"partialDrainEnabled": False}}),
        sentinel(
            {"node-drainer": {"userNamespaces": [{"name": "a", "partialDrainEnabled": True}]}}
        ),
        "has partialDrainEnabled below a namespace",
    ),
    on_node(
        operator("v26.3.3", {"driver": {"nvidiaDriverCRD": {"enabled": True}}}),
        operator("v26.3.3", {}),
        "is for nodes of one operating system version, and Node gpu-1 runs 22.04 and Node gpu-2",
        with_system("gpu-1", "22.04"),
        with_system("gpu-2", "24.04"),
    ),
)
