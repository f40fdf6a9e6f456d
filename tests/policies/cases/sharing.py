"""Cases of rules/sharing.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.pools import QUIET, gke_pool, node_group

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
        alongside=(operator({"mig": {"strategy": "mixed"}}),),
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
        alongside=(operator({"mig": {"strategy": "single"}}),),
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
