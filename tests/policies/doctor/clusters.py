"""Clusters that tests break: nodes as the operand simulators leave them, and their pods.

Labels and resources of nodes are those that the simulators of the sandbox publish; they are
independent of the doctor. Pods, DaemonSets and statuses have their programs' names and reasons.
"""

import copy
import json
from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue import load
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.sandbox.simulated_node import simulated_nodes
from gpufleet.render.gpu_operator_values import mig_parted_files, plugin_files
from gpufleet_sandbox.operands.dra_slices import objects, slices
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, read_hardware
from gpufleet_sandbox.operands.mig_operand import read_record
from tests.policies.doctor.objects import (
    LONG_AGO,
    an_object,
    condition,
    device_class,
    ready,
    running,
    within,
)
from tests.unit.sandbox.operands.machine import Machine
from tests.unit.sandbox.operands.test_dra_driver import installed

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
OPERANDS = (
    "nvidia-driver-daemonset",
    "nvidia-container-toolkit-daemonset",
    "nvidia-device-plugin-daemonset",
    "gpu-feature-discovery",
    "nvidia-operator-validator",
    "nvidia-dcgm-exporter",
)
MIG_LAYOUTS = """version: v1
mig-configs:
  all-disabled:
  - devices: all
    mig-enabled: false
  all-balanced:
  - devices: all
    mig-enabled: true
    mig-devices: {1g.10gb: 2, 2g.20gb: 1, 3g.40gb: 1}
  all-1g.10gb:
  - devices: all
    mig-enabled: true
    mig-devices: {1g.10gb: 7}
"""
SHARED = {"gpu": "L40S", "gpusPerNode": 4}
POOLS: dict[str, dict[str, Any]] = {
    "whole": {"gpu": "H100-80GB", "gpusPerNode": 8},
    "timeSlicing": SHARED
    | {
        "sharing": {
            "timeSlicing": {"replicas": 4, "rename": False, "failRequestsGreaterThanOne": True}
        }
    },
    "timeSlicingRenamed": SHARED | {"sharing": {"timeSlicing": {"replicas": 4, "rename": True}}},
    "mps": SHARED | {"sharing": {"mps": {"replicas": 4}}},
    "migMixed": {"gpu": "A100-80GB", "gpusPerNode": 2},
    "migSingle": {"gpu": "A100-80GB", "gpusPerNode": 2},
    "dra": {"gpu": "H100-80GB", "gpusPerNode": 8, "sharing": {"dra": {"namespaces": ["ml"]}}},
}
POOLS |= dict.fromkeys(("queued", "kai"), POOLS["whole"])


def compiled(kind: str) -> Fleet:
    """The declaration of a cluster."""
    pool = {"name": "gpu", "nodes": {"min": 2, "max": 2}, **POOLS[kind]}
    spec = {"catalogue": "2026.11", "platform": "sandbox", "cluster": {"name": "c"}}
    result = compile_data(spec | {"pools": [pool]})
    assert result.fleet is not None, result.findings
    return result.fleet


class World:
    """A cluster as a dump of it, and the machines that it is on."""

    def __init__(self, kind: str, fleet: Fleet | None = None) -> None:
        """A cluster of `POOLS`, or that of a declaration."""
        self.kind = kind
        self.kubelet = "v1.36.1"
        self.objects: dict[str, dict[str, Any]] = {}
        self.machines: dict[str, Machine] = {}
        self.logs: dict[str, str] = {}
        self.claimed: set[str] = set()
        """Nodes whose GPUs are given by claims."""
        self.policy: dict[str, Any] = {"mig": {"strategy": "mixed"}}
        if fleet is not None or kind in POOLS:
            self._nodes(fleet or compiled(kind))
        if kind != "none":
            for one in ("default", "ml", "gpu-operator"):
                labels = {"kubernetes.io/metadata.name": one}
                self.add(an_object("v1", "Namespace", one, labels=labels))
            self._cpu_node()
        if kind == "queued":
            self._queues()
        if kind == "kai":
            gives = {"resources": {"gpu": {"quota": -1, "limit": -1}}}
            for name, spec in (("all", gives), ("team", gives | {"parentQueue": "all"})):
                self.add(an_object("scheduling.run.ai/v2", "Queue", name, spec=spec))
        if kind == "karpenter":
            self._node_pool()

    def dump(self) -> list[dict[str, Any]]:
        """A copy of everything, as `kubectl get -o json` lists it."""
        return copy.deepcopy(list(self.objects.values()))

    def add(self, one: dict[str, Any]) -> dict[str, Any]:
        metadata = one["metadata"]
        metadata.setdefault("creationTimestamp", LONG_AGO)
        names = [one["kind"], metadata.get("namespace", ""), metadata["name"]]
        self.objects["/".join(part for part in names if part)] = one
        return one

    def find(self, ref: str) -> dict[str, Any]:
        """An object by its kind and name, the namespace in between or not."""
        kind, *rest = ref.split("/")
        for key, one in self.objects.items():
            parts = key.split("/")
            if parts[0] == kind and parts[-len(rest) :] == rest:
                return one
        raise KeyError(ref)

    # --- what is there

    def _nodes(self, fleet: Fleet) -> None:
        self.kubelet = f"v{fleet.spec.cluster.kubernetes_version or '1.36'}.1"
        maps = {one.name: dict(one.data) for one in (mig_parted_files(fleet), plugin_files(fleet))}
        layouts, plugins = maps
        operands = [*OPERANDS]
        if any("nvidia.com/mig.config" in pool.labels for pool in fleet.pools):
            operands.append("nvidia-mig-manager")
        if self.kind.startswith("mig"):
            maps[layouts] = {"config.yaml": MIG_LAYOUTS}
            operands.append("nvidia-mig-manager")
        if self.kind == "mps":
            operands.append("nvidia-device-plugin-mps-control-daemon")
        strategy = {"migSingle": "single", "migMixed": "mixed"}
        self.policy = {
            "mig": {"strategy": strategy.get(self.kind, fleet.addons.gpu_operator.mig_strategy)},
            "migManager": {"config": {"name": layouts, "default": "all-disabled"}},
            "devicePlugin": {"config": {"name": plugins, "default": "default"}},
        }
        self.add(an_object("nvidia.com/v1", "ClusterPolicy", "cluster-policy", spec=self.policy))
        for name, data in maps.items():
            self.add(an_object("v1", "ConfigMap", name, "gpu-operator") | {"data": data})
        by_claims = [name for name in operands if "device-plugin" not in name]
        by_claims.append("dra-driver-nvidia-gpu-kubelet-plugin")
        pools = {pool.name for pool in fleet.pools if pool.spec.sharing.dra is not None}
        if pools:
            self.add(device_class("gpu.nvidia.com", "gpu"))
            self.add(device_class("mig.nvidia.com", "mig"))
        made = [
            (pool, one)
            for pool in fleet.pools
            for one in simulated_nodes(pool, load(), prefix="x", region="local")
            if "gpus" in json.loads(_hardware(one))  # of NVIDIA
        ]
        for pool, manifest in made:
            name = f"{pool.name}-{manifest.name.rpartition('-')[2]}"
            labels = dict(manifest.metadata["labels"]) | {"kubernetes.io/hostname": name}
            if self.kind == "migMixed":
                labels["nvidia.com/mig.config"] = "all-balanced"
            if self.kind == "migSingle":
                labels["nvidia.com/mig.config"] = "all-1g.10gb"
            machine = Machine(next(iter(json.loads(_hardware(manifest))["gpus"])), labels)
            machine.annotations = dict(manifest.metadata["annotations"])
            given = {"driver": "580.95.05"} | json.loads(_hardware(manifest))
            machine.annotations[HARDWARE_ANNOTATION] = json.dumps(given)
            self.machines[name] = machine
            own = by_claims if pool.name in pools else operands
            if pool.name in pools:
                self.claimed.add(name)
            node = an_object("v1", "Node", name)
            declared = [{"key": t.key, "value": t.value, "effect": t.effect} for t in pool.taints]
            node["spec"] = {"taints": declared if self.kind == "declared" else [GPU_TAINT]}
            node["status"] = {
                "conditions": [ready()],
                "nodeInfo": {
                    "kubeletVersion": self.kubelet,
                    "osImage": "Ubuntu 24.04.1 LTS",
                },
            }
            self.add(node)
            self.settle(name, maps)
            for operand in own:
                self.operand(operand, name)
        every = {
            *(operands if len(pools) < len(fleet.pools) else ()),
            *(by_claims if pools else ()),
        }
        for operand in sorted(every):
            self.daemon_set("gpu-operator", operand, f"nvcr.io/nvidia/{operand}:v1")

    def settle(self, name: str, maps: Mapping[str, Mapping[str, str]]) -> None:
        machine, node = self.machines[name], self.find(f"Node/{name}")
        machine.policy(**self.policy)
        machine.config_maps(**maps)
        machine.settle()
        node["metadata"] |= {"labels": machine.labels, "annotations": machine.annotations}
        given = {"cpu": "96", "memory": "1000Gi", "pods": "110", **machine.resources}
        node["status"] |= {"allocatable": dict(given), "capacity": dict(given)}
        if name in self.claimed:
            self._publish(name, machine)

    def _publish(self, name: str, machine: Machine) -> None:
        driver = installed()
        assert driver is not None
        hardware = read_hardware(machine.annotations)
        view = _View(machine.labels, machine.annotations)
        states = read_record(view, hardware).states  # type: ignore[arg-type]
        for number, one in enumerate(
            objects(name, name, slices(name, hardware, states, driver, hardware.driver or ""), 1)
        ):
            one["metadata"]["name"] = f"{name}-gpu" + (f"-{number}" if number else "")
            self.add(one)

    def _cpu_node(self) -> None:
        given = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        node = an_object("v1", "Node", "cpu-0", labels={"kubernetes.io/hostname": "cpu-0"})
        node["status"] = {
            "allocatable": given,
            "capacity": given,
            "conditions": [ready()],
            "nodeInfo": {"kubeletVersion": self.kubelet},
        }
        self.add(node)

    def operand(self, operand: str, node: str, **more: Any) -> dict[str, Any]:
        namespace = more.pop("namespace", "gpu-operator")
        image = more.pop("image", f"nvcr.io/nvidia/{operand}:v1")
        pod = an_object("v1", "Pod", f"{operand}-{node}", namespace, labels={"app": operand})
        pod["metadata"]["ownerReferences"] = [
            {"kind": "DaemonSet", "name": operand, "controller": True, "apiVersion": "apps/v1"}
        ]
        pod["spec"] = {
            "nodeName": node,
            "containers": [{"name": operand, "image": image}],
            "tolerations": [GPU_TOLERATION],
        }
        pod["status"] = running(operand)
        return self.add(pod)

    def daemon_set(
        self, namespace: str, name: str, image: str, tolerations: list[Any] | None = None
    ) -> None:
        template = {
            "containers": [{"name": name, "image": image}],
            "tolerations": [GPU_TOLERATION] if tolerations is None else tolerations,
        }
        one = an_object("apps/v1", "DaemonSet", name, namespace)
        self.add(one | {"spec": {"template": {"spec": template}}})

    def _queues(self) -> None:
        api = "kueue.x-k8s.io/v1beta2"
        product = "nvidia.com/gpu.product"
        labels = {product: self.machines["gpu-0"].labels[product]}
        self.add(an_object(api, "ResourceFlavor", "h100", spec={"nodeLabels": labels}))
        resources = [{"name": "nvidia.com/gpu", "nominalQuota": 8}]
        group = {
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [{"name": "h100", "resources": resources}],
        }
        queue = an_object(
            api, "ClusterQueue", "team", spec={"namespaceSelector": {}, "resourceGroups": [group]}
        )
        queue["status"] = {"conditions": [condition("Active", "True", "Ready")]}
        self.add(queue)
        self.add(an_object(api, "LocalQueue", "team", "ml", spec={"clusterQueue": "team"}))

    def _node_pool(self) -> None:
        self._do_nodepool(
            "gpu",
            {
                "requirements": [
                    within("karpenter.k8s.aws/instance-family", "g6"),
                    within("karpenter.sh/capacity-type", "spot", "on-demand"),
                ],
                "taints": [GPU_TAINT],
                "limits": {"nvidia.com/gpu": "16"},
                "used": {"nvidia.com/gpu": "0"},
            },
        )

    def _do_nodepool(self, name: str, step: Mapping[str, Any]) -> None:
        pool = an_object("karpenter.sh/v1", "NodePool", name)
        template = {"requirements": step["requirements"], "taints": step.get("taints", [])}
        pool["spec"] = {"template": {"spec": template}}
        if "limits" in step:
            pool["spec"]["limits"] = step["limits"]
        pool["status"] = {
            "resources": step.get("used", {}),
            "conditions": [condition("Ready", "True", "Ready")],
        }
        self.add(pool)


class _View:
    """Source of the record of a node's layouts."""

    def __init__(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> None:
        self.labels, self.annotations = labels, annotations


def _hardware(manifest: Any) -> str:
    return manifest.metadata["annotations"]["sandbox.gpufleet.dev/hardware"]
