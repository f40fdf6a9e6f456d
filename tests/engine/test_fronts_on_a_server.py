"""Admission as a front: `check` and the audit of the case tables' objects have the result of a real
API server with the vendors' definitions and the generated admission policies.

The comparison of the other fronts is tests/policies/differential.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go_stream
from gpufleet_policies.fronts.admission.policies import CHECKS, expressible, policies
from gpufleet_policies.fronts.audit import run
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.check import check_file
from gpufleet_policies.rules.settings import read_settings
from gpufleet_sandbox.api_server import ApiAnswer, ApiServer
from tests.engine.all_definitions import create, server_of_all_kinds
from tests.engine.waiting import until
from tests.policies.differential.samples import items_of, samples
from tests.policies.objects import TODAY

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
SETTINGS = read_settings(
    {
        "rules": {check.rule: "mandatory" for check in CHECKS},
        "ownerTags": ["owner", "cost-center", "environment"],
    }
)
FEWEST = 650
"""Objects of the tables that the server serves; fewer would mean that some are not read."""


@dataclass(frozen=True)
class Asked:
    """One object of the tables, and where a server takes it."""

    sample: str
    document: dict[str, Any]
    path: str

    def __str__(self) -> str:
        return f"{self.sample} {self.document['kind']}"

    @cached_property
    def file(self) -> Input:
        return Input("object.json", content=json.dumps(self.document).encode())


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the case tables, each once, as JSON has it."""
    seen: set[str] = set()
    for sample in samples():
        try:
            read = [one.data for one in read_go_stream(sample.text or "")]
        except UnreadableDocumentError:
            read = []
        read += [one.properties for one in sample.resources if one.is_manifest]
        for item in (item for document in read for item in items_of(document)):
            text = json.dumps(item, default=str)
            if text not in seen:
                seen.add(text)
                yield sample.name, json.loads(text)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with server_of_all_kinds(tmp_path_factory.mktemp("fronts")) as running:
        yield running


@pytest.fixture(scope="module")
def asked(server: ApiServer) -> list[Asked]:
    """The objects of kinds that the server serves, in its namespace `default`."""
    known: dict[str, dict[str, Any]] = {}
    found: list[Asked] = []
    for sample, document in documents():
        version = document["apiVersion"]
        base = "/api/v1" if version == "v1" else f"/apis/{version}"
        if base not in known:
            answer = server.request("GET", base)
            listed = answer.json().get("resources", []) if answer.status == 200 else []
            known[base] = {one["kind"]: one for one in listed if "/" not in one["name"]}
        resource = known[base].get(document["kind"])
        if resource is None:
            continue
        if resource["namespaced"]:
            base += "/namespaces/default"
            if isinstance(document.get("metadata"), dict):
                document["metadata"]["namespace"] = "default"
        found.append(Asked(sample, document, f"{base}/{resource['name']}"))
    assert len(found) >= FEWEST
    return found


@pytest.fixture(scope="module")
def answers(server: ApiServer, asked: list[Asked]) -> list[tuple[Asked, ApiAnswer]]:
    """The server's result for each object, before there are policies."""
    return [(one, create(server, one.path, one.document)) for one in asked]


OF_WEBHOOKS = "providerSpec.value"
"""A server keeps it as it is: webhooks of OpenShift validate it, and this server has none."""


def test_what_the_schemas_refuse_the_server_refuses(
    answers: list[tuple[Asked, ApiAnswer]],
) -> None:
    refused = [
        (one, answer, problem)
        for one, answer in answers
        if has_schema(one.document["apiVersion"], one.document["kind"])
        for problem in schema_problems(one.document)[:1]
        if OF_WEBHOOKS not in problem.path
    ]
    assert [f"{one}: {problem}" for one, answer, problem in refused if answer.status == 201] == []
    assert len(refused) > 90


BY_ITS_CODE = {
    "livenessProbe: Required value: must specify a handler type": "an empty probe",
    "HugePages require cpu or memory": "huge pages without another resource",
    "averageUtilization: Required value: must set either a target": "an HPA without a target value",
}
"""Refusals by the server's code without a schema or a rule."""


def test_what_the_server_refuses_is_reported(answers: list[tuple[Asked, ApiAnswer]]) -> None:
    """By a schema, or by a rule of `check`; what is neither is listed."""
    refused = [(one, answer) for one, answer in answers if answer.status != 201]
    assert len(refused) > 110
    used: set[str] = set()
    missed: list[str] = []
    for one, answer in refused:
        shape = has_schema(one.document["apiVersion"], one.document["kind"])
        found = check_file(one.file, TODAY, SETTINGS).findings
        if (shape and schema_problems(one.document)) or any(f.severity != "info" for f in found):
            continue
        said = answer.json()["message"]
        known = {text for text in BY_ITS_CODE if text in said}
        used |= known
        if not known:
            missed.append(f"{one}: {said[:300]}")
    assert missed == [], "\n".join(missed)
    assert used == set(BY_ITS_CODE)


@dataclass(frozen=True)
class Differs:
    """A rule that one front alone reports for a kind."""

    front: str
    rule: str
    kind: str
    reason: str


CLAIMS = "the claim's template is another object: a policy advises for any claim"
NOT_OF_POOLS = "no policy is written for pools"
DIFFERENCES = (
    Differs("audit", "gpu-owner-tags-missing", "NodePool", NOT_OF_POOLS),
    Differs("audit", "gpu-owner-tags-missing", "MachineSet", NOT_OF_POOLS),
    Differs("admission", "gpu-requested-twice", "Deployment", CLAIMS),
)
"""Intended differences, with the reason; an unused entry fails."""


@pytest.fixture(scope="module")
def with_policies(server: ApiServer, answers: list[Any]) -> ApiServer:
    """The server with every generated policy, each warning: a client then sees all of them."""
    del answers  # evaluated before
    for policy in policies(SETTINGS):
        policy.binding["spec"]["validationActions"] = ["Warn"]
        for kind, document in (("", policy.policy), ("bindings", policy.binding)):
            path = f"{ADMISSION}/validatingadmissionpolic{'ies' if not kind else 'y' + kind}"
            answer = server.request("POST", path, json.dumps(document).encode())
            assert answer.status == 201, answer.body
    return server


def test_admission_and_audit_report_the_same_rules(
    with_policies: ApiServer, answers: list[tuple[Asked, ApiAnswer]]
) -> None:
    rules = set(expressible())
    accepted = [
        (one, {found.code for found in run.audit([one.file], SETTINGS, TODAY).findings})
        for one, answer in answers
        if answer.status == 201
    ]

    def differences() -> tuple[set[tuple[str, str, str]], set[str]]:
        found: set[tuple[str, str, str]] = set()
        fired: set[str] = set()
        for one, audit in accepted:
            warnings = create(with_policies, one.path, one.document).warnings
            admission = {
                rule for text in warnings for rule in re.findall(r": \[([a-z0-9-]+)\]", text)
            }
            fired |= admission
            for front, more, less in (
                ("admission", admission, audit),
                ("audit", audit & rules, admission),
            ):
                found |= {(front, rule, one.document["kind"]) for rule in more - less}
        return found, fired

    listed = {(one.front, one.rule, one.kind) for one in DIFFERENCES}
    # The server takes up policies one after the other, in the seconds after they were made.
    until(lambda: differences()[0] == listed, lambda: str(differences()[0] ^ listed), 60)
    assert len(differences()[1]) >= 6
