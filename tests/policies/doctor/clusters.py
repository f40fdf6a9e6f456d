"""Clusters that tests break: nodes as the operand simulators leave them, and what runs on them.

Labels and resources of nodes are those that the simulators of the sandbox publish; they know nothing
of the doctor. Pods, DaemonSets and statuses have the names and reasons of their programs.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from gpufleet.catalogue import load
from gpufleet.fleet import Fleet, compile_data
from gpufleet.platforms.sandbox.simulated_node import simulated_nodes
from gpufleet.render.gpu_operator_values import mig_parted_files, plugin_files
from gpufleet_sandbox.operands.dra_slices import objects, slices
from gpufleet_sandbox.operands.hardware import read_hardware
from gpufleet_sandbox.operands.mig_operand import read_record
from tests.unit.sandbox.operands.machine import Machine
from tests.unit.sandbox.operands.test_dra_driver import installed

NOW = "2026-11-28T12:00:00Z"
LONG_AGO = "2026-11-25T08:00:00Z"
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
    "timeSlicingRenamed": SHARED
    | {"sharing": {"timeSlicing": {"replicas": 4, "rename": True}}},
    "mps": SHARED | {"sharing": {"mps": {"replicas": 4}}},
    "migMixed": {"gpu": "A100-80GB", "gpusPerNode": 2},
    "migSingle": {"gpu": "A100-80GB", "gpusPerNode": 2},
    "dra": {"gpu": "H100-80GB", "gpusPerNode": 8, "sharing": {"dra": {"namespaces": ["ml"]}}},
}
POOLS |= dict.fromkeys(("queued", "kai"), POOLS["whole"])


def compiled(kind: str) -> Fleet:
    """The declaration of a cluster."""
    pool = {"name": "gpu", "nodes": {"min": 2, "max": 2}, **POOLS[kind]}
    spec = {"catalogue": "2026.11", "platform": "sandbox", "cluster": {"name": "c"}, "pools": [pool]}
    result = compile_data(spec)
    assert result.fleet is not None, result.findings
    return result.fleet


class World:
    """A cluster as a dump of it, and the machines that it is on."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.objects: dict[str, dict[str, Any]] = {}
        self.machines: dict[str, Machine] = {}
        self.logs: dict[str, str] = {}
        self.policy: dict[str, Any] = {"mig": {"strategy": "mixed"}}
        if kind in POOLS:
            self._nodes(compiled(kind))
        if kind != "none":
            for one in ("default", "ml", "gpu-operator"):
                self.add(_object("v1", "Namespace", one, labels={"kubernetes.io/metadata.name": one}))
            self._cpu_node()
        if kind == "queued":
            self._queues()
        if kind == "kai":
            self.add(
                _object(
                    "scheduling.run.ai/v2",
                    "Queue",
                    "team",
                    spec={"resources": {"gpu": {"quota": -1, "limit": -1}}},
                )
            )
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
        (pool,) = fleet.pools
        maps = {one.name: dict(one.data) for one in (mig_parted_files(fleet), plugin_files(fleet))}
        layouts, plugins = maps
        operands = [*OPERANDS]
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
        self.add(_object("nvidia.com/v1", "ClusterPolicy", "cluster-policy", spec=self.policy))
        for name, data in maps.items():
            self.add(_object("v1", "ConfigMap", name, "gpu-operator") | {"data": data})
        if self.kind == "dra":
            operands = [name for name in operands if "device-plugin" not in name]
            operands.append("dra-driver-nvidia-gpu-kubelet-plugin")
            self.add(_device_class("gpu.nvidia.com", "gpu"))
            self.add(_device_class("mig.nvidia.com", "mig"))
        for manifest in simulated_nodes(pool, load(), prefix="x", region="local"):
            name = f"gpu-{manifest.name.rpartition('-')[2]}"
            labels = dict(manifest.metadata["labels"]) | {"kubernetes.io/hostname": name}
            if self.kind == "migMixed":
                labels["nvidia.com/mig.config"] = "all-balanced"
            if self.kind == "migSingle":
                labels["nvidia.com/mig.config"] = "all-1g.10gb"
            machine = Machine(next(iter(json.loads(_hardware(manifest))["gpus"])), labels)
            machine.annotations = dict(manifest.metadata["annotations"])
            self.machines[name] = machine
            node = _object("v1", "Node", name)
            node["spec"] = {"taints": [GPU_TAINT]}
            node["status"] = {
                "conditions": [{**_condition("Ready", "True", "KubeletReady"), "lastHeartbeatTime": NOW}],
                "nodeInfo": {"kubeletVersion": "v1.36.1", "osImage": "Ubuntu 24.04.1 LTS"},
            }
            self.add(node)
            self._settle(name, maps)
            for operand in operands:
                self._operand(operand, name)
        for operand in operands:
            self._daemon_set("gpu-operator", operand, f"nvcr.io/nvidia/{operand}:v1")

    def _settle(self, name: str, maps: Mapping[str, Mapping[str, str]]) -> None:
        machine, node = self.machines[name], self.find(f"Node/{name}")
        machine.policy(**self.policy)
        machine.config_maps(**maps)
        machine.settle()
        node["metadata"] |= {"labels": machine.labels, "annotations": machine.annotations}
        given = {"cpu": "96", "memory": "1000Gi", "pods": "110", **machine.resources}
        node["status"] |= {"allocatable": dict(given), "capacity": dict(given)}
        if self.kind == "dra":
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
        node = _object("v1", "Node", "cpu-0", labels={"kubernetes.io/hostname": "cpu-0"})
        node["status"] = {
            "allocatable": given,
            "capacity": given,
            "conditions": [{**_condition("Ready", "True", "KubeletReady"), "lastHeartbeatTime": NOW}],
            "nodeInfo": {"kubeletVersion": "v1.36.1"},
        }
        self.add(node)

    def _operand(self, operand: str, node: str, **more: Any) -> dict[str, Any]:
        namespace = more.pop("namespace", "gpu-operator")
        image = more.pop("image", f"nvcr.io/nvidia/{operand}:v1")
        pod = _object("v1", "Pod", f"{operand}-{node}", namespace, labels={"app": operand})
        pod["metadata"]["ownerReferences"] = [
            {"kind": "DaemonSet", "name": operand, "controller": True, "apiVersion": "apps/v1"}
        ]
        pod["spec"] = {
            "nodeName": node,
            "containers": [{"name": operand, "image": image}],
            "tolerations": [GPU_TOLERATION],
        }
        pod["status"] = _running(operand)
        return self.add(pod)

    def _daemon_set(
        self, namespace: str, name: str, image: str, tolerations: list[Any] | None = None
    ) -> None:
        template = {
            "containers": [{"name": name, "image": image}],
            "tolerations": [GPU_TOLERATION] if tolerations is None else tolerations,
        }
        one = _object("apps/v1", "DaemonSet", name, namespace)
        self.add(one | {"spec": {"template": {"spec": template}}})

    def _queues(self) -> None:
        api = "kueue.x-k8s.io/v1beta2"
        product = self.machines["gpu-0"].labels["nvidia.com/gpu.product"]
        self.add(
            _object(api, "ResourceFlavor", "h100", spec={"nodeLabels": {"nvidia.com/gpu.product": product}})
        )
        resources = [{"name": "nvidia.com/gpu", "nominalQuota": 8}]
        group = {
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [{"name": "h100", "resources": resources}],
        }
        queue = _object(
            api, "ClusterQueue", "team", spec={"namespaceSelector": {}, "resourceGroups": [group]}
        )
        queue["status"] = {"conditions": [_condition("Active", "True", "Ready")]}
        self.add(queue)
        self.add(_object(api, "LocalQueue", "team", "ml", spec={"clusterQueue": "team"}))

    def _node_pool(self) -> None:
        self.do(
            {
                "nodepool": "gpu",
                "requirements": [
                    {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g6"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]},
                ],
                "taints": [GPU_TAINT],
                "limits": {"nvidia.com/gpu": "16"},
                "used": {"nvidia.com/gpu": "0"},
            }
        )

    # --- what is done to it

    def do(self, step: Mapping[str, Any]) -> None:
        """One step of a fault."""
        kind = next(key for key in step if hasattr(self, f"_do_{key.replace('-', '_')}"))
        getattr(self, f"_do_{kind.replace('-', '_')}")(step[kind], step)

    def _do_patch(self, ref: str, step: Mapping[str, Any]) -> None:
        _merge(self.find(ref), step["with"])

    def _do_condition(self, ref: str, step: Mapping[str, Any]) -> None:
        status = self.find(ref).setdefault("status", {})
        others = [c for c in status.get("conditions", []) if c["type"] != step["type"]]
        more = {"message": step.get("message", ""), "lastTransitionTime": LONG_AGO}
        found = _condition(step["type"], step["status"], step["reason"]) | more
        status["conditions"] = [*others, found]

    def _do_delete(self, ref: str, _: Mapping[str, Any]) -> None:
        one = self.find(ref)
        del self.objects[next(key for key, value in self.objects.items() if value is one)]

    def _do_add(self, one: dict[str, Any], _: Mapping[str, Any]) -> None:
        self.add(copy.deepcopy(one))

    def _do_event(self, ref: str, step: Mapping[str, Any]) -> None:
        kind, namespace, name = ref.split("/")
        event = _object("v1", "Event", f"{name}.{len(self.objects)}", namespace)
        event |= {"involvedObject": {"kind": kind, "namespace": namespace, "name": name}}
        self.add(event | {"reason": step["reason"], "message": step["message"]})

    def _do_stopped(self, node: str, _: Mapping[str, Any]) -> None:
        """The node advertises its devices no more."""
        given = self.find(f"Node/{node}")["status"]["allocatable"]
        for name in given:
            if name.startswith("nvidia.com/"):
                given[name] = "0"

    def _do_without_operands(self, node: str, _: Mapping[str, Any]) -> None:
        for key, one in list(self.objects.items()):
            if one["kind"] == "Pod" and one["spec"].get("nodeName") == node:
                del self.objects[key]

    def _do_labels(self, node: str, step: Mapping[str, Any]) -> None:
        machine = self.machines[node]
        machine.labels |= step["set"]
        machine.users = step.get("users", ())
        maps = {
            one["metadata"]["name"]: one["data"]
            for one in self.objects.values()
            if one["kind"] == "ConfigMap"
        }
        self._settle(node, maps)

    def _do_operand(self, operand: str, step: Mapping[str, Any]) -> None:
        node = step["node"]
        more = {"image": step["image"]} if "image" in step else {}
        pod = self._operand(operand, node, **more)
        if self.kind == "none":
            found = self.find(f"Node/{node}")["metadata"]["labels"]
            found["feature.node.kubernetes.io/pci-10de.present"] = "true"
        if "waiting" not in step:
            return
        container = step.get("init", operand)
        state = {
            "name": container,
            "restartCount": 7 if step["waiting"] == "CrashLoopBackOff" else 0,
            "state": {"waiting": {"reason": step["waiting"], "message": step.get("message", "")}},
        }
        key = "initContainerStatuses" if "init" in step else "containerStatuses"
        pod["status"] = {"phase": "Pending" if "init" in step else "Running", key: [state]}

    def _do_daemonset(self, name: str, step: Mapping[str, Any]) -> None:
        namespace, name = name.split("/")
        self._daemon_set(namespace, name, step["image"], step.get("tolerations"))
        for node in step["nodes"]:
            self._operand(name, node, namespace=namespace, image=step["image"])

    def _do_policy(self, spec: dict[str, Any], _: Mapping[str, Any]) -> None:
        self.add(_object("nvidia.com/v1", "ClusterPolicy", "cluster-policy", spec=spec))

    def _do_log(self, ref: str, step: Mapping[str, Any]) -> None:
        self.logs[ref.partition("/")[2]] = step["text"]

    def _do_node(self, name: str, step: Mapping[str, Any]) -> None:
        node = _object("v1", "Node", name, labels={"kubernetes.io/hostname": name})
        given = {"cpu": "96", "memory": "1000Gi", "pods": "110", **step.get("resources", {})}
        if step["gpu"]:
            count = str(step["count"])
            given["nvidia.com/gpu"] = count
            node["metadata"]["labels"] |= {
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": step["gpu"],
            }
            if step["count"]:
                node["metadata"]["labels"]["nvidia.com/gpu.count"] = count
        node["metadata"]["labels"] |= step.get("labels", {})
        node["spec"] = {"taints": step.get("taints", [])}
        node["status"] = {
            "allocatable": given,
            "capacity": dict(given),
            "conditions": [{**_condition("Ready", "True", "KubeletReady"), "lastHeartbeatTime": NOW}],
            "nodeInfo": {"osImage": step.get("os", "Ubuntu 22.04.4 LTS")},
        }
        self.add(node)

    def _do_pods(self, ref: str, step: Mapping[str, Any]) -> None:
        nodes = step.get("nodes", [None])
        per = step["count"] // len(nodes) if nodes != [None] else step["count"]
        for index in range(step["count"]):
            node = nodes[min(index // per, len(nodes) - 1)]
            self._do_pod(f"{ref}-{index}", {**step, **({"node": node} if node else {})})

    def _do_pod(self, ref: str, step: Mapping[str, Any]) -> None:
        namespace, name = ref.split("/")
        pod = _object("v1", "Pod", name, namespace, labels=dict(step.get("labels", {})))
        pod["metadata"]["annotations"] = dict(step.get("annotations", {}))
        asks = {key: str(value) for key, value in step.get("asks", {}).items()}
        container = {
            "name": "main",
            "image": step.get("image", "registry.example.com/app:1"),
            "command": step.get("command", ["python", "main.py"]),
            "resources": {"limits": asks},
            "env": [{"name": "TOKEN", "value": "hf_planted0planted0planted0planted0"}],
        }
        pod["spec"] = {
            "containers": [container],
            "tolerations": step.get("tolerations", [GPU_TOLERATION]),
            **step.get("spec", {}),
        }
        entries = [
            *({"name": n, "resourceClaimName": c} for n, c in step.get("claims", {}).items()),
            *({"name": n, "resourceClaimTemplateName": c} for n, c in step.get("templates", {}).items()),
        ]
        if entries:
            pod["spec"]["resourceClaims"] = entries
        if "node" in step:
            pod["spec"]["nodeName"] = step["node"]
        pod["status"] = _running("main") if "node" in step else {"phase": "Pending"}
        if "waiting" in step:
            waiting = {"reason": step["waiting"], "message": step.get("message", "")}
            state = {"name": "main", "restartCount": step.get("restarts", 0), "state": {"waiting": waiting}}
            pod["status"] = {"phase": "Pending", "containerStatuses": [state]}
        if "status" in step:
            pod["status"] = step["status"]
        if step.get("deleted"):
            pod["metadata"]["deletionTimestamp"] = "2026-11-28T09:00:00Z"
        self.add(pod)

    def _do_claim(self, ref: str, step: Mapping[str, Any]) -> None:
        namespace, name = ref.split("/")
        exactly: dict[str, Any] = {"deviceClassName": step["class"], "count": step.get("count", 1)}
        if "selector" in step:
            exactly["selectors"] = [{"cel": {"expression": step["selector"]}}]
        requests = [{"name": "gpu", "exactly": exactly}]
        claim = _object("resource.k8s.io/v1", "ResourceClaim", name, namespace)
        claim["spec"] = {"devices": {"requests": requests}}
        if "allocated" in step:
            node = step["allocated"]
            claim["status"] = {
                "allocation": {
                    "devices": {
                        "results": [
                            {"driver": "gpu.nvidia.com", "pool": node, "device": f"gpu-{i}", "request": "gpu"}
                            for i in range(step.get("count", 1))
                        ]
                    }
                },
                "reservedFor": [{"resource": "pods", "name": step["for"].split("/")[1], "uid": "u"}],
            }
        self.add(claim)

    def _do_slice(self, node: str, step: Mapping[str, Any]) -> None:
        devices = [
            {"name": f"gpu-{i}", "attributes": {"type": {"string": "gpu"}}} for i in range(step["count"])
        ]
        one = _object("resource.k8s.io/v1", "ResourceSlice", f"{node}-gpu")
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        self.add(
            one
            | {"spec": {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices}}
        )
        self.add(_device_class("gpu.nvidia.com", "gpu"))

    def _do_workload(self, ref: str, step: Mapping[str, Any]) -> None:
        namespace, name = ref.split("/")
        asks = {key: str(value) for key, value in step["asks"].items()}
        count = step.get("count", 1)
        template = {"spec": {"containers": [{"name": "main", "resources": {"requests": asks}}]}}
        one = _object("kueue.x-k8s.io/v1beta2", "Workload", name, namespace)
        pod_sets = [{"name": "main", "count": count, "template": template}]
        one["spec"] = {"queueName": step["queue"], "podSets": pod_sets}
        if step.get("inactive"):
            one["spec"]["active"] = False
        conditions = []
        flavor = step.get("admitted") or step.get("reserved")
        status: dict[str, Any] = {}
        if flavor:
            usage = {key: str(int(value) * count) for key, value in asks.items()}
            assignment = {"name": "main", "flavors": dict.fromkeys(asks, flavor), "resourceUsage": usage}
            status["admission"] = {"clusterQueue": "team", "podSetAssignments": [assignment]}
            conditions.append(_condition("QuotaReserved", "True", "QuotaReserved"))
        if step.get("admitted"):
            conditions.append(_condition("Admitted", "True", "Admitted"))
        if "reason" in step:
            found = _condition("QuotaReserved", "False", step["reason"])
            conditions.append(found | {"message": step["message"]})
        status["admissionChecks"] = [
            {"name": n, "state": s} for n, s in step.get("checks", {}).items()
        ]
        self.add(one | {"status": {**status, "conditions": conditions}})

    def _do_nodepool(self, name: str, step: Mapping[str, Any]) -> None:
        pool = _object("karpenter.sh/v1", "NodePool", name)
        template = {"requirements": step["requirements"], "taints": step.get("taints", [])}
        pool["spec"] = {"template": {"spec": template}}
        if "limits" in step:
            pool["spec"]["limits"] = step["limits"]
        pool["status"] = {
            "resources": step.get("used", {}),
            "conditions": [_condition("Ready", "True", "Ready")],
        }
        self.add(pool)


class _View:
    """What the record of a node's layouts is read from."""

    def __init__(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> None:
        self.labels, self.annotations = labels, annotations


def _hardware(manifest: Any) -> str:
    return manifest.metadata["annotations"]["sandbox.gpufleet.dev/hardware"]


def _object(
    version: str, kind: str, name: str, namespace: str = "", *, labels: Any = None, spec: Any = None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    found: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return found if spec is None else found | {"spec": spec}


def _condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": LONG_AGO}


def _running(container: str) -> dict[str, Any]:
    state = {"name": container, "restartCount": 0, "ready": True, "state": {"running": {}}}
    return {
        "phase": "Running",
        "conditions": [_condition("Ready", "True", "")],
        "containerStatuses": [state],
    }


def _device_class(name: str, kind: str) -> dict[str, Any]:
    expression = f"device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == '{kind}'"
    return _object(
        "resource.k8s.io/v1",
        "DeviceClass",
        name,
        spec={"selectors": [{"cel": {"expression": expression}}]},
    )


def _merge(target: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """A merge patch (RFC 7396)."""
    for key, value in changes.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = copy.deepcopy(value)


def broken(kind: str, steps: list[dict[str, Any]]) -> World:
    """A cluster after the steps of a fault."""
    world = World(kind)
    for step in steps:
        world.do(step)
    return world


def cases(file: Any) -> Iterator[dict[str, Any]]:
    """The faults or reports of a file."""
    yield from yaml.safe_load(file.read_text())
