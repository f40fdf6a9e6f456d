"""Generated admission policies on the real API server: they type-check, refuse and let pass."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufleet.findings import Level
from gpufleet_policies.fronts.admission.policies import (
    CHECKS,
    Enforcement,
    Policy,
    expressible,
    policies,
)
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.settings import read_settings
from gpufleet_sandbox.api_server import ApiAnswer, ApiServer
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.admission_cases import COMPLIANT, OFFENDING
from tests.engine.admission_kinds import CLUSTER_SCOPED, CRDS, plural_of
from tests.engine.admission_objects import WITH_PODS, container, pod_spec
from tests.engine.conftest import Project
from tests.engine.waiting import until

pytestmark = pytest.mark.sandbox

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KINDS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
IDLE = WITH_PODS["Deployment"](pod_spec(container(command=["sleep", "infinity"], args=[])))
EVERY_RULE_MANDATORY = {
    "rules": {check.rule: "mandatory" for check in CHECKS},
    "ownerTags": ["owner", "cost-center", "environment"],
}


def path_of(document: dict[str, Any], namespace: str) -> str:
    version = document["apiVersion"]
    base = "/api/v1" if version == "v1" else f"/apis/{version}"
    plain = document["kind"] in CLUSTER_SCOPED and "/" in version
    return f"{base}{'' if plain else f'/namespaces/{namespace}'}/{plural_of(document['kind'])}"


def create(
    server: ApiServer, document: dict[str, Any], namespace: str, options: str = "?dryRun=All"
) -> ApiAnswer:
    """Validate an object on the API server, all admission included, without storing it."""
    body = json.dumps(document).encode()
    return server.request("POST", path_of(document, namespace) + options, body)


def message(answer: ApiAnswer) -> str:
    return f"{answer.status} {answer.json().get('message', '')}"


@pytest.fixture(scope="module")
def namespace(sandbox: Sandbox) -> Iterator[str]:
    """One namespace for the module; the policies bind to no other."""
    server, name = sandbox.server(), "admission-test"
    body = json.dumps({"metadata": {"name": name}}).encode()
    assert server.request("POST", "/api/v1/namespaces", body).status in (201, 409)
    yield name
    server.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="module")
def installed(sandbox: Sandbox, namespace: str) -> Iterator[tuple[Policy, ...]]:
    """Every policy, denying, with every rule mandatory; bound to one namespace, and taken away."""
    server = sandbox.server()
    settings = read_settings(EVERY_RULE_MANDATORY)
    made = policies(settings, enforcement=Enforcement.DENY)
    ours: list[str] = []
    for crd in CRDS:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        answer = server.request("POST", path, json.dumps(crd).encode())
        assert answer.status in (201, 409), message(answer)
        if answer.status == 201:
            ours.append(f"{path}/{crd['metadata']['name']}")
    for document in [part for policy in made for part in (policy.policy, policy.binding)]:
        if document["kind"].endswith("Binding"):
            selector = {"kubernetes.io/metadata.name": namespace}
            document["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": selector}}
            # What only advises warns; a refusal is what the tests can see.
            document["spec"]["validationActions"] = ["Deny"]
        path = f"{ADMISSION}/{KINDS[document['kind']]}"
        answer = server.request("POST", path, json.dumps(document).encode())
        assert answer.status == 201, f"{document['metadata']['name']}: {message(answer)}"
        ours.append(f"{path}/{document['metadata']['name']}")
    until(lambda: create(server, IDLE, namespace).status == 422)
    yield made
    for path in reversed(ours):
        server.request("DELETE", path)


PROGRAM = """
import os
import pulumi
import pulumi_kubernetes as kubernetes
from gpufleet_policies.gpu_admission_policies import GpuAdmissionPolicies

cluster = kubernetes.Provider("cluster", kubeconfig=os.environ["KUBECONFIG"])
made = GpuAdmissionPolicies(
    "gpu",
    {"enforcement": "deny", "settings": {"rules": {"gpu-idle-command": "mandatory"}},
     "exempt_namespaces": ["default"]},
    pulumi.ResourceOptions(providers={"kubernetes": cluster}),
)
pulumi.export("rules", made.rules)
"""


def test_the_component_installs_what_the_command_writes(
    cluster_project: Callable[..., Project], sandbox: Sandbox
) -> None:
    project = cluster_project({"__main__.py": PROGRAM})
    assert project.run("up").status == 0
    server = sandbox.server()
    found = server.get(f"{ADMISSION}/{KINDS['ValidatingAdmissionPolicyBinding']}")["items"]
    actions = {
        item["metadata"]["name"]: item["spec"]["validationActions"]
        for item in found
        if item["metadata"]["name"].startswith("gpufleet-")
    }
    settings = read_settings({"rules": {"gpu-idle-command": "mandatory"}})
    made = policies(settings, enforcement=Enforcement.DENY)
    for policy in made:
        denies = policy.level is Level.MANDATORY
        assert actions[policy.name] == (["Deny", "Audit"] if denies else ["Warn", "Audit"])


def test_the_type_checker_of_the_api_server_has_nothing_to_say(
    sandbox: Sandbox, installed: tuple[Policy, ...]
) -> None:
    server = sandbox.server()
    names = {policy.name for policy in installed}

    def ours() -> list[dict[str, Any]]:
        found = server.get(f"{ADMISSION}/{KINDS['ValidatingAdmissionPolicy']}")["items"]
        return [item for item in found if item["metadata"]["name"] in names]

    until(lambda: all("observedGeneration" in i.get("status", {}) for i in ours()))
    warnings = {
        item["metadata"]["name"]: item["status"]["typeChecking"]
        for item in ours()
        if item["status"].get("typeChecking", {}).get("expressionWarnings")
    }
    assert warnings == {}


def test_every_expressible_rule_has_a_live_case() -> None:
    assert {rule for rule, _ in OFFENDING} == set(expressible())


def test_what_breaks_one_rule_is_refused_by_that_rule(
    sandbox: Sandbox, installed: tuple[Policy, ...], namespace: str
) -> None:
    server = sandbox.server()

    def wrong() -> list[str]:
        found: list[str] = []
        for rule, document in OFFENDING:
            if rule not in by_id():
                continue
            answer = create(server, document, namespace)
            said = message(answer)
            if answer.status != 422 or f"[{rule}]" not in said or f"ignore-{rule}" not in said:
                found.append(f"{rule} {document['kind']}: {said[:300]}")
        return found

    # The server takes up policies one after the other, in the seconds after they were made.
    until(lambda: not wrong(), wrong, 30)


def test_what_keeps_the_rules_passes(
    sandbox: Sandbox, installed: tuple[Policy, ...], namespace: str
) -> None:
    server = sandbox.server()

    def wrong() -> list[str]:
        answers = [(document, create(server, document, namespace)) for document in COMPLIANT]
        return [f"{d['kind']}: {message(a)[:400]}" for d, a in answers if a.status != 201]

    until(lambda: not wrong(), wrong, 30)  # what was refused before them may be for a moment more


@pytest.mark.parametrize(
    ("annotation", "status"),
    [
        ("a demo; until=2999-12-31", 201),
        ("a demo; until=2020-01-01", 422),
        ("; until=2999-12-31", 422),
        ("a demo", 422),
    ],
)
def test_an_exception_needs_a_reason_and_a_day_that_is_not_past(
    sandbox: Sandbox,
    installed: tuple[Policy, ...],
    namespace: str,
    annotation: str,
    status: int,
) -> None:
    kept = {"gpufleet.dev/ignore-gpu-idle-command": annotation}
    document = {**IDLE, "metadata": {**IDLE["metadata"], "annotations": kept}}
    answer = create(sandbox.server(), document, namespace)
    assert answer.status == status, message(answer)


def test_pods_of_a_judged_owner_are_not_judged_again(
    sandbox: Sandbox, installed: tuple[Policy, ...], namespace: str
) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "1"}
    pod = WITH_PODS["Pod"](pod_spec(container(command=["sleep", "infinity"], args=[])))
    server = sandbox.server()
    assert create(server, pod, namespace).status == 422
    for kind, status in (("ReplicaSet", 201), ("Something", 422)):
        owned = {**owner, "kind": kind, "controller": True}
        pod["metadata"]["ownerReferences"] = [owned]
        assert create(server, pod, namespace).status == status


def test_other_namespaces_and_unchanged_specs_are_left_alone(
    sandbox: Sandbox, installed: tuple[Policy, ...], namespace: str
) -> None:
    server = sandbox.server()
    assert create(server, IDLE, "default").status == 201
    # It was there before the policy: a new label is not a new waste, a new replica is.
    kept = {"gpufleet.dev/ignore-gpu-idle-command": "older; until=2999-12-31"}
    there = {**IDLE, "metadata": {**IDLE["metadata"], "annotations": kept}}
    assert create(server, there, namespace, "").status == 201
    path = f"{path_of(IDLE, namespace)}/probe"

    def patch(change: dict[str, Any]) -> int:
        kind = "application/merge-patch+json"
        return server.request("PATCH", path, json.dumps(change).encode(), kind).status

    silent = {"annotations": {"gpufleet.dev/ignore-gpu-idle-command": None}}
    assert patch({"metadata": silent}) == 200
    assert patch({"spec": {"replicas": 2}}) == 422
    assert server.request("DELETE", path).status == 200


def test_files_are_what_the_policies_are(tmp_path: Path) -> None:
    import yaml

    from gpufleet_policies.fronts.admission.policies import write_policies

    made = policies()
    written = write_policies(tmp_path, made)
    assert len(written) == len(made)
    for policy in made:
        read = list(yaml.safe_load_all(Path(written[policy.name]).read_text()))
        assert read == [policy.policy, policy.binding]
