"""An API server that serves every kind of the catalogue, by its vendor's definition."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gpufleet.catalogue.schemas import KUBERNETES, schema_kinds
from gpufleet_sandbox import custom_resources
from gpufleet_sandbox.api_server import ApiAnswer, ApiServer
from gpufleet_sandbox.crds import vendors
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import require

KINDS = sorted(
    {
        (name, kind)
        for kinds in schema_kinds().values()
        for kind, name in kinds.items()
        if name != KUBERNETES and (name, kind) != ("kubeflow.org", "MPIJob")
        if vendors.definition(name, kind)["spec"]["versions"]
    }
)
"""File and kind of custom resources. The older MPIJob is left out: a server has one of a name; and
types that only other objects embed."""
WITHOUT_POLICY = ("inferenceservices.serving.kserve.io",)
"""Definitions whose policy against unknown fields is larger than etcd takes (1.5 MiB); the objects
of the tests are sent with strict validation."""


@contextmanager
def server_of_all_kinds(folder: Path) -> Iterator[ApiServer]:
    """It runs in `folder` until the end of the block."""
    require(("etcd", "kube-apiserver"))
    with patch.object(custom_resources, "packaged", list):
        sandbox = Sandbox(folder).up({"kube-apiserver"})
    with sandbox as running:
        server = running.server()
        made = [vendors.definition(name, kind) for name, kind in KINDS]
        for one in made:
            if one["metadata"]["name"] in WITHOUT_POLICY:
                del one["metadata"]["labels"]
        custom_resources.apply(server, made, time.monotonic() + 480)
        yield server


def create(server: ApiServer, path: str, document: Mapping[str, Any]) -> ApiAnswer:
    """The response to the creation of an object with strict validation, which stores nothing."""
    body = json.dumps(document, default=str).encode()
    return server.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", body)
