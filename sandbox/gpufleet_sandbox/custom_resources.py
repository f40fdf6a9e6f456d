"""The custom resource definitions of the sandbox: applied on every `up`, awaited until served."""

import json
import time
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.crds import strictness, vendors
from gpufleet_sandbox.errors import SandboxError

_COLLECTION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast one where it was built: reading by Python alone took a third of a warm start."""

Definition = dict[str, Any]


def packaged() -> list[Definition]:
    """The definitions of the sandbox: the vendors', and files of this package for kinds whose
    vendor's definition the catalogue does not have."""
    folder = files("gpufleet_sandbox") / "crds"
    own = [file for file in folder.iterdir() if file.name.endswith(".yaml")]
    return [*vendors.definitions(), *read(sorted(own, key=lambda file: file.name))]


def read(definitions: Iterable[Traversable]) -> list[Definition]:
    """The definitions of YAML files. Raises SandboxError for another object."""
    found: list[Definition] = []
    for file in definitions:
        for document in yaml.load_all(file.read_text(encoding="utf-8"), Loader=_LOADER):
            if document is None:
                continue
            if document.get("kind") != "CustomResourceDefinition":
                raise SandboxError(f"{file.name}: kind {document.get('kind')!r} is not a CRD")
            found.append(document)
    return found


def apply(server: ApiServer, definitions: Iterable[Definition], deadline: float) -> list[str]:
    """Apply definitions and wait until the server serves them.

    Server-side apply, because large schemas exceed the annotation of the client-side one.

    Args:
        server: Target.
        definitions: CustomResourceDefinitions.
        deadline: `time.monotonic()` at which waiting ends.

    Returns:
        Names of the definitions.

    Raises:
        SandboxError: The server refuses a definition, or does not take or serve it in time.
    """
    names: list[str] = []
    for document in definitions:
        name = str(document["metadata"]["name"])
        try:
            for path, manifest in _manifests(document):
                left = max(deadline - time.monotonic(), 1)
                server.apply(path, json.dumps(manifest).encode(), left)
        except SandboxError as problem:
            raise SandboxError(f"{name}: {problem}") from problem
        names.append(name)
    _await_established(server, names, deadline)
    return names


def _manifests(definition: Definition) -> list[tuple[str, dict[str, Any]]]:
    """Objects applied for one definition: itself, and those that make the server strict."""
    name = definition["metadata"]["name"]
    if not strictness.is_strict(definition):
        return [(f"{_COLLECTION}/{name}", definition)]
    policy, binding = strictness.admission(definition)
    return [
        (f"{_COLLECTION}/{name}", strictness.opened(definition)),
        (f"{_ADMISSION}/validatingadmissionpolicies/{policy['metadata']['name']}", policy),
        (f"{_ADMISSION}/validatingadmissionpolicybindings/{binding['metadata']['name']}", binding),
    ]


def _await_established(server: ApiServer, names: list[str], deadline: float) -> None:
    missing = set(names)
    while missing:
        for item in server.get(_COLLECTION)["items"]:
            if _is_established(item) and _is_served(server, item):
                missing.discard(item["metadata"]["name"])
        if missing and time.monotonic() > deadline:
            raise SandboxError(
                "the API server does not serve these custom resources in time: "
                + ", ".join(sorted(missing))
            )
        if missing:
            time.sleep(0.05)


def _is_served(server: ApiServer, definition: dict[str, Any]) -> bool:
    """Established comes first; for a moment after it, requests are still refused with 429."""
    spec = definition["spec"]
    return all(
        server.is_healthy(
            f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}?limit=1"
        )
        for version in spec["versions"]
        if version["served"]
    )


def _is_established(definition: dict[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []  # null at first
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
