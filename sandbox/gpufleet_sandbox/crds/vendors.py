"""Definitions of custom resources as their vendors publish them, from the catalogue's schemas."""

from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue.schemas import schema_file
from gpufleet_sandbox.crds.machines import with_provider
from gpufleet_sandbox.crds.strictness import STRICT_LABEL

MACHINES, MACHINE_SET = "machine.openshift.io", "MachineSet"
KINDS: dict[str, tuple[str, ...]] = {
    "karpenter.sh": ("NodePool", "NodeOverlay"),
    "karpenter.k8s.aws": ("EC2NodeClass",),
    "keda.sh": ("ScaledObject", "TriggerAuthentication"),
    "kueue.x-k8s.io": (
        "AdmissionCheck",
        "ClusterQueue",
        "Cohort",
        "LocalQueue",
        "ProvisioningRequestConfig",
        "ResourceFlavor",
        "Topology",
        "WorkloadPriorityClass",
    ),
    "autoscaling.openshift.io": ("ClusterAutoscaler", "MachineAutoscaler"),
    MACHINES: ("MachineHealthCheck", MACHINE_SET),
    "machineconfiguration.openshift.io": ("KubeletConfig", "MachineConfig", "MachineConfigPool"),
    "mellanox.com": ("HostDeviceNetwork", "IPoIBNetwork", "MacvlanNetwork", "NicClusterPolicy"),
    "monitoring.coreos.com": ("PodMonitor", "PrometheusRule", "ServiceMonitor"),
    "nvidia.com": ("ClusterPolicy",),
    "resource.nvidia.com": ("ComputeDomain",),
    "networking.gke.io": ("GKENetworkParamSet", "Network"),
    "operators.coreos.com": ("OperatorGroup", "Subscription"),
    "operator.victoriametrics.com": ("VMPodScrape", "VMRule", "VMServiceScrape"),
}
"""File of the catalogue -> kinds that the API server of the sandbox serves: the hand-written ones.
Each one makes the start longer."""

_VERSION = ("name", "served", "storage", "subresources")


def definitions() -> list[dict[str, Any]]:
    """A CustomResourceDefinition for each of `KINDS`."""
    made = {kind: definition(name, kind) for name, kinds in KINDS.items() for kind in kinds}
    for version in made[MACHINE_SET]["spec"]["versions"]:
        body = version["schema"]
        body["openAPIV3Schema"] = with_provider(body["openAPIV3Schema"], _embedded())
    return list(made.values())


def _embedded() -> dict[str, dict[str, Any]]:
    """The whole schema of each kind that a MachineSet embeds, which no server serves."""
    file = schema_file(MACHINES)
    versions = {kind: described["versions"] for kind, described in file["kinds"].items()}
    return {
        kind: _whole(body["schema"], file["$defs"])
        for kind, bodies in versions.items()
        for body in bodies.values()
        if not body["served"]
    }


def definition(name: str, kind: str) -> dict[str, Any]:
    """The definition of one kind of a file of the catalogue. Older versions are left out: the
    operator's webhook, which the sandbox does not run, converts them."""
    file = schema_file(name)
    described = file["kinds"][kind]
    group, names = described["group"], described["names"]
    versions = [
        {
            "name": version,
            **{key: body[key] for key in _VERSION if key in body},
            "schema": {"openAPIV3Schema": _whole(body["schema"], file["$defs"])},
        }
        for version, body in described["versions"].items()
        if body["storage"]
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}", "labels": {STRICT_LABEL: "true"}},
        "spec": {
            "group": group,
            "names": {"kind": kind, **names},
            "scope": described["scope"],
            "versions": versions,
        },
    }


def _whole(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its parts in place of references, which a definition may not have."""
    if "$ref" in schema:
        return _whole(parts[schema["$ref"].rpartition("/")[2]], parts)
    result = dict(schema)
    if "properties" in schema:
        fields = schema["properties"]
        result["properties"] = {name: _whole(field, parts) for name, field in fields.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = _whole(schema[key], parts)
    return result
