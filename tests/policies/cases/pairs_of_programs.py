"""More cases of rules/pairs.py: values of charts, and what their programs and the nodes make of
them."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pair_objects import GKE, node, of_kind, operator, plugin, release
from tests.policies.cases.workloads import job

ADVICE = Level.ADVISORY
GPU = {"nvidia.com/gpu.present": "true"}
SOURCE = [{"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}]
TALOS = node(labels=GPU, gpus=0, image="Talos (v1.11.2)")


def router(**values: Any) -> Thing:
    return release("vllm-stack", "0.1.8", {"routerSpec": values}, "vllm")


def kai(values: dict[str, Any]) -> Thing:
    return release("kai-scheduler", "v0.17.0", values, "kai-scheduler")


def flavor(name: str, label: str) -> Thing:
    spec = {"nodeLabels": {"pool": label}, "topologyName": "racks"}
    return of_kind("ResourceFlavor", "kueue.x-k8s.io/v1beta2", name, spec)


_GROUP = {
    "coveredResources": ["nvidia.com/gpu"],
    "flavors": [{"name": "gpu", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}],
}
_OF_GPU = of_kind(
    "ClusterQueue",
    "kueue.x-k8s.io/v1beta2",
    "all",
    {"namespaceSelector": {}, "resourceGroups": [_GROUP]},
)


def images(**term: str) -> Thing:
    tags = [{"tags": {"karpenter.sh/discovery": "ml"}}]
    spec = {
        "amiFamily": "AL2023",
        "role": "KarpenterNodeRole",
        "amiSelectorTerms": [term],
        "subnetSelectorTerms": tags,
        "securityGroupSelectorTerms": tags,
    }
    return of_kind("EC2NodeClass", "karpenter.k8s.aws/v1", "gpu", spec)


def opened(release: str, **driver: Any) -> Thing:
    return operator(release, {"driver": {"useOpenKernelModules": True, **driver}})


K3S = "/run/k3s/containerd/containerd.sock"
PRESENT = {"nvidia.com/gpu.present": "true"}


def containerd(release: str, *more: dict[str, str]) -> Thing:
    env = [{"name": "CONTAINERD_CONFIG", "value": "/etc/k0s/containerd.d/nvidia.toml"}, *more]
    return operator(release, {"toolkit": {"env": env}})


def karpenter(version: str, **gates: bool) -> Thing:
    settings = {"clusterName": "ml", "featureGates": gates}
    return release("karpenter", version, {"settings": settings}, "karpenter")


def reserving() -> Thing:
    thing = images(alias="al2023@v20250920")
    thing.properties["spec"]["capacityReservationSelectorTerms"] = [{"id": "cr-0123456789abcdef0"}]
    return thing


def static_pool() -> Thing:
    template = {
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"},
            "requirements": [
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]}
            ],
        }
    }
    return of_kind("NodePool", "karpenter.sh/v1", "fixed", {"replicas": 2, "template": template})


def network(version: str) -> Thing:
    return release("network-operator", version, {"nfd": {"enabled": True}}, "network-operator")


def ofed(version: str) -> Thing:
    driver = {"image": "doca-driver", "repository": "nvcr.io/nvidia/mellanox", "version": version}
    return of_kind(
        "NicClusterPolicy", "mellanox.com/v1alpha1", "nic-cluster-policy", {"ofedDriver": driver}
    )


def runtime(version: str) -> Thing:
    thing = node(labels=GPU, gpus=0, image="Ubuntu 22.04.5 LTS")
    thing.properties["status"]["nodeInfo"]["containerRuntimeVersion"] = f"containerd://{version}"
    return thing


def choosing(**labels: str) -> Thing:
    return job({"spec.template.spec.nodeSelector": labels})


def _configs(text: str, name: str = "shares") -> Thing:
    found = of_kind("ConfigMap", "v1", name, namespace="gpu")
    found.properties["data"] = {"any": text}
    return found


_CONFIGS = _configs("version: v1")
_SHARES = (
    "sharing: {timeSlicing: {failRequestsGreaterThanOne: true, "
    "resources: [{name: nvidia.com/gpu, replicas: 4}]}}"
)
_LAYOUTS = "version: v1\nmig-configs: {off: [{devices: all, mig-enabled: false}]}"


CASES = (
    Case(
        "karpenter-gate-off",
        karpenter("1.4.0", reservedCapacity=True),
        karpenter("1.4.0"),
        "has the gate reservedCapacity off, the default before 1.6, and EC2NodeClass gpu chooses",
        ADVICE,
        alongside=(reserving(),),
    ),
    Case(
        "karpenter-gate-off",
        karpenter("1.8.1"),
        karpenter("1.8.1", reservedCapacity=False),
        "has the gate reservedCapacity off, and EC2NodeClass gpu chooses reservations",
        ADVICE,
        alongside=(reserving(),),
    ),
    Case(
        "karpenter-gate-off",
        karpenter("1.9.0", staticCapacity=True),
        karpenter("1.9.0"),
        "has the gate staticCapacity off, the default, and NodePool fixed has replicas",
        ADVICE,
        alongside=(static_pool(),),
    ),
    *(
        Case(
            "network-driver-of-older-release",
            network(good),
            network(bad),
            f"is of {bad}, and NicClusterPolicy nic-cluster-policy has the driver {driver}",
            ADVICE,
            alongside=(ofed(driver),),
        )
        for good, bad, driver in (
            ("24.10.1", "25.1.0", "24.10-0.7.0.0-0"),
            ("25.1.0", "25.4.0", "25.01-0.6.0.0-0"),
            ("25.4.0", "25.7.0", "25.04-0.6.1.0-2"),
            ("25.7.0", "25.10.0", "25.07-0.9.7.0-0"),
            ("25.10.0", "26.4.1", "doca3.2.0-25.10-1.2.8.0-2"),
        )
    ),
    Case(
        "device-plugin-default-absent",
        operator("v26.3.1", {"devicePlugin": {"config": {"name": "shares", "default": "any"}}}),
        operator("v26.3.1", {"devicePlugin": {"config": {"name": "shares", "default": "t4"}}}),
        "the default is t4, and ConfigMap gpu/shares has no such key",
        ADVICE,
        alongside=(_CONFIGS,),
    ),
    Case(
        "operator-config-not-read",
        _CONFIGS,
        _configs(f"version: v1\n{_SHARES}"),
        "shares GPUs, and Release gpu/gpu-operator names no configuration of the device plugin",
        ADVICE,
        alongside=(operator("v26.3.1", {"driver": {"enabled": False}}),),
    ),
    Case(
        "operator-config-not-read",
        _configs(_LAYOUTS, "default-mig-parted-config"),
        _configs(_LAYOUTS, "layouts"),
        "has layouts, and Release gpu/gpu-operator names no configuration of MIG Manager",
        ADVICE,
        alongside=(operator("v26.3.1", {"driver": {"enabled": False}}),),
    ),
    Case(
        "pods-choose-no-node",
        choosing(**{"nvidia.com/gpu": "present"}),
        choosing(**{"nvidia.com/gpu.present": "true"}),
        "chooses nodes by labels that no node here has together",
        ADVICE,
        alongside=(node(labels={"nvidia.com/gpu": "present"}),),
    ),
    Case(
        "toolkit-mixes-configurations",
        operator("v26.3.1", {"toolkit": {"env": SOURCE}}),
        operator("v26.3.1", {"toolkit": {"enabled": True}}),
        "runs the command containerd to get its configuration, and Node gpu-1 runs containerd://2.3.2",
        ADVICE,
        alongside=(runtime("2.3.2"),),
    ),
    Case(
        "device-plugin-selects-no-node",
        plugin({"gfd": {"enabled": True}}),
        plugin({"gfd": {"enabled": True}, "nfd": {"enabled": False}}),
        "runs on nodes with a label of Node Feature Discovery, which is switched off, and Node",
        ADVICE,
        alongside=(node(),),
    ),
    Case(
        "chart-program-refuses",
        router(routingLogic="roundrobin"),
        router(routingLogic="least_loaded"),
        "names the routing logic least_loaded, which the router does not know",
        Level.ADVISORY,
        alongside=(),
    ),
    Case(
        "chart-program-refuses",
        router(routingLogic="session", sessionKey="x-user-id"),
        router(routingLogic="session"),
        "routes by session and has no sessionKey",
        ADVICE,
        alongside=(),
    ),
    Case(
        "chart-program-refuses",
        router(serviceDiscovery="k8s"),
        router(serviceDiscovery="dns"),
        "finds its engines by dns, which the router does not know",
        ADVICE,
        alongside=(),
    ),
    Case(
        "chart-program-refuses",
        router(serviceDiscovery="static", staticBackends="http://a:8000", staticModels="llama"),
        router(serviceDiscovery="static", staticModels="llama"),
        "takes its engines from a list and has no staticBackends",
        ADVICE,
        alongside=(),
    ),
    Case(
        "chart-program-refuses",
        router(serviceDiscovery="static", staticBackends="http://a:8000", staticModels="llama"),
        router(serviceDiscovery="static", staticBackends="http://a:8000"),
        "takes its engines from a list and has no staticModels",
        ADVICE,
        alongside=(),
    ),
    Case(
        "chart-program-refuses",
        kai({"kaiConfig": {"render": True}, "kaiConfigDeployer": {"enabled": False}}),
        kai({"kaiConfig": {"render": True}}),
        "renders KAI's Config, and the hook that makes it is on",
        ADVICE,
        alongside=(),
    ),
    Case(
        "chart-program-refuses",
        kai({"global": {"nvFractions": {"set": True}, "gpuSharingMode": "NvFractions"}}),
        kai({"global": {"nvFractions": {"set": True}, "gpuSharingMode": "HamiCore"}}),
        "installs NvFractions with the mode HamiCore",
        ADVICE,
        alongside=(),
    ),
    Case(
        "chart-program-refuses",
        kai({"global": {"gpuSharingMode": "HamiCore"}}),
        kai({"global": {"gpuSharingMode": "hami"}}),
        "names the mode hami, which KAI does not have",
        ADVICE,
        alongside=(),
    ),
    Case(
        "chart-program-refuses",
        kai({"scheduler": {"placementStrategy": "spread"}}),
        kai({"scheduler": {"placementStrategy": "pack"}}),
        "places pods by pack, which KAI does not know",
        ADVICE,
        alongside=(),
    ),
    Case(
        "operator-installs-what-system-brings",
        operator("v26.3.3", {"driver": {"enabled": False}, "toolkit": {"enabled": False}}),
        operator("v26.3.3", {"driver": {"enabled": True}, "toolkit": {"enabled": False}}),
        "installs a driver from NVIDIA's images, and Node gpu-1 runs Talos (v1.11.2)",
        ADVICE,
        alongside=(TALOS,),
    ),
    Case(
        "operator-installs-what-system-brings",
        operator("v26.3.3", {"driver": {"enabled": False}, "toolkit": {"enabled": False}}),
        operator("v26.3.3", {"driver": {"enabled": False}}),
        "installs the container toolkit, and Node gpu-1 runs Talos (v1.11.2)",
        ADVICE,
        alongside=(TALOS,),
    ),
    Case(
        "exporter-asks-for-other-names",
        release("dcgm-exporter", "4.8.3", {"arguments": ["--kubernetes-gpu-id-type=device-name"]}),
        release("dcgm-exporter", "4.8.3", {"arguments": ["-f", "/etc/dcgm-exporter/dcp.csv"]}),
        "names GPUs by UUID, and Node gpu-1 is GKE's",
        ADVICE,
        alongside=(node(labels=GKE),),
    ),
    Case(
        "flavors-share-nodes",
        flavor("reserved", "a100-reserved"),
        flavor("reserved", "a100"),
        "chooses the nodes of ResourceFlavor on-demand in the topology racks",
        ADVICE,
        alongside=(flavor("on-demand", "a100"),),
    ),
    Case(
        "flavors-share-nodes",
        flavor("gpu", "a100"),
        flavor("gpu", "h100"),
        "is for nodes with labels that no node here has, as Node gpu-1 has another value",
        ADVICE,
        alongside=(node(labels={"pool": "a100"}), _OF_GPU),
    ),
    Case(
        "image-of-any-kubernetes",
        images(name="amazon-eks-node-al2023-x86_64-nvidia-1.35-*"),
        images(name="amazon-eks-node-*-nvidia-*"),
        "chooses images by a name with a star and without a version of Kubernetes",
        ADVICE,
        alongside=(),
    ),
    Case(
        "open-modules-not-read",
        opened("v24.9.2", version="570.86.15"),
        opened("v24.9.2", version="570.133.20"),
        "requests open modules by a value that driver 570.133.20 no longer reads",
        ADVICE,
        alongside=(),
    ),
    Case(
        "open-modules-not-read",
        opened("v24.9.2", version="550.144.03"),
        opened("v24.9.2", version="550.163.01"),
        "by a value that driver 550.163.01 no longer reads",
        ADVICE,
        alongside=(),
    ),
    Case(
        "open-modules-not-read",
        opened("v24.9.2", version="535.230.02"),
        opened("v24.9.2", version="535.247.01"),
        "by a value that driver 535.247.01 no longer reads",
        ADVICE,
        alongside=(),
    ),
    Case(
        "toolkit-asks-missing-containerd",
        containerd("v24.9.2", {"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}),
        containerd("v24.9.2"),
        "configures k0s's containerd in v24.9.2, which runs the command containerd of the host",
        ADVICE,
        alongside=(),
    ),
    # NVIDIA's GPU Operator documentation, Rancher Kubernetes Engine 2 and MicroK8s.
    Case(
        "toolkit-asks-missing-containerd",
        operator("v25.3.0", {"toolkit": {"env": [{"name": "CONTAINERD_SOCKET", "value": K3S}]}}),
        operator("v25.3.0", {}),
        "does not name the socket of the containerd that Node gpu-1 brings: v1.33.1+rke2r1",
        ADVICE,
        alongside=(node(labels=PRESENT, kubelet="v1.33.1+rke2r1"),),
    ),
    Case(
        "toolkit-asks-missing-containerd",
        operator("v25.3.0", {"toolkit": {"enabled": False}}),
        operator("v25.3.0", {}),
        "does not name the paths of the containerd that MicroK8s brings on Node gpu-1",
        ADVICE,
        alongside=(node(labels={**PRESENT, "microk8s.io/cluster": "true"}),),
    ),
)
