"""Inputs of cloud resources are what the installed SDKs and the providers themselves take.

`CloudObject` registers resources by type token, without the SDK's classes. Here every registration
of the goldens and of the recorded programs, which other tests hold this tree to, is compared with
those classes: names of inputs at any depth, their types, and what is required. Values are compared
with the providers' own constraints (`catalogue/provider_inputs.py`).
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue.provider_inputs import constraints, violations
from gpufleet.documents.reading import read_strict
from gpufleet.platforms.eks import aws_objects
from gpufleet.platforms.eks.auto_mode import access_policy_arn
from gpufleet.platforms.gke import gcp_objects, gpu_networks, names
from gpufleet.platforms.gke.gpu_networks import GpuNetwork, firewall_arguments
from gpufleet_sandbox.cloud.checking import problems
from gpufleet_sandbox.cloud.sdk import Sdk
from tests.recorded.differences import recording, recordings

SDKS = {name: Sdk(name) for name in ("aws", "gcp")}
TOKENS = {
    value
    for module in (aws_objects, gcp_objects, gpu_networks, names)
    for value in vars(module).values()
    if isinstance(value, str) and value.startswith(tuple(f"{name}:" for name in SDKS))
} | {
    part["type"]
    for module in (aws_objects, gcp_objects)
    for part in read_strict(
        Path(module.__file__).with_name("resources.yaml").read_bytes()
    ).data.values()
    if "type" in part
}
"""Types that the product registers."""


def registrations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Program and resource, type, inputs."""
    for program in recordings("resources"):
        for urn, resource in recording("resources", program).items():
            token = urn.split("::")[2].split("$")[-1]
            if token in TOKENS:
                yield f"{program} {urn.rsplit('::', 1)[-1]}", token, resource.get("inputs", {})
    for file in sorted((Path(__file__).parent / "golden").glob("*.json")):
        for resource in json.loads(file.read_text(encoding="utf-8")):
            if resource["type"] in TOKENS:
                yield f"{file.stem} {resource['name']}", resource["type"], resource["inputs"]
    role = "arn:aws:iam::123456789012:role/nodes"
    entry = {"clusterName": "ml", "principalArn": role, "type": "EC2_LINUX", "tags": {}}
    yield "Karpenter's access_entry", "aws:eks/accessEntry:AccessEntry", entry
    policy = {
        "clusterName": "ml",
        "principalArn": role,
        "policyArn": access_policy_arn(role),
        "accessScope": {"type": "cluster"},
    }
    yield (
        "the access policy of Auto Mode",
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        policy,
    )
    network = GpuNetwork("vpc1", "ml-vpc1", None, None, ())
    rule = {**(firewall_arguments(network) or {}), "network": "ml-vpc1"}
    yield "the rule of a network of GPU interfaces", gpu_networks.FIREWALL, rule


REGISTERED = list(registrations())


def test_every_type_is_registered_somewhere() -> None:
    assert {token for _, token, _ in REGISTERED} == TOKENS
    assert len(REGISTERED) > 100


@pytest.mark.parametrize("token", sorted(TOKENS))
def test_inputs_are_those_of_the_sdk(token: str) -> None:
    record = SDKS[token.split(":", 1)[0]].resource(token).record
    wrong = [
        f"{name}: {problem}"
        for name, found, inputs in REGISTERED
        if found == token
        for problem in problems(record, inputs)
    ]
    assert not wrong, "\n".join(wrong)


def test_what_no_sdk_takes_is_found() -> None:
    record = SDKS["aws"].resource(aws_objects.NODE_GROUP).record
    _, _, inputs = next(one for one in REGISTERED if one[1] == aws_objects.NODE_GROUP)
    assert not problems(record, inputs)
    assert problems(record, {**inputs, "scalingConfig": {"minimum": 0}})
    assert problems(record, {**inputs, "labelz": {}})
    assert problems(record, {key: value for key, value in inputs.items() if key != "clusterName"})


@pytest.mark.parametrize("token", sorted(TOKENS))
def test_values_are_those_of_the_provider(token: str) -> None:
    """The recording of a8d13c3 has one value that the provider refuses, and that went."""
    wrong = [
        f"{name}: {problem.path} {problem.reason}"
        for name, found, inputs in REGISTERED
        if found == token
        for problem in violations(token, inputs)
        if not problem.reason.endswith("and is 'SHORT_LIVED'")
    ]
    assert not wrong, "\n".join(wrong)


def set_at(inputs: dict[str, Any], path: str, value: Any) -> dict[str, Any] | None:
    """The inputs with another value at a path; None where they do not have it."""
    changed = copy.deepcopy(inputs)
    *parents, last = path.split(".")
    block: Any = changed
    for name in parents:
        block = block.get(name) if isinstance(block, dict) else None
        if isinstance(block, list):
            block = block[0] if block else None
    if not isinstance(block, dict) or last not in block:
        return None
    block[last] = [value] if isinstance(block[last], list) else value
    return changed


def test_another_value_of_any_enumerated_input_is_refused() -> None:
    mutated = 0
    for name, token, inputs in REGISTERED:
        for row in constraints(token.split(":", 1)[0]).get(token, ()):
            changed = set_at(inputs, row.path, "NO_SUCH_VALUE") if row.one_of else None
            if changed is not None:
                found = [one.reason for one in violations(token, changed)]
                assert any("'NO_SUCH_VALUE'" in reason for reason in found), (name, row.path)
                mutated += 1
    assert mutated > 300
