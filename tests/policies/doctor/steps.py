"""Effects of faults on a cluster, step by step."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from tests.policies.doctor.clusters import GPU_TOLERATION, World
from tests.policies.doctor.objects import (
    LONG_AGO,
    an_object,
    condition,
    device_class,
    merge,
    ready,
    running,
)
from tests.reading import read_yaml


class Broken(World):
    """A cluster that steps break."""

    def do(self, step: Mapping[str, Any]) -> None:
        """One step of a fault."""
        kind = next(key for key in step if hasattr(self, f"_do_{key.replace('-', '_')}"))
        getattr(self, f"_do_{kind.replace('-', '_')}")(step[kind], step)

    def _do_patch(self, ref: str, step: Mapping[str, Any]) -> None:
        merge(self.find(ref), step["with"])

    def _do_condition(self, ref: str, step: Mapping[str, Any]) -> None:
        status = self.find(ref).setdefault("status", {})
        others = [c for c in status.get("conditions", []) if c["type"] != step["type"]]
        more = {"message": step.get("message", ""), "lastTransitionTime": LONG_AGO}
        found = condition(step["type"], step["status"], step["reason"]) | more
        status["conditions"] = [*others, found]

    def _do_delete(self, ref: str, _: Mapping[str, Any]) -> None:
        one = self.find(ref)
        del self.objects[next(key for key, value in self.objects.items() if value is one)]

    def _do_add(self, one: dict[str, Any], _: Mapping[str, Any]) -> None:
        self.add(copy.deepcopy(one))

    def _do_event(self, ref: str, step: Mapping[str, Any]) -> None:
        kind, namespace, name = ref.split("/")
        event = an_object("v1", "Event", f"{name}.{len(self.objects)}", namespace)
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
        self.settle(node, maps)

    def _do_operand(self, operand: str, step: Mapping[str, Any]) -> None:
        node = step["node"]
        more = {"image": step["image"]} if "image" in step else {}
        pod = self.operand(operand, node, **more)
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
        self.daemon_set(namespace, name, step["image"], step.get("tolerations"))
        for node in step["nodes"]:
            self.operand(name, node, namespace=namespace, image=step["image"])

    def _do_policy(self, spec: dict[str, Any], _: Mapping[str, Any]) -> None:
        self.add(an_object("nvidia.com/v1", "ClusterPolicy", "cluster-policy", spec=spec))

    def _do_log(self, ref: str, step: Mapping[str, Any]) -> None:
        self.logs[ref.partition("/")[2]] = step["text"]

    def _do_node(self, name: str, step: Mapping[str, Any]) -> None:
        node = an_object("v1", "Node", name, labels={"kubernetes.io/hostname": name})
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
            "conditions": [ready()],
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
        pod = an_object("v1", "Pod", name, namespace, labels=dict(step.get("labels", {})))
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
        named, made = "resourceClaimName", "resourceClaimTemplateName"
        entries = [
            *({"name": n, named: c} for n, c in step.get("claims", {}).items()),
            *({"name": n, made: c} for n, c in step.get("templates", {}).items()),
        ]
        if entries:
            pod["spec"]["resourceClaims"] = entries
        if "node" in step:
            pod["spec"]["nodeName"] = step["node"]
        pod["status"] = running("main") if "node" in step else {"phase": "Pending"}
        if "waiting" in step:
            waiting = {"reason": step["waiting"], "message": step.get("message", "")}
            restarts = step.get("restarts", 0)
            state = {"name": "main", "restartCount": restarts, "state": {"waiting": waiting}}
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
        claim = an_object("resource.k8s.io/v1", "ResourceClaim", name, namespace)
        claim["spec"] = {"devices": {"requests": requests}}
        if "allocated" in step:
            given = {"driver": "gpu.nvidia.com", "pool": step["allocated"], "request": "gpu"}
            results = [{**given, "device": f"gpu-{i}"} for i in range(step.get("count", 1))]
            user = {"resource": "pods", "name": step["for"].split("/")[1], "uid": "u"}
            claim["status"] = {
                "allocation": {"devices": {"results": results}},
                "reservedFor": [user],
            }
        self.add(claim)

    def _do_slice(self, node: str, step: Mapping[str, Any]) -> None:
        kind = {"type": {"string": "gpu"}}
        devices = [{"name": f"gpu-{i}", "attributes": kind} for i in range(step["count"])]
        one = an_object("resource.k8s.io/v1", "ResourceSlice", f"{node}-gpu")
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices}
        self.add(one | {"spec": spec})
        self.add(device_class("gpu.nvidia.com", "gpu"))

    def _do_workload(self, ref: str, step: Mapping[str, Any]) -> None:
        namespace, name = ref.split("/")
        asks = {key: str(value) for key, value in step["asks"].items()}
        count = step.get("count", 1)
        template = {"spec": {"containers": [{"name": "main", "resources": {"requests": asks}}]}}
        one = an_object("kueue.x-k8s.io/v1beta2", "Workload", name, namespace)
        pod_sets = [{"name": "main", "count": count, "template": template}]
        one["spec"] = {"queueName": step["queue"], "podSets": pod_sets}
        if step.get("inactive"):
            one["spec"]["active"] = False
        conditions = []
        flavor = step.get("admitted") or step.get("reserved")
        status: dict[str, Any] = {}
        if flavor:
            usage = {key: str(int(value) * count) for key, value in asks.items()}
            assignment = {"flavors": dict.fromkeys(asks, flavor), "resourceUsage": usage}
            assignment["name"] = "main"
            status["admission"] = {"clusterQueue": "team", "podSetAssignments": [assignment]}
            conditions.append(condition("QuotaReserved", "True", "QuotaReserved"))
        if step.get("admitted"):
            conditions.append(condition("Admitted", "True", "Admitted"))
        if "reason" in step:
            found = condition("QuotaReserved", "False", step["reason"])
            conditions.append(found | {"message": step["message"]})
        status["admissionChecks"] = [
            {"name": n, "state": s} for n, s in step.get("checks", {}).items()
        ]
        self.add(one | {"status": {**status, "conditions": conditions}})


def broken(kind: str, steps: list[dict[str, Any]]) -> Broken:
    """A cluster after the steps of a fault."""
    world = Broken(kind)
    for step in steps:
        world.do(step)
    return world


def cases(file: Any) -> Iterator[dict[str, Any]]:
    """The faults or reports of a file."""
    yield from read_yaml(file)
