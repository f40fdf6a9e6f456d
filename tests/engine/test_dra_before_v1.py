"""Classes, templates and claims of Kubernetes before 1.34, on a real API server that emulates 1.33.

The server is the sandbox's, with the emulation and the APIs of that version enabled as the owner of
such a cluster does it. Objects are sent with strict validation.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from gpufleet_sandbox import Sandbox, custom_resources, startup
from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.control_plane import command_line
from tests.engine.all_definitions import create
from tests.unit.render.test_dra_before_v1 import V1BETA1, V1BETA2, WAYS, fleet, manifests

pytestmark = pytest.mark.sandbox

PLURALS = {
    "DeviceClass": "deviceclasses",
    "ResourceClaim": "namespaces/default/resourceclaims",
    "ResourceClaimTemplate": "namespaces/default/resourceclaimtemplates",
}


@contextmanager
def emulated(
    folder: Path, *versions: str, minor: str = "1.33", **gates: bool
) -> Iterator[ApiServer]:
    """An API server of a minor that serves these versions of resource.k8s.io too."""
    served = ",".join(f"{version}=true" for version in versions)
    switched = ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())
    gates_flag = f"DynamicResourceAllocation=true{',' if switched else ''}{switched}"

    def arguments(component: Any, plan: Any) -> tuple[str, ...]:
        usual = command_line(component, plan)
        if component.name != "kube-apiserver":
            return usual
        return (
            # The authorizer of nodes in this program waits for ResourceSlices of v1.
            *(text for text in usual if not text.startswith("--authorization-mode=")),
            "--authorization-mode=RBAC",
            f"--emulated-version={minor}",
            f"--feature-gates={gates_flag}",
            *([f"--runtime-config={served}"] if served else []),
        )

    with (
        patch.object(custom_resources, "packaged", list),
        patch.object(startup, "command_line", arguments),
        Sandbox(folder).up({"kube-apiserver"}) as running,
    ):
        yield running.server()


def statuses(server: ApiServer, version: str, written: str | None) -> set[int]:
    """Responses to every object of the fleets of all ways."""
    values = {} if written is None else {"resourceApiVersion": written}
    addons = {"draDriver": {"values": values}}
    answers: set[int] = set()
    for way in WAYS:
        for one in manifests(fleet(version, way, addons=addons)):
            if one["kind"] != "DeviceClass":
                one = {**one, "metadata": {**one["metadata"], "namespace": "default"}}
            path = f"/apis/{one['apiVersion']}/{PLURALS[one['kind']]}"
            answers.add(create(server, path, one).status)
    return answers


def test_the_version_that_is_rendered_is_the_one_that_must_be_there(tmp_path: Path) -> None:
    with emulated(tmp_path, V1BETA1) as server:
        assert statuses(server, "1.33", None) == {201}
        assert statuses(server, "1.32", None) == {201}
        assert statuses(server, "1.33", V1BETA2) == {404}
        assert statuses(server, "1.34", None) == {404}


def test_the_other_version_is_taken_where_it_is_switched_on(tmp_path: Path) -> None:
    with emulated(tmp_path, V1BETA1, V1BETA2) as server:
        assert statuses(server, "1.33", V1BETA2) == {201}
