"""Hand-written objects, sent to a real API server of 1.36 with strict validation.

`check` has the same result for each (tests/policies/configurations/test_claims_by_hand.py), and for
copies with one change.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from gpufleet.findings import Severity
from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_sandbox.api_server import ApiServer
from tests.engine.all_definitions import create
from tests.engine.test_dra_before_v1 import PLURALS, emulated
from tests.policies.configurations.claims_by_hand import ACCEPTED, Written
from tests.policies.configurations.refused_claims import BY_HAND
from tests.policies.configurations.test_claims_by_hand import PLACE
from tests.unit.render.test_dra_before_v1 import V1BETA1

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    admits = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    with emulated(tmp_path_factory.mktemp("claims"), V1BETA1, minor="1.36") as server:
        answer = server.request(
            "PATCH",
            "/api/v1/namespaces/default",
            json.dumps(admits).encode(),
            content_type="application/merge-patch+json",
        )
        assert answer.status == 200, answer
        yield server


@pytest.mark.parametrize("written", BY_HAND, ids=str)
def test_the_server_takes_what_is_right_alone(server: ApiServer, written: Written) -> None:
    manifest = dict(written.manifest)
    path = f"/apis/{manifest['apiVersion']}/{PLURALS[manifest['kind']]}"
    answer = create(server, path, manifest)
    assert answer.status == (201 if written.refused is None else 422), answer
    assert (written.refused or "") in str(answer)


VALUES: tuple[Any, ...] = (
    "", "x", "X_Y", "a/b", "a.b/c", "gpu.nvidia.com", -1, 0, 1, 33, 1.5, True, [], {}, ["gpu"],
    {"a": "b"}, "1Gi", "-1Gi", "All", "Exists", "x" * 64, "gpu/large",
)  # fmt: skip
FIELDS = (
    *("count", "allocationMode", "name", "requests", "adminAccess", "capacity", "tolerations"),
    *("selectors", "driver", "matchAttribute", "extra", "firstAvailable", "exactly"),
)
OF_THE_DRIVER = {
    "dra-config-mismatch", "dra-constraint-attribute", "dra-driver-mismatch", "dra-field-unknown",
    "dra-kind-unknown", "dra-no-config",
}  # fmt: skip
"""Codes of what the server takes and NVIDIA's driver refuses, when it prepares the claim."""


def steps(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each field and entry below a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in inside:
        yield (*before, step)
        if isinstance(inner, dict | list):
            yield from steps(inner, (*before, step))


def changed(document: Any, random: Random) -> Any:
    """A copy with one field taken away, added or set to something else."""
    document = deepcopy(document)
    ways = [one for one in steps(document["spec"]) if "parameters" not in one[:-1]]
    *above, last = random.choice(ways)
    parent = document["spec"]
    for step in above:
        parent = parent[step]
    what = random.choice(("set", "take", "add"))
    if what == "take":
        del parent[last]
    elif what == "add" and isinstance(parent[last], dict):
        parent[last][random.choice(FIELDS)] = random.choice(VALUES)
    elif what == "add" and isinstance(parent[last], list):
        parent[last].append(random.choice((deepcopy(parent[last][0]), random.choice(VALUES))))
    else:
        parent[last] = random.choice(VALUES)
    return document


def test_check_and_the_server_agree_on_changed_objects(server: ApiServer) -> None:
    random, differ = Random(38), []
    few = [one for one in ACCEPTED if one.name != "as-many-as-there-may-be"]
    for _ in range(400):
        manifest = changed(dict(random.choice(few).manifest), random)
        path = f"/apis/{manifest['apiVersion']}/{PLURALS[manifest['kind']]}"
        answer = create(server, path, manifest)
        found = validate_text("dra-config", json.dumps(manifest), context=PLACE).findings
        errors = {one.code for one in found if one.severity is Severity.ERROR}
        if (answer.status != 201) != bool(errors) and not errors & OF_THE_DRIVER:
            differ.append((manifest, answer.body, errors))
    assert differ == []
