"""Inputs of cloud resources are what the installed SDKs of the providers take.

`CloudObject` registers resources by type token, without the SDK's classes. Here every registration
of the goldens and of the recorded programs, which other tests hold this tree to, is compared with
those classes: names of inputs at any depth, their types, and what is required.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufleet.platforms.eks import aws_objects
from gpufleet.platforms.gke import gcp_objects
from gpufleet_sandbox.cloud.checking import problems
from gpufleet_sandbox.cloud.sdk import Sdk
from tests.recorded.differences import recording, recordings

SDKS = {name: Sdk(name) for name in ("aws", "gcp")}
TOKENS = {
    value
    for module in (aws_objects, gcp_objects)
    for value in vars(module).values()
    if isinstance(value, str) and value.startswith(tuple(f"{name}:" for name in SDKS))
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
    tag = {"resourceId": "subnet-0a", "key": "karpenter.sh/discovery", "value": "ml"}
    yield "Karpenter's discovery_ids", aws_objects.SUBNET_TAG, tag


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
