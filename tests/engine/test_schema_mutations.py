"""Objects with one wrong field each, against a real API server with the vendors' definitions: what
it refuses, `check` does not accept."""

import json
import random
import time
from collections.abc import Iterator

import pytest

from gpufleet.contract.schemas import schema_problems
from gpufleet_sandbox import custom_resources
from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import require
from tests.schema_mutations import UPSTREAM, Definition, Mutation, definitions, mutations, smallest

OTHER_COPY = "resource.nvidia.com_computedomains.gpu-operator-v26.7.0.yaml"
FILES = sorted(path for path in UPSTREAM.glob("*.yaml") if path.name != OTHER_COPY)
MOST = 1_000
"""Mutations of one definition that are sent; of more, a sample with a fixed seed."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server of its own: the shared one has narrower definitions of these names."""
    if not FILES:
        pytest.skip(f"the vendors' definitions are not next to the checkout ({UPSTREAM})")
    require(("etcd", "kube-apiserver"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(custom_resources, "packaged", list)
        sandbox = Sandbox(tmp_path_factory.mktemp("schemas")).up({"kube-apiserver"})
    with sandbox as running:
        custom_resources.apply(running.server(), list(FILES), time.monotonic() + 120)
        yield running.server()


def refused(server: ApiServer, definition: Definition, document: dict[str, object]) -> str | None:
    """The server's reason, None where it accepts the object."""
    scope = "namespaces/default/" if definition.namespaced else ""
    path = f"/apis/{definition.api_version}/{scope}{definition.plural}"
    answer = server.request(
        "POST", f"{path}?dryRun=All&fieldValidation=Strict", json.dumps(document).encode()
    )
    return None if answer.status == 201 else answer.json().get("message", "")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_the_server_refuses_is_not_accepted(server: ApiServer, file: object) -> None:
    accepted: list[str] = []
    for definition in definitions([UPSTREAM / str(file)]):
        found: list[Mutation] = list(mutations(definition))
        if len(found) > MOST:
            found = random.Random(16).sample(found, MOST)
        sent = [(one, refused(server, definition, one.document)) for one in found]
        accepted += [
            f"{one}: {reason}"
            for one, reason in sent
            if reason is not None and not schema_problems(one.document)
        ]
        assert any(reason is not None for _, reason in sent)
    assert accepted == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_the_server_accepts_has_no_problem(server: ApiServer, file: object) -> None:
    for definition in definitions([UPSTREAM / str(file)]):
        document = smallest(definition)
        if refused(server, definition, document) is None:
            assert schema_problems(document) == ()
