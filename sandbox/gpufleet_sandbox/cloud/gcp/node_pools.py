"""GKE node pools, and whether their machines register."""

# ruff: noqa: ARG002, D102 - `Kind` describes create, update and delete

import re
from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue import load
from gpufleet.catalogue.edition import DEFAULT_EDITION
from gpufleet_sandbox.cloud.cloud import CloudError, Made
from gpufleet_sandbox.cloud.gcp.project import (
    CLUSTER,
    MEMBER,
    NODE_ROLES,
    ROUTER_NAT,
    SUBNETWORK,
    GcpPlainKind,
)
from gpufleet_sandbox.cloud.joined_nodes import JoinedCluster, MachineGroup, PlainMachine
from gpufleet_sandbox.cloud.store import Stored

NODE_POOL = "gcp:container/nodePool:NodePool"
GPU = "nvidia.com/gpu"
EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}
_SHAPE = re.compile(r"^(?:e2|n2|n2d|n4|c3|c4)-(standard|highmem|highcpu)-(\d+)$")
_GIB_PER_VCPU = {"standard": 4, "highmem": 8, "highcpu": 1}


class NodePoolKind(GcpPlainKind):
    """container.NodePool."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self._admit(inputs)
        if _nodes(inputs):
            self._joins(inputs)
        made = super().create(inputs)
        self._machines(inputs, _nodes(inputs))
        return made

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._admit(inputs)
        return super().update(before, inputs)

    def delete(self, before: Stored) -> None:
        self._machines(before.inputs, 0)

    def _cluster(self, inputs: Mapping[str, Any]) -> Stored | None:
        """The cluster, where a program of this cloud made it."""
        return self.found(CLUSTER, self._parent(inputs))

    def _joins(self, inputs: Mapping[str, Any]) -> None:
        """Whether machines that start would register."""
        cluster = self._cluster(inputs)
        if cluster is None:
            return
        account = (inputs.get("nodeConfig") or {}).get("serviceAccount")
        rights = {
            one.inputs["role"]
            for one in self.cloud.folder.resources(MEMBER)
            if one.inputs["member"] == f"serviceAccount:{account}"
        }
        missing: list[str] = []
        if account is not None and not rights & set(NODE_ROLES):
            missing.append(f"{account} has none of {', '.join(NODE_ROLES)}")
        private = (cluster.inputs.get("privateClusterConfig") or {}).get("enablePrivateNodes")
        subnetwork = self.found(SUBNETWORK, str(cluster.inputs.get("subnetwork")))
        inside = subnetwork is not None and subnetwork.inputs.get("privateIpGoogleAccess")
        if private and not inside and not self.cloud.folder.resources(ROUTER_NAT):
            missing.append("private nodes reach no Google API: no private access and no Cloud NAT")
        if missing:
            raise CloudError(
                f"Error waiting for creating GKE NodePool: All cluster resources were brought up, "
                f"but: only 0 nodes out of {_nodes(inputs)} have registered; "
                f"{'; '.join(missing)}"
            )

    def _machines(self, inputs: Mapping[str, Any], count: int) -> None:
        """The pool's machines in the sandbox's cluster, where the cloud has one."""
        behind = JoinedCluster.of(self.cloud.folder)
        if behind is None or self._cluster(inputs) is None:
            return
        config = inputs.get("nodeConfig") or {}
        zones = _zones(inputs)
        machine = str(config.get("machineType") or "e2-medium")
        gpus = next(iter(config.get("guestAccelerators") or ()), None)
        labels = {
            **(config.get("labels") or {}),
            "cloud.google.com/gke-nodepool": str(inputs["name"]),
        }
        taints = [
            {"key": one["key"], "value": one["value"], "effect": EFFECTS[one["effect"]]}
            for one in config.get("taints") or []
        ]
        resources: dict[str, int] = {}
        if gpus is not None:
            labels["cloud.google.com/gke-accelerator"] = str(gpus["type"])
            if not any(one["key"] == GPU for one in taints):
                # GKE adds it to nodes with GPUs (GKE documentation, gpus).
                taints.append({"key": GPU, "value": "present", "effect": "NoSchedule"})
            if (gpus.get("gpuDriverInstallationConfig") or {}).get(
                "gpuDriverVersion"
            ) != "INSTALLATION_DISABLED":
                resources[GPU] = _advertised(machine, gpus)
        cluster = self._parent(inputs).rsplit("/", 1)[-1]
        group = MachineGroup(
            name=f"gke-{cluster}-{inputs['name']}",
            machine_type=machine,
            region=zones[0].rsplit("-", 1)[0],
            zones=zones,
            labels=labels,
            taints=tuple(taints),
            provider="gce",
            driver=False,
            plain=_plain(machine),
            resources=resources,
        )
        behind.scale(group, count)

    def identifier(self, inputs: Mapping[str, Any]) -> str:
        return f"{self._parent(inputs)}/nodePools/{inputs['name']}"

    def computed(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        project, location = self._parent(inputs).split("/")[1:4:2]
        group = f"gke-{inputs['name']}-grp"
        zone = (inputs.get("nodeLocations") or [f"{location}-a"])[0]
        link = f"https://www.googleapis.com/compute/v1/projects/{project}/zones/{zone}"
        return {
            "instanceGroupUrls": [f"{link}/instanceGroupManagers/{group}"],
            "managedInstanceGroupUrls": [f"{link}/instanceGroups/{group}"],
            "location": location,
            "project": project,
            "version": inputs.get("version") or "1.36.1-gke.1000000",
            "nodeCount": inputs.get("nodeCount", inputs.get("initialNodeCount", 0)),
        }

    def _admit(self, inputs: Mapping[str, Any]) -> None:
        # Imported late: a preview makes nothing.
        from gpufleet_sandbox.cloud.gcp.admission import admit_node_pool
        from gpufleet_sandbox.cloud.gcp.message import node_pool_message

        if inputs.get("nodeCount") is not None and inputs.get("autoscaling"):
            raise CloudError("googleapi: Error 400: nodeCount cannot be set with autoscaling")
        admit_node_pool(node_pool_message(inputs))

    def _parent(self, inputs: Mapping[str, Any]) -> str:
        cluster = str(inputs["cluster"])
        if cluster.startswith("projects/"):
            return cluster
        settings = self.cloud.settings
        location = inputs.get("location") or settings.get("zone") or settings.get("region")
        if not location:
            raise CloudError(
                "Cannot determine location: set location in this resource, or set region or zone "
                "in the provider"
            )
        project = inputs.get("project") or settings["project"]
        return f"projects/{project}/locations/{location}/clusters/{cluster}"


def _zones(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """The pool's zones; three of the region where none is named."""
    named = tuple(str(one) for one in inputs.get("nodeLocations") or ())
    place = str(inputs.get("location") or "us-central1")
    return named or tuple(f"{place}-{letter}" for letter in "abc")


def _nodes(inputs: Mapping[str, Any]) -> int:
    """Machines that start at once: counts of a node pool are per zone."""
    each = inputs.get("nodeCount", inputs.get("initialNodeCount")) or 0
    return int(each) * len(_zones(inputs))


def _advertised(machine: str, accelerator: Mapping[str, Any]) -> int:
    """Resources of GKE's own device plugin: GPUs, or partitions, times the clients of each (GKE
    documentation, gpus-multi, timesharing-gpus)."""
    count = int(accelerator["count"])
    if size := accelerator.get("gpuPartitionSize"):
        row = load(DEFAULT_EDITION).instances.get(machine)
        if row is None or size not in row.gke_partition_sizes:
            raise CloudError(f"{machine} has no partition size {size}")
        count *= row.gke_partition_sizes[size]
    sharing = accelerator.get("gpuSharingConfig") or {}
    return count * int(sharing.get("maxSharedClientsPerGpu") or 1)


def _plain(machine: str) -> PlainMachine | None:
    found = _SHAPE.match(machine)
    if found is None:
        return None
    vcpu = int(found[2])
    return PlainMachine(vcpu, vcpu * _GIB_PER_VCPU[found[1]] * 1024)
