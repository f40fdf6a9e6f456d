"""Cases of rules/sharing.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.pools import QUIET, gke_pool, node_group
from tests.policies.cases.workloads import CONTAINER, LIMITS, deployment

GPU_SHARING = "nodeConfig.guestAccelerators[0].gpuSharingConfig"


def plugin_config(
    mode: str = "timeSlicing", name: str = "nvidia.com/gpu", flags: str = "", **settings: Any
) -> Thing:
    """A ConfigMap of the device plugin with one sharing block."""
    chosen: dict[str, Any] = {"renameByDefault": True, "failRequestsGreaterThanOne": True}
    chosen.update(settings)
    replicas = chosen.pop("replicas", 4)
    lines = [
        f"      {key}: {str(value).lower()}" for key, value in chosen.items() if value is not None
    ]
    if mode == "mps":
        lines = []
    text = "\n".join(
        [
            "version: v1",
            *([f"flags: {{migStrategy: {flags}}}"] if flags else []),
            "sharing:",
            f"  {mode}:",
            *(line[2:] for line in lines),
            "    resources:",
            f"    - {{name: {name}, replicas: {replicas}}}",
        ]
    )
    return manifest(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "plugin", "namespace": "gpu-operator"},
            "data": {"shared": text},
        }
    )


def operator(values: dict[str, Any]) -> Thing:
    """A release of the GPU Operator."""
    properties = {"chart": "gpu-operator", "namespace": "gpu-operator", "values": values}
    return Thing("kubernetes:helm.sh/v3:Release", properties, "gpu-operator")


SHARED = node_group(
    {"labels": {"k8s.amazonaws.com/accelerator": "l4", "nvidia.com/device-plugin.config": "shared"}}
)
OWN_TAINT = [
    {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
    {"key": "shared", "value": "true", "effect": "NO_SCHEDULE"},
]
WHOLE = node_group({"nodeGroupName": "whole"}, "whole")

_NAMED = {"devicePlugin": {"config": {"name": "plugin"}}}

CASES = (
    Case(
        "sharing-replicas-out-of-range",
        gke_pool(
            {GPU_SHARING: {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 8}}
        ),
        gke_pool(
            {GPU_SHARING: {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 64}}
        ),
        "64 clients of each GPU; GKE allows 2 to 48",
        alongside=QUIET,
    ),
    Case(
        "device-plugin-replicas-invalid",
        plugin_config(replicas=8),
        plugin_config(replicas=1),
        "replicas",
        alongside=(),
    ),
    Case(
        "device-plugin-mps-mixed",
        plugin_config("mps"),
        plugin_config("mps", flags="mixed"),
        "mixed",
        alongside=(),
    ),
    Case(
        "mps-with-mig",
        plugin_config("mps", flags="none"),
        plugin_config("mps"),
        "MPS, and the plugin is installed with the MIG strategy mixed",
        alongside=(operator({"mig": {"strategy": "mixed"}, **_NAMED}),),
    ),
    Case(
        "sharing-not-fail-fast",
        plugin_config(),
        plugin_config(failRequestsGreaterThanOne=None),
        "failRequestsGreaterThanOne is not set",
        Level.ADVISORY,
        alongside=(),
    ),
    Case(
        "sharing-name-collides",
        plugin_config(),
        plugin_config(renameByDefault=False),
        "publishes shares and NodeGroup whole whole GPUs, both as nvidia.com/gpu",
        Level.ADVISORY,
        alongside=(*QUIET, SHARED, WHOLE),
    ),
    Case(
        "timeslicing-of-mig-resources",
        plugin_config(),
        plugin_config(name="nvidia.com/mig-1g.10gb"),
        "nvidia.com/mig-1g.10gb under the MIG strategy single",
        alongside=(operator({"mig": {"strategy": "single"}, **_NAMED}),),
    ),
    Case(
        "device-plugin-resource-not-offered",
        plugin_config(flags="mixed"),
        plugin_config(name="nvidia.com/mig-1g.10gb", flags="single"),
        "mig-1g.10gb",
        alongside=(),
    ),
    Case(
        "gpu-operator-choice-unknown",
        operator({"mig": {"strategy": "mixed"}}),
        operator({"mig": {"strategy": "mixd"}}),
        "mixd",
        alongside=(),
    ),
    Case(
        "gpu-operator-switch-as-text",
        operator({"driver": {"enabled": False}}),
        operator({"driver": {"enabled": "false"}}),
        "driver.enabled",
        Level.ADVISORY,
        alongside=(),
    ),
)


SHARE = {"nvidia.com/gpu.shared": 1}
MODE = 'metadata.annotations."gpufleet.dev/mode"'
GKE_MPS = {
    LIMITS: {"nvidia.com/gpu": 1},
    "spec.template.spec.nodeSelector": {
        "cloud.google.com/gke-accelerator": "nvidia-l4",
        "cloud.google.com/gke-gpu-sharing-strategy": "mps",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "4",
    },
}


def on_share(mode: str = "inference", part: str = "0.22"):
    """A server on a quarter of an L4, which takes this part of its memory."""
    return deployment(
        {
            LIMITS: SHARE,
            MODE: mode,
            f"{CONTAINER}.args": [f"--gpu-memory-utilization={part}"],
        }
    )


SHARED_USE = (
    Case(
        "sharing-used-for-training",
        on_share("inference"),
        on_share("training"),
        "ranks of one program may run on one GPU and wait for each other",
    ),
    Case(
        "gke-mps-pod-without-host-ipc",
        deployment({**GKE_MPS, "spec.template.spec.hostIPC": True}),
        deployment(GKE_MPS),
        "selects nodes that share GPUs by MPS, and has no hostIPC",
        Level.MANDATORY,
        alongside=(),
    ),
    Case(
        "sharing-memory-oversubscribed",
        on_share(part="0.22"),
        on_share(part="0.5"),
        "takes 0.5 of a GPU's memory on nvidia.com/gpu.shared of pool small, which 4 pods share",
    ),
)

CASES = (*CASES, *SHARED_USE)


def template(profile: str, name: str = "vgpu") -> Thing:
    """A Cluster API template of vSphere machines with one vGPU."""
    return manifest(
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "VSphereMachineTemplate",
            "metadata": {"name": name},
            "spec": {"template": {"spec": {"pciDevices": [{"vGPUProfile": profile}]}}},
        }
    )


def machines(name: str = "vgpu", most: int = 4) -> Thing:
    """A MachineDeployment of such machines."""
    prefix = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
    infrastructure: dict[str, Any] = {"kind": "VSphereMachineTemplate", "name": name}
    return manifest(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta1",
            "kind": "MachineDeployment",
            "metadata": {
                "name": name,
                "labels": {"owner": "ml", "cost-center": "1", "environment": "prod"},
                "annotations": {f"{prefix}-min-size": "0", f"{prefix}-max-size": str(most)},
            },
            "spec": {
                "clusterName": "ml",
                "template": {
                    "spec": {
                        "infrastructureRef": infrastructure,
                        "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
                    }
                },
            },
        }
    )


def server(gibibytes: str) -> Thing:
    """A Deployment that declares the memory of its model."""
    return deployment(
        {
            LIMITS: {"nvidia.com/gpu": 1},
            'metadata.annotations."gpufleet.dev/min-gpu-memory-gib"': gibibytes,
        }
    )


LICENSED = {"driver": {"licensingConfig": {"secretName": "licence", "nlsEnabled": True}}}

VGPU = (
    Case(
        "vgpu-unlicensed",
        operator(LICENSED),
        operator({"driver": {"enabled": True}}),
        "vgpu has grid_a100d-8c, and driver.licensingConfig names no Secret",
        alongside=(template("grid_a100d-8c"), machines()),
    ),
)

CASES = (*CASES, *VGPU)
