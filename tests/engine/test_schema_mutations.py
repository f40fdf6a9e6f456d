"""Objects with one wrong field each, against a real API server that has the definitions of all
custom resources of the catalogue: it refuses what a vendor's definition refuses, and `check`
accepts none of that."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpufleet.contract.schemas.validator import schema_problems
from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.crds import vendors
from tests.engine.all_definitions import KINDS, create, server_of_all_kinds
from tests.schema_mutations import (
    UPSTREAM,
    Definition,
    Mutation,
    definitions,
    mutations,
    of_definition,
    smallest,
)

MOST = 400
"""Mutations of one definition that are sent; of more, a sample with a fixed seed."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A separate API server: the shared one does not serve all kinds."""
    with server_of_all_kinds(tmp_path_factory.mktemp("schemas")) as running:
        yield running


def refused(server: ApiServer, definition: Definition, document: dict[str, object]) -> str | None:
    """The server's reason, None where it accepts the object."""
    scope = "namespaces/default/" if definition.namespaced else ""
    path = f"/apis/{definition.api_version}/{scope}{definition.plural}"
    answer = create(server, path, document)
    return None if answer.status == 201 else answer.json().get("message", "")


def of_kind(name: str, kind: str) -> Definition:
    """The vendor's definition if its file is next to the checkout, else the catalogue's."""
    made = vendors.definition(name, kind)
    (version,) = (one["name"] for one in made["spec"]["versions"])
    file = UPSTREAM / f"{made['spec']['group']}_{made['spec']['names']['plural']}.yaml"
    found = definitions([Path(file)]) if file.exists() else of_definition(made)
    return next(one for one in found if one.version == version)


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_what_the_server_refuses_is_not_accepted(server: ApiServer, name: str, kind: str) -> None:
    definition = of_kind(name, kind)
    found: list[Mutation] = list(mutations(definition))
    if len(found) > MOST:
        found = random.Random(16).sample(found, MOST)
    sent = [(one, refused(server, definition, one.document)) for one in found]
    assert [str(one) for one, reason in sent if reason is None] == []
    accepted = [f"{one}: {reason}" for one, reason in sent if not schema_problems(one.document)]
    assert accepted == []
    document = smallest(definition)
    reason = refused(server, definition, document)
    assert bool(schema_problems(document)) == (reason is not None), reason
