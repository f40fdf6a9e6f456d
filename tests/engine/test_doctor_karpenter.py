"""Whether a NodePool creates a node for a pod, by the doctor and by the real Karpenter: generated
NodePools and pods. The doctor reports first; then its smallest change gets the pod a machine."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client

from gpufleet.platforms.compiled import compile_data
from gpufleet_policies.doctor.blockers import Answer
from gpufleet_policies.doctor.dump import read_live
from gpufleet_policies.doctor.observed import SeenPod
from gpufleet_policies.doctor.pending import prove
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.karpenter_controller import NODE_CLASS, ZONES, Karpenter, karpenter
from tests.engine.namespaces import make_namespace
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

GPU, TEAM, ONLY = "nvidia.com/gpu", "example.com/team", "example.com/only"
TYPE = "node.kubernetes.io/instance-type"
TYPES = ("g6.xlarge", "g6.4xlarge", "g6.12xlarge", "g6.48xlarge", "p5.48xlarge")
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
OWN = {"key": TEAM, "value": "a", "effect": "NoExecute"}
POOLS, PODS, LIMITED = 4, 20, 5
POOL = ("karpenter.sh", "v1", "nodepools")
WORDS = (
    ("exceed limits for nodepool", "limit"),
    ("did not tolerate taint", "taint"),
    ("incompatible requirements", "requirement"),
    ("no instance type", "machine"),
)
"""Words of Karpenter 1.14 (`pkg/controllers/provisioning/scheduling`), and the doctor's."""


def within(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


class Generated:
    """NodePools and pods of one seed."""

    def __init__(self, seed: int, api: Any, controller: Karpenter) -> None:
        self.random, self.namespace = random.Random(seed), f"doctor-karpenter-{seed}"
        self.core, self.custom = client.CoreV1Api(api), client.CustomObjectsApi(api)
        self.controller, self.seed = controller, seed
        self.pools: list[str] = []

    def add_pool(self, only: str = "") -> None:
        """A NodePool; one that only one pod selects and tolerates has limits."""
        chance, name = self.random, f"doctor-{self.seed}-{len(self.pools):02}"
        requirements = [within(TYPE, *chance.sample(TYPES, chance.choice([1, 2, 3])))]
        if chance.random() < 0.3:
            requirements.append(within("topology.kubernetes.io/zone", chance.choice(ZONES)))
        if chance.random() < 0.4:
            kind = "karpenter.sh/capacity-type"
            requirements.append(within(kind, chance.choice(["spot", "on-demand"])))
        if chance.random() < 0.3:
            requirements.append(within(TEAM, *chance.choice(["a", "b", "ab"])))
        labels = {ONLY: only} if only else {}
        taints = chance.choice([[], [TAINT], [TAINT], [TAINT, OWN]])
        if only:
            taints = [*taints, {"key": ONLY, "value": only, "effect": "NoSchedule"}]
        reference = {**NODE_CLASS}
        if not only and self.pools and chance.random() < 0.15:
            reference["name"] = "is-not-there"
        template = {
            "metadata": {"labels": labels},
            "spec": {"requirements": requirements, "taints": taints, "nodeClassRef": reference},
        }
        spec: dict[str, Any] = {"template": template, "weight": 100 - len(self.pools)}
        if only:
            limits = [{GPU: "0"}, {GPU: "1"}, {GPU: "4"}, {"cpu": "50"}, {"memory": "100Gi"}]
            spec["limits"] = chance.choice(limits)
        body = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}}
        self.custom.create_cluster_custom_object(*POOL, {**body, "spec": spec})
        self.pools.append(name)

    def pod(self, name: str, *, limited: bool) -> dict[str, Any]:
        """The next pod."""
        chance, selector = self.random, dict[str, str]()
        limits = {GPU: str(chance.choice([1, 1, 2, 4, 8, 16])), "cpu": chance.choice("1124")}
        if chance.random() < 0.2:
            limits["cpu"] = chance.choice(["40", "120", "400"])
        if limited:
            selector[ONLY] = name
        if chance.random() < 0.2:
            selector[TYPE] = chance.choice([*TYPES, "p6-b200.48xlarge"])
        teams = chance.random() < 0.2
        if teams:
            selector[TEAM] = chance.choice("abc")
        spec: dict[str, Any] = {
            "containers": [{"name": "c", "image": "none", "resources": {"limits": limits}}],
            "nodeSelector": selector,
            "terminationGracePeriodSeconds": 0,
            "tolerations": chance.choice(
                [
                    [],
                    [{"key": GPU, "operator": "Exists"}],
                    [{"key": GPU, "operator": "Exists"}, {"key": TEAM, "value": "a"}],
                ]
            ),
        }
        if limited:
            spec["tolerations"] = [*spec["tolerations"], {"key": ONLY, "value": name}]
        if chance.random() < 0.4:
            zone, kind = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
            terms = chance.choice(
                [
                    [within(zone, ZONES[0])],
                    [{"key": kind, "operator": "NotIn", "values": ["spot"]}],
                    [{"key": TEAM, "operator": "Exists"}],
                    # Of a label that the pod names as well Karpenter takes this one alone.
                    [{"key": TEAM, "operator": "Exists" if teams else "DoesNotExist"}],
                ]
            )
            choices = [{"matchExpressions": terms}]
            if chance.random() < 0.4:
                choices.append({"matchExpressions": [within(kind, "on-demand")]})
            required = {"nodeSelectorTerms": choices}
            spec["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        metadata = {"name": name, "namespace": self.namespace}
        return {"kind": "Pod", "metadata": metadata, "spec": spec}

    def settled(self) -> bool:
        listed = self.custom.list_cluster_custom_object(*POOL)["items"]
        found = [one for one in listed if one["metadata"]["name"] in self.pools]
        said = [
            condition["status"] in {"True", "False"}
            for one in found
            for condition in one.get("status", {}).get("conditions", [])
            if condition["type"] == "Ready"
        ]
        return len(said) == len(self.pools) and all(said)

    def ask(self, pods: list[dict[str, Any]]) -> dict[str, list[str] | None]:
        """Karpenter's reasons against each pod, pool by pool; None: it gets a machine."""
        names = [one["metadata"]["name"] for one in pods]
        with self.controller.paused():
            for one in pods:
                self.core.create_namespaced_pod(self.namespace, one)
            until(lambda: set(names) <= self._seen(), "the scheduler to have seen the pods")
        found: dict[str, list[str] | None] = {}

        def answered() -> bool:
            found.clear()
            found.update(self._refused())
            found.update(dict.fromkeys(self._nominated() | self._bound()))
            return set(names) <= set(found)

        until(answered, lambda: f"no answer for {set(names) - set(found)}")
        return found

    def _seen(self) -> set[str]:
        """Pods that the scheduler has bound, or found no node for: Karpenter looks at those."""
        return {
            pod.metadata.name
            for pod in self.core.list_namespaced_pod(self.namespace).items
            if pod.spec.node_name
            or any(one.reason == "Unschedulable" for one in pod.status.conditions or [])
        }

    def _bound(self) -> set[str]:
        pods = self.core.list_namespaced_pod(self.namespace).items
        return {pod.metadata.name for pod in pods if pod.spec.node_name}

    def _refused(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for line in self.controller.log.read_text().splitlines():
            if '"could not schedule pod"' not in line:
                continue
            said = json.loads(line)
            if said["Pod"]["namespace"] == self.namespace:
                found[said["Pod"]["name"]] = said["error"].split("; ")
        return found

    def _nominated(self) -> set[str]:
        chosen = "reason=Nominated"
        listed = self.core.list_namespaced_event(self.namespace, field_selector=chosen).items
        return {one.involved_object.name for one in listed}

    def change(self, pod: dict[str, Any], near: Answer) -> bool:
        """Apply the doctor's fix; whether it can be applied here."""
        spec = pod["spec"]
        for one in near.blockers:
            match one.filter:
                case "taint":
                    wanted = yaml.safe_load("{" + one.change.partition("{")[2])
                    spec["tolerations"] = [*spec["tolerations"], wanted]
                case "requirement":
                    for part in one.change.removeprefix("change ").split(" and "):
                        self._drop(spec, part.split()[0])
                case "limit":
                    body = {"spec": {"limits": None}}
                    self.custom.patch_cluster_custom_object(*POOL, near.name, body)
                case "machine" if one.change.startswith("request "):
                    amount, _, name = one.change.split(", or ")[0].split()[-3:]
                    less = "less than" in one.change
                    limits = spec["containers"][0]["resources"]["limits"]
                    limits[name] = str(int(amount) - 1) if less else amount
                case _:
                    return False
        return True

    @staticmethod
    def _drop(spec: dict[str, Any], key: str) -> None:
        spec["nodeSelector"].pop(key, None)
        affinity = spec.get("affinity", {}).get("nodeAffinity", {})
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get(
            "nodeSelectorTerms", []
        ):
            left = [one for one in term["matchExpressions"] if one["key"] != key]
            if len(left) < len(term["matchExpressions"]):
                spec.pop("affinity")
                return

    def _is_empty(self) -> bool:
        """Whether no machine is left. The kwok provider creates a node some time after its
        NodeClaim: where the claim is deleted before, nothing else deletes the node."""
        chosen = {"label_selector": f"karpenter.sh/nodepool in ({','.join(self.pools)})"}
        claims = self.custom.list_cluster_custom_object(*POOL[:2], "nodeclaims", **chosen)["items"]
        nodes = self.core.list_node(**chosen).items
        for one in nodes if not claims else ():
            self.core.patch_node(one.metadata.name, {"metadata": {"finalizers": None}})
            self.core.delete_node(one.metadata.name)
        return not claims and not nodes

    def remove(self) -> None:
        self.core.delete_collection_namespaced_pod(self.namespace, grace_period_seconds=0)
        for name in self.pools:
            self.custom.delete_cluster_custom_object(*POOL, name)
        until(self._is_empty, "no machines")
        self.core.delete_namespace(self.namespace)


@pytest.fixture(scope="module")
def controller(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Karpenter]:
    pools = [
        {
            "name": name.replace(".", "-"),
            "instanceTypes": [name],
            "provisioner": "karpenter",
            "nodes": {"min": 0, "max": 1},
        }
        for name in TYPES
    ]
    spec = {"catalogue": "2026.11", "platform": "eks", "pools": pools}
    fleet = compile_data(spec | {"cluster": {"name": "ml", "region": "us-east-1"}}).fleet
    assert fleet is not None
    with karpenter(sandbox, tmp_path_factory.mktemp("karpenter"), fleet.pools) as running:
        body = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": NODE_CLASS["kind"]}
        body |= {"metadata": {"name": NODE_CLASS["name"]}, "spec": {}}
        path = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses/kwok"
        sandbox.server().apply(path, yaml.safe_dump(body).encode())
        yield running


def said(answers: tuple[Answer, ...], spent: set[str]) -> list[str]:
    """The doctor's reasons, pool by pool, as Karpenter lists them: each taint, no unready pool.

    `spent`: pools whose limit was used up while Karpenter decided.
    """
    found: list[str] = []
    for one in answers:
        first = one.first.filter
        if one.name in spent:
            found.append("limit")
        elif first == "taint":
            found += ["taint" for blocker in one.blockers if blocker.filter == "taint"]
        elif first == "limit" and "within the limits" in one.reason:
            found.append("machine")  # of the machines that the limits leave, none has enough
        elif first != "ready":
            found.append(first)
    return found


def kinds(errors: list[str]) -> list[str]:
    errors = [one for one in errors if not one.startswith("key ")]  # second labels of one pool
    return [next((k for words, k in WORDS if words in one), one) for one in errors]


@pytest.mark.parametrize("seed", range(10))
def test_the_proof_is_what_karpenter_says(
    controller: Karpenter, sandbox: Sandbox, cluster: Any, seed: int
) -> None:
    """Twenty pods: the reason of each pool, then the smallest change, which gets a machine."""
    made = Generated(seed, cluster, controller)
    make_namespace(made.core, made.namespace)
    problems: list[str] = []
    refused = changed = 0
    try:
        for _ in range(POOLS):
            made.add_pool()
        names = [f"pod-{number}" for number in range(PODS)]
        for name in names[:LIMITED]:
            made.add_pool(name)
        until(made.settled, "the NodePools to be ready or not")
        pods = [made.pod(name, limited=name in names[:LIMITED]) for name in names]
        dump = read_live(str(sandbox.kubeconfig), None)
        answers = {
            one["metadata"]["name"]: tuple(
                pool
                for pool in prove(dump, SeenPod(one)).pools
                if pool.name.startswith(f"doctor-{seed}-")
            )
            for one in pods
        }
        errors = made.ask(pods)
        served = [number for number in range(LIMITED) if errors[names[number]] is None]
        spent = {made.pools[POOLS + number] for number in served}
        again: list[dict[str, Any]] = []
        why: dict[str, str] = {}
        for one in pods:
            name = one["metadata"]["name"]
            mine, theirs = answers[name], errors[name]
            limits = " ".join(theirs or ())
            now = {pool for pool in spent if f"nodepool (NodePool={pool})" in limits}
            able = {pool.name for pool in mine if not pool.blockers} - now
            if theirs is None or able:
                if bool(able) is not (theirs is None):
                    problems.append(f"{one['spec']}\n  Karpenter: {theirs}\n  doctor: {able}")
                continue
            refused += 1
            if said(mine, now) != kinds(theirs):
                shown = [(pool.name, pool.reason) for pool in mine]
                problems.append(f"{one['spec']}\n  Karpenter: {theirs}\n  doctor: {shown}")
            own = {
                *made.pools[:POOLS],
                *(p for p, n in zip(made.pools[POOLS:], names, strict=False) if n == name),
            }
            near = min((p for p in mine if p.name in own), key=lambda pool: pool.cost)
            if made.change(one, near):
                name = f"{name}-changed"
                why[name] = f"{near.name}: {near.change}"
                again.append({**one, "metadata": {**one["metadata"], "name": name}})
        changed = len(again)
        made.core.delete_collection_namespaced_pod(made.namespace, grace_period_seconds=0)
        until(lambda: not made.core.list_namespaced_pod(made.namespace).items, "no pods")
        for name, theirs in made.ask(again).items() if again else ():
            if name in why and theirs is not None:
                problems.append(f"{name}: {why[name]}\n  does not help: {theirs}")
    finally:
        made.remove()
    assert not problems, "\n".join(problems)
    assert refused >= PODS // 4
    assert changed >= refused // 2
