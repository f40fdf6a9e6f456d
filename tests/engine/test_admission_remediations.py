"""MutatingAdmissionPolicies on the real API server: what each rule at `remediate` fixes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpufleet_policies.fronts.admission.remediation_policies import (
    MendingPolicy,
    remediation_policies,
)
from gpufleet_policies.fronts.admission.remediations import MENDS
from gpufleet_policies.rules.settings import read_settings
from gpufleet_sandbox.api_server import ApiAnswer, ApiServer
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.admission_cases import BROKEN
from tests.engine.admission_kinds import CLUSTER_SCOPED, CRDS, plural_of
from tests.engine.admission_objects import GPU, WITH_PODS, changed, pod_spec
from tests.engine.conftest import Project
from tests.engine.waiting import until

pytestmark = pytest.mark.sandbox

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KINDS = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
}
NAMESPACE = "admission-mends"
QUEUE = "research"
MENDABLE = {remediate.rule for remediate in MENDS}


def create(server: ApiServer, document: dict[str, Any]) -> ApiAnswer:
    """Ask the API server for an object, all admission included, without storing it."""
    version = document["apiVersion"]
    base = "/api/v1" if version == "v1" else f"/apis/{version}"
    scope = "" if document["kind"] in CLUSTER_SCOPED else f"/namespaces/{NAMESPACE}"
    path = f"{base}{scope}/{plural_of(document['kind'])}?dryRun=All"
    return server.request("POST", path, json.dumps(document).encode())


@pytest.fixture(scope="module")
def installed(sandbox: Sandbox) -> Iterator[tuple[MendingPolicy, ...]]:
    """Every fixing policy, bound to one namespace and to objects without one; taken away again."""
    server = sandbox.server()
    body = json.dumps({"metadata": {"name": NAMESPACE}}).encode()
    assert server.request("POST", "/api/v1/namespaces", body).status in (201, 409)
    ours = [f"/api/v1/namespaces/{NAMESPACE}"]
    settings = read_settings({"rules": dict.fromkeys(sorted(MENDABLE), "remediate")})
    made = remediation_policies(settings, queue=QUEUE)
    for crd in CRDS:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        answer = server.request("POST", path, json.dumps(crd).encode())
        assert answer.status in (201, 409), answer.body[:300]
        if answer.status == 201:
            ours.append(f"{path}/{crd['metadata']['name']}")
    for document in (each for one in made for each in (one.policy, one.binding)):
        if document["kind"].endswith("Binding"):
            labels = {"kubernetes.io/metadata.name": NAMESPACE}
            document["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": labels}}
        path = f"{ADMISSION}/{KINDS[document['kind']]}"
        answer = server.request("POST", path, json.dumps(document).encode())
        assert answer.status == 201, f"{document['metadata']['name']}: {answer.body[:600]}"
        ours.append(f"{path}/{document['metadata']['name']}")
    yield made
    for path in reversed(ours):
        server.request("DELETE", path)


def at(document: Any, path: str) -> Any:
    for step in path.split("/"):
        document = document[int(step)] if isinstance(document, list) else document.get(step, {})
    return document


DEADLINES = {
    "Job": "spec/activeDeadlineSeconds",
    "CronJob": "spec/jobTemplate/spec/activeDeadlineSeconds",
    "PyTorchJob": "spec/runPolicy/activeDeadlineSeconds",
    "MPIJob": "spec/runPolicy/activeDeadlineSeconds",
    "RayJob": "spec/activeDeadlineSeconds",
    "TrainJob": "spec/activeDeadlineSeconds",
}
LABELLED = ("Job", "JobSet", "PyTorchJob", "MPIJob", "RayJob", "TrainJob")
CONTAINER = "spec/containers/0/resources/limits"
TEMPLATES = {
    "Notebook": "spec/template",
    "LeaderWorkerSet": "spec/leaderWorkerTemplate/workerTemplate",
    "PyTorchJob": "spec/pytorchReplicaSpecs/Worker/template",
    "MPIJob": "spec/mpiReplicaSpecs/Worker/template",
}


NEVER = {"consolidateAfter": "Never"}


def expected(rule: str, document: dict[str, Any]) -> dict[str, Any] | None:
    """Path -> value after the fix; None where the rule's finding on this object is not fixed."""
    kind = document["kind"]
    match rule:
        case "gpu-job-without-deadline":
            return {DEADLINES[kind]: 86_400}
        case "rayjob-cluster-outlives-job":
            return {"spec/shutdownAfterJobFinishes": True, "spec/ttlSecondsAfterFinished": 300}
        case "gpu-cronjob-overlaps":
            return {"spec/concurrencyPolicy": "Forbid"}
        case "training-without-queue-or-gang" if kind in LABELLED:
            return {"metadata/labels": {"kueue.x-k8s.io/queue-name": QUEUE}}
        case "gpu-request-without-limit" if kind in TEMPLATES:
            return {f"{TEMPLATES[kind]}/{CONTAINER}": {"nvidia.com/gpu": "1"}}
        case "gpu-pool-unbounded":
            return {"spec/limits": {"nvidia.com/gpu": "64"}}
        case "karpenter-never-consolidates" if document["spec"]["disruption"] == NEVER:
            return {
                "spec/disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"}
            }
        case "karpenter-never-expires":
            return {"spec/template/spec/expireAfter": "720h"}
        case "scale-down-too-slow" if kind == "HorizontalPodAutoscaler":
            return {"spec/behavior/scaleDown/stabilizationWindowSeconds": 1800}
        case "scale-down-too-slow" if kind == "ScaledObject":
            return {"spec/cooldownPeriod": 1800}
        case _:
            return None


CASES = [
    (rule, document, wanted)
    for rule, document in BROKEN
    if rule in MENDABLE and (wanted := expected(rule, document)) is not None
]
"""Rule, object, and what it must hold afterwards."""


def _holds(there: Any, value: Any) -> bool:
    """Whether it is the value, or a mapping with all of it."""
    if isinstance(value, dict) and isinstance(there, dict):
        return all(there.get(key) == one for key, one in value.items())
    return there == value


def wrong_answers(server: ApiServer) -> list[str]:
    """What the fixes left wrong, in words."""
    found: list[str] = []
    for rule, document, wanted in CASES:
        answer = create(server, document)
        made = answer.json()
        for path, value in wanted.items():
            there = at(made, path) if answer.status == 201 else f"{answer.body[:300]!r}"
            if not _holds(there, value):
                found.append(f"{rule} {document['kind']} {path}: {there!r}, not {value!r}")
    return found


PROGRAM = """
import os
import pulumi
import pulumi_kubernetes as kubernetes
from gpufleet_policies.gpu_admission_policies import GpuAdmissionPolicies

cluster = kubernetes.Provider("cluster", kubeconfig=os.environ["KUBECONFIG"])
made = GpuAdmissionPolicies(
    "gpu",
    {"settings": {"rules": {"gpu-job-without-deadline": "remediate"}}, "mend": True},
    pulumi.ResourceOptions(providers={"kubernetes": cluster}),
)
pulumi.export("names", made.policy_names)
"""


@pytest.mark.nightly
def test_the_component_installs_what_mends(
    cluster_project: Callable[..., Project], sandbox: Sandbox
) -> None:
    project = cluster_project({"__main__.py": PROGRAM})
    assert project.run("up").status == 0
    chosen = read_settings({"rules": {"gpu-job-without-deadline": "remediate"}})
    wanted = {policy.name for policy in remediation_policies(chosen)}
    assert wanted
    for plural in KINDS.values():
        there = sandbox.server().get(f"{ADMISSION}/{plural}")["items"]
        assert wanted <= {item["metadata"]["name"] for item in there}


def test_every_mendable_rule_has_a_live_case() -> None:
    assert {rule for rule, _, _ in CASES} == MENDABLE


def test_each_finding_is_mended(sandbox: Sandbox, installed: tuple[MendingPolicy, ...]) -> None:
    server = sandbox.server()
    until(lambda: not wrong_answers(server), lambda: wrong_answers(server), 60)


def test_what_keeps_the_rules_and_what_has_an_exception_is_left(
    sandbox: Sandbox, installed: tuple[MendingPolicy, ...]
) -> None:
    server = sandbox.server()
    until(lambda: not wrong_answers(server), lambda: wrong_answers(server), 60)
    good = WITH_PODS["Job"](pod_spec())
    assert at(create(server, good).json(), "spec/activeDeadlineSeconds") == 3600
    endless = changed(good, "spec/activeDeadlineSeconds", None)
    kept = {"gpufleet.dev/ignore-gpu-job-without-deadline": "a test; until=2999-12-31"}
    excused = create(server, changed(endless, "metadata/annotations", kept)).json()
    assert "activeDeadlineSeconds" not in excused["spec"]
    cpu = pod_spec({"name": "main", "image": "x"})
    plain = changed(WITH_PODS["Job"](cpu), "spec/activeDeadlineSeconds", None)
    assert "activeDeadlineSeconds" not in create(server, plain).json()["spec"]


def test_without_a_run_policy_one_is_made(
    sandbox: Sandbox, installed: tuple[MendingPolicy, ...]
) -> None:
    server = sandbox.server()
    until(lambda: not wrong_answers(server), lambda: wrong_answers(server), 60)
    job = changed(WITH_PODS["PyTorchJob"](pod_spec()), "spec/runPolicy", None)
    assert create(server, job).json()["spec"]["runPolicy"] == {"activeDeadlineSeconds": 86_400}


@pytest.mark.parametrize("kind", sorted(TEMPLATES))
def test_every_container_is_given_the_limits_it_lacks(
    sandbox: Sandbox, installed: tuple[MendingPolicy, ...], kind: str
) -> None:
    server = sandbox.server()
    until(lambda: not wrong_answers(server), lambda: wrong_answers(server), 60)
    mig = "nvidia.com/mig-1g.10gb"
    fine = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {GPU: "2"}}
    spec = pod_spec(
        {"name": "fine", "image": "x", "resources": fine},
        {"name": "bare", "image": "x", "resources": {"requests": {GPU: "4", "cpu": "1"}}},
        {"name": "none", "image": "x"},
        {
            "name": "partly",
            "image": "x",
            "resources": {"requests": {mig: "1", GPU: "1"}, "limits": {GPU: "1", "cpu": "2"}},
        },
        initContainers=[{"name": "first", "image": "x", "resources": {"requests": {GPU: "1"}}}],
    )
    answer = create(server, WITH_PODS[kind](spec))
    assert answer.status == 201, answer.body[:600]
    made = at(answer.json(), f"{TEMPLATES[kind]}/spec")
    limits = [one.get("resources", {}).get("limits") for one in made["containers"]]
    assert limits == [{GPU: "2"}, {GPU: "4"}, None, {GPU: "1", "cpu": "2", mig: "1"}]
    assert made["initContainers"][0]["resources"]["limits"] == {GPU: "1"}
