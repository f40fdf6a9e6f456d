"""Why a job waits in a queue, by the doctor and by the real Kueue: generated queues and jobs. Then
the doctor's fix is applied, and Kueue no longer reports the same."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.kueue_configuration import kueue_configuration
from gpufleet_policies.doctor.cause import Diagnosis
from gpufleet_policies.doctor.diagnosis import diagnose
from gpufleet_policies.doctor.dump import read_live
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.kueue_controller import kueue
from tests.engine.namespaces import make_namespace
from tests.engine.queued_fleet import GPU, GROUP, SPEC
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

JOBS = 10
SAYS = (
    ("doesn't exist", {"queue-missing"}),
    ("is inactive", {"queue-inactive", "queue-stopped"}),
    ("is stopped", {"queue-stopped"}),
    ("doesn't match ClusterQueue selector", {"queue-namespace-refused"}),
    ("unavailable in ClusterQueue", {"queue-resource-uncovered"}),
    ("> maximum capacity", {"queue-exceeds-quota"}),
    ("insufficient unused quota", {"queue-full"}),
    ("untolerated taint", {"queue-flavor-refuses-pods"}),
)
"""Words of Kueue's condition QuotaReserved (0.19 `pkg/scheduler`, `pkg/scheduler/flavorassigner`),
and the causes with the same meaning."""


class Queues:
    """ClusterQueues of one seed, each with a LocalQueue of its name, and the jobs in them."""

    def __init__(self, seed: int, api: Any) -> None:
        self.random, self.namespace = random.Random(seed), f"doctor-queues-{seed}"
        self.batch, self.custom = client.BatchV1Api(api), client.CustomObjectsApi(api)
        self.core = client.CoreV1Api(api)
        self.bodies: dict[str, Any] = {}
        self.names = [f"doctor-{seed}-{number}" for number in range(6)]
        self.flavors = [f"doctor-{seed}-l4", f"doctor-{seed}-h100"]

    def _add(self, plural: str, kind: str, name: str, spec: dict[str, Any]) -> None:
        body = {
            "apiVersion": "/".join(GROUP),
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        if kind == "LocalQueue":
            made = self.custom.create_namespaced_custom_object
            made(*GROUP, self.namespace, plural, body)
        else:
            self.custom.create_cluster_custom_object(*GROUP, plural, body)

    def make(self) -> None:
        chance = self.random
        for flavor in self.flavors:
            taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
            spec = {"nodeTaints": [taint]} if chance.random() < 0.3 else {}
            self._add("resourceflavors", "ResourceFlavor", flavor, spec)
        for name in self.names:
            flavors = chance.sample(self.flavors, chance.choice([1, 2]))
            if chance.random() < 0.15:
                flavors.append("nowhere")
            resource = GPU if chance.random() < 0.8 else "nvidia.com/mig-1g.10gb"
            quota = [
                {
                    "name": flavor,
                    "resources": [
                        {"name": "cpu", "nominalQuota": "100"},
                        {"name": resource, "nominalQuota": str(chance.choice([0, 2, 4]))},
                    ],
                }
                for flavor in flavors
            ]
            spec: dict[str, Any] = {
                "resourceGroups": [{"coveredResources": ["cpu", resource], "flavors": quota}],
                "namespaceSelector": chance.choice(
                    [{}, {}, {}, {"matchLabels": {"team": "nobody-has-it"}}]
                ),
            }
            if chance.random() < 0.15:
                spec["stopPolicy"] = chance.choice(["Hold", "HoldAndDrain"])
            self._add("clusterqueues", "ClusterQueue", name, spec)
            self._add("localqueues", "LocalQueue", name, {"clusterQueue": name})

    def job(self, number: int) -> str:
        """The next job; its name."""
        chance, name = self.random, f"job-{number}"
        limits = {"cpu": "1", GPU: str(chance.choice([1, 2, 4, 8]))}
        container = {"name": "c", "image": "none", "resources": {"limits": limits}}
        queue = chance.choice([*self.names, "no-such-queue"])
        template: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        if chance.random() < 0.5:
            template["spec"]["tolerations"] = [{"key": "team", "operator": "Exists"}]
        pods = chance.choice([1, 1, 2])
        body = {
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
            "spec": {
                "suspend": True,
                "parallelism": pods,
                "completions": pods,
                "template": template,
            },
        }
        self.bodies[name] = body
        self.batch.create_namespaced_job(self.namespace, body)
        return name

    def answer(self, job: str) -> tuple[str, str]:
        """Name of the job's Workload and Kueue's report; empty: it is admitted."""
        listed = self.custom.list_namespaced_custom_object(*GROUP, self.namespace, "workloads")
        for one in listed["items"]:
            if not any(o["name"] == job for o in one["metadata"].get("ownerReferences", [])):
                continue
            for condition in one.get("status", {}).get("conditions", []):
                if condition["type"] == "QuotaReserved":
                    is_reserved = condition["status"] == "True"
                    return one["metadata"]["name"], "" if is_reserved else condition["message"]
        return "", ""

    def change(self, job: str, found: Diagnosis) -> str:
        """Apply the doctor's fix; returns the job that it concerns then."""
        values, body = found.found.values, self.bodies[job]
        pod, queue = body["spec"]["template"]["spec"], values.get("queue")
        limits = pod["containers"][0]["resources"]["limits"]
        match found.cause.code:
            case "queue-stopped":
                self._patch(values["at"].name, {"stopPolicy": "None"})
            case "queue-inactive":
                for flavor in values["missing"].split(", "):
                    self._add("resourceflavors", "ResourceFlavor", flavor, {})
                    self.flavors.append(flavor)
                until(self._have_flavors, "the queues to be active")
            case "queue-namespace-refused":
                labels = dict(pair.split("=") for pair in values["pairs"].split())
                self.core.patch_namespace(self.namespace, {"metadata": {"labels": labels}})
            case "queue-full":
                for other in [one for one in self.bodies if one != job]:
                    self._end(other)
            case code:
                self._end(job)
                if code == "queue-missing":
                    first = values["there"].split(" or ")[0]
                    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = first
                elif code == "queue-exceeds-quota":
                    if values["most"] == "0":  # nothing is small enough: its quota is raised
                        self._patch(queue.name, self._with_quota(queue.spec, values["name"]))
                    else:
                        limits[values["name"]] = values["most"]
                        body["spec"] |= {"parallelism": 1, "completions": 1}
                elif code == "queue-resource-uncovered":
                    (given,) = (one for one in values["covered"].split(", ") if one != "cpu")
                    limits[given] = limits.pop(values["name"])
                elif code == "queue-flavor-refuses-pods":
                    key = values["shown"].partition("=")[0]
                    pod["tolerations"] = [{"key": key, "operator": "Exists"}]
                job = body["metadata"]["name"] = f"{job}-changed"
                self.bodies[job] = body
                self.batch.create_namespaced_job(self.namespace, body)
        return job

    @staticmethod
    def _with_quota(spec: dict[str, Any], name: str) -> dict[str, Any]:
        for group in spec["resourceGroups"]:
            for flavor in group["flavors"]:
                for one in flavor["resources"]:
                    if one["name"] == name:
                        one["nominalQuota"] = "64"
        return {"resourceGroups": spec["resourceGroups"]}

    def _have_flavors(self) -> bool:
        listed = self.custom.list_cluster_custom_object(*GROUP, "clusterqueues")["items"]
        return not any(
            condition.get("reason") == "FlavorNotFound"
            for one in listed
            if one["metadata"]["name"] in self.names
            for condition in one.get("status", {}).get("conditions", [])
        )

    def _patch(self, queue: str, spec: dict[str, Any]) -> None:
        self.custom.patch_cluster_custom_object(*GROUP, "clusterqueues", queue, {"spec": spec})

    def _end(self, job: str) -> None:
        self.batch.delete_namespaced_job(job, self.namespace, propagation_policy="Background")
        del self.bodies[job]

    def remove(self) -> None:
        self.batch.delete_collection_namespaced_job(self.namespace, propagation_policy="Background")
        for name in self.names:
            self.custom.delete_namespaced_custom_object(*GROUP, self.namespace, "localqueues", name)
            self.custom.delete_cluster_custom_object(*GROUP, "clusterqueues", name)
        for name in self.flavors:
            self.custom.delete_cluster_custom_object(*GROUP, "resourceflavors", name)
        self.core.delete_namespace(self.namespace)


SEEDS = range(5)


@pytest.fixture(scope="module")
def running(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    fleet = compile_data(SPEC).fleet
    assert fleet is not None
    spaces = [f"doctor-queues-{seed}" for seed in SEEDS]
    with kueue(sandbox, tmp_path_factory.mktemp("kueue"), kueue_configuration(fleet), spaces):
        yield


def refs(found: Diagnosis) -> set[str]:
    """Objects that a cause is about."""
    return {found.found.at, *found.found.explains}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("running")
def test_the_cause_is_what_kueue_says(sandbox: Sandbox, cluster: Any, seed: int) -> None:
    queues = Queues(seed, cluster)
    make_namespace(queues.core, queues.namespace)
    queues.make()
    problems: list[str] = []
    try:
        for number in range(JOBS):
            job = queues.job(number)
            until(lambda job=job: queues.answer(job)[0], f"an answer of Kueue for {job}")
            name, said = queues.answer(job)
            ref = f"Workload/{queues.namespace}/{name}"
            found = diagnose(read_live(str(sandbox.kubeconfig), None))
            codes = {d.cause.code for d in found if ref in refs(d)}
            wanted = {code for words, same in SAYS if words in said for code in same}
            if said and not wanted:
                problems.append(f"{job}: no cause is known for: {said}")
            elif bool(said) != bool(codes) or (said and not codes & wanted):
                problems.append(f"{job}: Kueue: {said or 'admitted'}\n  doctor: {codes or 'none'}")
            elif said:
                cause = next(d for d in found if d.cause.code in codes & wanted and ref in refs(d))
                words = next(words for words, same in SAYS if words in said)
                now, fix = queues.change(job, cause), cause.text("fix")

                def helped(now: str = now, words: str = words) -> bool:
                    workload, told = queues.answer(now)
                    waits = "maximum" in words and "insufficient unused quota" in told
                    return bool(workload) and (words not in told or waits)

                until(helped, lambda now=now, fix=fix: f"{now}: {fix}: {queues.answer(now)}")
    finally:
        queues.remove()
    assert not problems, "\n".join(problems)
