"""Cases of rules/pairs.py: programs that own one definition, node or GPU, and what Talos, KubeVirt
and KServe make of an object."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pair_objects import dra, node, of_kind, operator, release
from tests.policies.cases.workloads import CONTAINER, deployment

ADVICE = Level.ADVISORY
GPU = {"nvidia.com/gpu.present": "true"}
TOOLKIT = "nvidia.com/gpu.deploy.container-toolkit"
MANAGED = {"cloud.google.com/gke-gpu-driver-version": "default"}
WITHOUT_PLUGIN = {**MANAGED, "gke-no-default-nvidia-gpu-device-plugin": "true"}
MODULES = "  kernel: {modules: [{name: nvidia}, {name: nvidia_uvm}]}\n"
ONE = {f"{CONTAINER}.resources": {"limits": {"memory": "16Gi", "nvidia.com/gpu": "1"}}}
LEGACY = {**ONE, "spec.template.spec.runtimeClassName": "nvidia-legacy"}
GIVES_GPUS = {"gpuResourcesEnabledOverride": True, "resources": {"gpus": {"enabled": True}}}
CDI_OFF = {"devicePlugin": {"enabled": False}, "cdi": {"enabled": False}}


def kai(**more: Any) -> Thing:
    changes: dict[str, Any] = {
        "spec.template.spec.schedulerName": "kai-scheduler",
        'spec.template.metadata.labels."kai.scheduler/queue"': "team",
    }
    return deployment({**changes, **more})


def kai_queue(name: str, quota: int, parent: str = "root") -> Thing:
    spec = {"parentQueue": parent, "resources": {"gpu": {"quota": quota, "limit": -1}}}
    return of_kind("Queue", "scheduling.run.ai/v2", name, spec)


def definition(plural: str, *fields: str, versions: tuple[str, ...] = ("v1",)) -> Thing:
    known = {field: {"type": "boolean"} for field in fields}
    schema = {"openAPIV3Schema": {"type": "object", "properties": known}}
    served = [{"name": one, "served": True, "schema": schema} for one in versions]
    spec = {"group": plural.partition(".")[2], "scope": "Cluster", "versions": served}
    return of_kind("CustomResourceDefinition", "apiextensions.k8s.io/v1", plural, spec)


def application(chart: str, heals: bool) -> Thing:
    spec = {
        "source": {"chart": chart, "repoURL": "https://charts.example", "targetRevision": "1"},
        "destination": {"namespace": "gpu"},
        "syncPolicy": {"automated": {"selfHeal": heals}},
    }
    return of_kind("Application", "argoproj.io/v1alpha1", chart, spec, namespace="argocd")


def virtual(kind: str, version: str, spec: dict[str, Any]) -> Thing:
    return of_kind(kind, version, "kubevirt", spec, namespace="kubevirt")


def kubevirt(devices: list[dict[str, str]]) -> Thing:
    spec = {"configuration": {"permittedHostDevices": {"mediatedDevices": devices}}}
    return virtual("KubeVirt", "kubevirt.io/v1", spec)


def of_vgpus(product: str, kernel: str) -> Thing:
    labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.workload.config": "vm-vgpu"}
    thing = node(labels={**GPU, **labels})
    thing.properties["status"]["nodeInfo"]["kernelVersion"] = kernel
    return thing


def talos(modules: str) -> Thing:
    image = "ghcr.io/siderolabs/nvidia-open-gpu-kernel-modules-production:580.95.05-v1.11.0"
    patch = f"machine:\n  install: {{extensions: [{{image: '{image}'}}]}}\n{modules}"
    spec = {"template": {"spec": {"generateType": "worker", "strategicPatches": [patch]}}}
    version = "bootstrap.cluster.x-k8s.io/v1alpha3"
    return of_kind("TalosConfigTemplate", version, "gpu", spec, namespace="a")


def dynamo(version: str, **values: Any) -> Thing:
    return release("dynamo-platform", version, values)


def grove(version: str) -> Thing:
    return release("grove-charts", f"v0.1.0-alpha.{version}", {})


def graph(**more: Any) -> Thing:
    spec = {"services": {"Frontend": {"componentType": "frontend", "replicas": 1}}, **more}
    return of_kind("DynamoGraphDeployment", "nvidia.com/v1alpha1", "llm", spec, namespace="demo")


def planned(kind: str) -> Thing:
    asks = ["--config", '{"backend": "vllm", "mode": "agg"}']
    planner = {
        "name": "main",
        "image": "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.3.0",
        "args": asks,
    }
    worker = {"name": "main", "image": "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0"}
    parts = [
        {"name": name, "type": type, "podTemplate": {"spec": {"containers": [container]}}}
        for name, type, container in (("P", "planner", planner), ("W", kind, worker))
    ]
    version = "nvidia.com/v1beta1"
    return of_kind("DynamoGraphDeployment", version, "llm", {"components": parts}, namespace="a")


def crio(**labels: str) -> Thing:
    thing = node(labels={**GPU, **labels})
    thing.properties["status"]["nodeInfo"]["containerRuntimeVersion"] = "cri-o://1.34.1"
    return thing


def old_containerd() -> Thing:
    thing = node(labels=GPU)
    thing.properties["status"]["nodeInfo"]["containerRuntimeVersion"] = "containerd://1.7.27"
    return thing


def served(minimum: int | None = None) -> Thing:
    model = {"modelFormat": {"name": "huggingface"}, "resources": {"limits": {"nvidia.com/gpu": 1}}}
    predictor: dict[str, Any] = {"model": model}
    if minimum is not None:
        predictor["minReplicas"] = minimum
    bounds = {"autoscaling.knative.dev/min-scale": "0"}
    version = "serving.kserve.io/v1beta1"
    spec = {"predictor": predictor}
    return of_kind("InferenceService", version, "llm", spec, namespace="ml", annotations=bounds)


def own_plugin(folder: str) -> Thing:
    image = "nvcr.io/nvidia/k8s-device-plugin:v0.19.3"
    mounts = [
        {"name": "libraries", "mountPath": "/host-lib"},
        {"name": "plugins", "mountPath": "/var/lib/kubelet/device-plugins"},
    ]
    container = {
        "name": "plugin",
        "image": image,
        "env": [{"name": "LD_LIBRARY_PATH", "value": "/host-lib"}],
        "volumeMounts": mounts,
    }
    volumes = [
        {"name": "libraries", "hostPath": {"path": folder}},
        {"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}},
    ]
    template = {
        "metadata": {"labels": {"app": "plugin"}},
        "spec": {"containers": [container], "volumes": volumes},
    }
    spec = {"selector": {"matchLabels": {"app": "plugin"}}, "template": template}
    return of_kind("DaemonSet", "apps/v1", "plugin", spec, namespace="kube-system")


def refused(good: Thing, bad: Thing, found: str) -> Case:
    return Case("chart-program-refuses", good, bad, found, ADVICE, alongside=())


def apart(good: Thing, bad: Thing, found: str, *more: Thing) -> Case:
    return Case("programs-of-other-releases", good, bad, found, ADVICE, alongside=more)


def older(good: Thing, bad: Thing, found: str, *more: Thing) -> Case:
    return Case("definition-older-than-controller", good, bad, found, ADVICE, alongside=more)


def against(good: Thing, bad: Thing, found: str, *more: Thing) -> Case:
    return Case("node-labels-against-operator", good, bad, found, ADVICE, alongside=more)


CASES = (
    Case(
        "kai-guarantee-absent",
        kai(**{"spec.template.spec.priorityClassName": "train"}),
        kai(),
        "does not preempt by default, and Queue team guarantees 0 GPUs",
        ADVICE,
        alongside=(kai_queue("team", 0),),
    ),
    Case(
        "kai-guarantee-absent",
        kai(**{"spec.template.spec.priorityClassName": "build-preemptible"}),
        kai(**{"spec.template.spec.priorityClassName": "build"}),
        "has a priority that KAI does not preempt, and Queue root over Queue team guarantees 0",
        ADVICE,
        alongside=(kai_queue("team", 4), kai_queue("root", 0, "")),
    ),
    older(
        operator("v26.7.0", {"operator": {"upgradeCRD": True}}),
        operator("v26.7.0", {"operator": {"upgradeCRD": False}}),
        "which are not defined next to CustomResourceDefinition clusterpolicies.nvidia.com",
        definition("clusterpolicies.nvidia.com", "nriPluginEnabled"),
    ),
    older(
        operator("v25.10.1", {}),
        operator("v26.3.1", {}),
        "lacks cdi.nriPluginEnabled, a field of v26.3",
        definition("clusterpolicies.nvidia.com", "kernelModuleType"),
    ),
    older(
        operator("v24.9.2", {}),
        operator("v25.3.4", {}),
        "lacks driver.kernelModuleType, a field of v25.3",
        definition("clusterpolicies.nvidia.com", "useOpenKernelModules"),
    ),
    older(
        release("kueue", "0.14.8", {}),
        release("kueue", "0.17.7", {}),
        "does not serve v1beta2",
        definition("clusterqueues.kueue.x-k8s.io", versions=("v1beta1",)),
    ),
    older(
        release("karpenter", "0.37.8", {}),
        release("karpenter", "1.8.1", {}),
        "does not serve v1: it is of an older release",
        definition("nodepools.karpenter.sh", versions=("v1beta1",)),
    ),
    Case(
        "definition-of-two-owners",
        operator("v26.3.3", {}),
        operator("v26.7.0", {}),
        "brings the definition of ComputeDomain in v26.7.0, and so does",
        ADVICE,
        alongside=(dra(), application("gpu-operator", heals=True)),
    ),
    Case(
        "mediated-devices-gone",
        kubevirt([]),
        kubevirt([{"mdevNameSelector": "NVIDIA L40S-24Q", "resourceName": "nvidia.com/q"}]),
        "has a NVIDIA-L40S and the kernel 6.8.0-71-generic, where vGPUs are virtual functions",
        ADVICE,
        alongside=(of_vgpus("NVIDIA-L40S", "6.8.0-71-generic"),),
    ),
    Case(
        "mediated-devices-gone",
        virtual("HyperConverged", "hco.kubevirt.io/v1beta1", {"permittedHostDevices": {}}),
        virtual(
            "HyperConverged",
            "hco.kubevirt.io/v1beta1",
            {"permittedHostDevices": {"mediatedDevices": [{"mdevNameSelector": "NVIDIA H100"}]}},
        ),
        "has a NVIDIA-H100-NVL and the kernel 6.12.0",
        ADVICE,
        alongside=(of_vgpus("NVIDIA-H100-NVL", "6.12.0"),),
    ),
    Case("talos-driver-not-loaded", talos(MODULES), talos(""), "loads none of them", ADVICE),
    apart(
        dynamo("1.4.1"),
        dynamo("1.2.1"),
        "has renamed to ClusterTopologyBinding",
        grove("12"),
        graph(topologyConstraint={"packDomain": "rack"}),
    ),
    apart(dynamo("1.2.1"), dynamo("1.4.1"), "needs Grove v0.1.0-alpha.11 or later", grove("8")),
    apart(dynamo("1.4.1"), dynamo("1.5.0"), "needs Grove v0.1.0-alpha.13 or later", grove("12")),
    apart(
        dynamo("1.4.1"),
        dynamo("1.5.0"),
        "needs KAI Scheduler v0.17.0 or later with Grove",
        grove("13"),
        release("kai-scheduler", "v0.13.4", {}),
    ),
    Case(
        "planner-without-worker",
        planned("decode"),
        planned("worker"),
        "has a planner 1.3.0 in the mode agg and a worker",
        ADVICE,
        alongside=(),
    ),
    against(
        operator("v25.10.1", {}),
        operator("v25.10.1", {"driver": {"enabled": False}}),
        "relies on GKE's managed driver",
        node(labels=WITHOUT_PLUGIN),
    ),
    against(
        operator("v25.3.4", {}),
        operator("v26.3.1", {}),
        "waits on Node gpu-1 for the file toolkit-ready",
        crio(**{TOOLKIT: "false"}),
    ),
    Case(
        "knative-scale-not-read",
        served(0),
        served(),
        "has min-scale 0, which KServe removes",
        ADVICE,
        alongside=(),
    ),
    Case(
        "release-fails-on-node",
        dra(),
        dra(GIVES_GPUS),
        "does not switch CDI on in containerd, which Node gpu-1 runs as containerd://1.7.27",
        ADVICE,
        alongside=(
            old_containerd(),
            operator("v25.3.1", {"devicePlugin": {"enabled": False}, "driver": {"enabled": False}}),
        ),
    ),
    Case(
        "release-fails-on-node",
        dra(),
        dra(GIVES_GPUS),
        "does not switch CDI on in containerd",
        ADVICE,
        alongside=(
            old_containerd(),
            operator("v25.10.1", {**CDI_OFF, "driver": {"enabled": False}}),
        ),
    ),
    refused(
        dynamo("0.8.1", etcd={"enabled": False}),
        dynamo("1.0.2", etcd={"enabled": False}),
        "writes etcd.enabled, which 1.0.2 refuses",
    ),
    refused(
        dynamo("1.3.0", **{"global": {"volcano-scheduler": {"enabled": True}}}),
        dynamo(
            "1.3.0",
            **{
                "global": {
                    "volcano-scheduler": {"enabled": True},
                    "kai-scheduler": {"enabled": True},
                }
            },
        ),
        "integrates KAI and Volcano in 1.3.0",
    ),
    refused(
        dynamo(
            "1.4.1", **{"global": {"grove": {"install": True}, "kai-scheduler": {"install": True}}}
        ),
        dynamo(
            "1.5.0", **{"global": {"grove": {"install": True}, "kai-scheduler": {"install": True}}}
        ),
        "installs KAI for Grove",
    ),
    Case(
        "hami-beside-others",
        release("hami", "2.9.0", {"devicePlugin": {"enabled": False}}),
        release("hami", "2.9.0", {}),
        "offers nvidia.com/gpu, and so does Release gpu/nvidia-device-plugin on the same nodes",
        ADVICE,
        alongside=(release("nvidia-device-plugin", "0.19.1", {}),),
    ),
    Case(
        "sentinel-misses-driver",
        release("nvsentinel", "v1.22.0", {"labeler": {"assumeDriverInstalled": True}}),
        release("nvsentinel", "v1.9.0", {"labeler": {"assumeDriverInstalled": True}}),
        "makes none with the NRI plugin",
        ADVICE,
        alongside=(operator("v26.7.0", {"cdi": {"nriPluginEnabled": True}}),),
    ),
    Case(
        "runtime-class-of-operator-gone",
        deployment(ONE),
        deployment(LEGACY),
        "which reads NVIDIA_VISIBLE_DEVICES, and Release gpu/gpu-operator gives GPUs by CDI",
        ADVICE,
        alongside=(operator("v25.10.1", {"cdi": {"enabled": True}}),),
    ),
    Case(
        "device-plugin-without-socket",
        own_plugin("/opt/nvidia/lib"),
        own_plugin("/usr/lib/x86_64-linux-gnu"),
        "has the host's folder of libraries in LD_LIBRARY_PATH",
        ADVICE,
        alongside=(),
    ),
)
