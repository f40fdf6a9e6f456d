"""States of stacks that an earlier tree deployed, and the changes that this tree would make.

`make record-states NAME=0.1.0` deploys the stacks and writes their states into
`tests/recorded/0.1.0/states`. Without it nothing is deployed: a recorded state becomes that of the
test's stack, and a preview reports the changes of an update. The newest recording of a stack is
previewed with each commit, earlier ones nightly.

The key `replaced` of a file lists the replaced values that differ from run to run.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.recorded.programs import RECORDINGS

RECORDING = os.environ.get("GPUFLEET_RECORD_STATES", "")
"""Release or commit that is recorded; empty: recordings are previewed."""
FIRST = RECORDINGS.name
REPLACED = {
    "<urn>": "urn:pulumi:STACK::PROJECT::",
    "<stack>": "name of the stack",
    "outputs": "as the inputs, but for what is written here; null: not among the outputs",
    "kubernetes": "outputs that the API server adds are left out, field managers are <manager>",
    "providers": "ids are numbered",
    "left out": "manifest, secrets provider, times, source positions, property dependencies",
}
"""Differences of a recorded state from the engine's export, in every stack."""
SECRET = "4dabf18193072939515e22adb298388d"
"""Key that marks a secret in a state."""
SECRET_VALUE = "1b47061264138c4ac30d75fd1eb44270"
RELEASE = "kubernetes:helm.sh/v3:Release"
OBJECT = re.compile(r"kubernetes:[^:]+/[^:]+:[A-Z]\w*")
"""Types of Kubernetes objects; a Helm release is not one, though its type looks like one."""
UPDATE = re.compile(r'update of resource "([^"]+)" failed: .*not found')
KEPT = (
    "urn",
    "custom",
    "id",
    "type",
    "inputs",
    "outputs",
    "parent",
    "dependencies",
    "provider",
    "protect",
    "external",
    "additionalSecretOutputs",
    "aliases",
    "deletedWith",
    "retainOnDelete",
    "ignoreChanges",
    "replaceOnChanges",
)
"""Recorded fields of each resource."""
MANIFEST = {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""}


@pytest.fixture(params=["newest", pytest.param("earlier", marks=pytest.mark.nightly)], autouse=True)
def which(request: pytest.FixtureRequest) -> Iterator[None]:
    """The recordings that `check` previews in this test."""
    if RECORDING and request.param == "earlier":
        pytest.skip("stacks are recorded once")
    CHOSEN.append(request.param)
    yield
    CHOSEN.pop()


CHOSEN: list[str] = []
"""The recording `which` of the running test."""


def recordings_of(name: str) -> list[Path]:
    """Recorded states of a stack, the newest first: releases, and the commit before them."""
    found = RECORDINGS.parent.glob(f"*/states/{name}.json")
    return sorted(found, key=lambda file: _version(file.parents[1].name), reverse=True)


def _version(recording: str) -> list[int]:
    return [] if recording == FIRST else [int(part) for part in recording.split(".")]


@dataclass(frozen=True)
class Planned:
    """A step that may be planned for the recorded state. Nothing else may."""

    urn: str
    """Pattern of URNs with `*`."""
    why: str
    step: str = "update"
    """`update` or `create`: a replacement or a removal is never allowed."""
    of: str = ""
    """The recording whose states plan it. Default: each that is older than the change."""


def check(
    name: str,
    project: Any,
    places: Mapping[str, str | int],
    allowed: Sequence[Planned] = (),
    **settings: Any,
) -> None:
    """Preview this tree's program over recorded states: no more than `allowed` is planned.

    Args:
        name: Name of the recording.
        project: The stack's project, with all its settings in place.
        places: What the recording has in the place of values of this run.
        allowed: Steps that are meant.
        settings: Of each engine command, such as `config`.
    """
    described = (project.folder / "Pulumi.yaml").read_text()
    (called,) = re.findall(r"^name: (\S+)$", described, re.MULTILINE)
    values: dict[str, str | int] = {
        **places,
        "<urn>": f"urn:pulumi:{project.stack}::{called}::",
        "<stack>": project.stack,
    }
    if RECORDING:
        project.run("up", **settings)
        file = RECORDINGS.parent / RECORDING / "states" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_text(recorded(_exported(project), values)), encoding="utf-8")
        return
    newest, *earlier = recordings_of(name) or pytest.fail(f"no recording has {name}")
    if CHOSEN[-1] == "earlier" and not earlier:
        pytest.skip("there is no earlier recording")
    for file in [newest] if CHOSEN[-1] == "newest" else earlier:
        release = file.parents[1].name
        state = filled(json.loads(file.read_text(encoding="utf-8"))["resources"], values)
        _set_state(project, state)
        meant = [one for one in allowed if one.of in ("", release)]
        try:
            steps, output = _planned(project, meant, settings)
        finally:
            _set_state(project, [])
        assert not steps, "\n".join([f"not allowed since {release}:", *steps, output])


def _planned(
    project: Any, allowed: Sequence[Planned], settings: Mapping[str, Any]
) -> tuple[list[str], str]:
    """Steps that a preview plans and nothing allows, and the output of the preview.

    A preview queries the cluster for a Kubernetes object that an update would change, and fails:
    the cluster has none of the recorded ones. An object whose update is allowed is omitted then.
    """
    left_out: list[str] = []
    while True:
        excluded = [option for urn in left_out for option in ("--exclude", urn)]
        preview = project.run("preview", "--diff", *excluded, check=False, **settings)
        steps = [
            f"{step} {urn}"
            for step, urn in preview.steps
            if not _is_allowed(urn, [one for one in allowed if one.step == step])
        ]
        if preview.status == 0:
            assert preview.changes.get("same"), "the recorded state is not that of this stack"
            return steps, preview.output
        updates = UPDATE.findall("\n".join(preview.errors))
        met = [urn for urn in updates if _is_allowed(urn, allowed) and urn not in left_out]
        if steps or not met:
            return [*steps, *preview.errors], preview.output
        left_out += met


def _is_allowed(urn: str, allowed: Sequence[Planned]) -> bool:
    return any(fnmatchcase(urn, one.urn) for one in allowed)


def recorded(
    resources: Sequence[Mapping[str, Any]], values: Mapping[str, str | int]
) -> dict[str, Any]:
    """A state without what differs from run to run."""
    ids = {
        one["id"]: f"00000000-0000-4000-8000-{number:012}"
        for number, one in enumerate(
            sorted(
                (one for one in resources if one["type"].startswith("pulumi:providers:")),
                key=lambda one: one["urn"],
            )
        )
    }
    found = [
        _replaced(_small(one), [*ids.items(), *((value, key) for key, value in values.items())])
        for one in resources
    ]
    return {"replaced": REPLACED, "resources": list(_in_order(found))}


def filled(
    resources: Sequence[dict[str, Any]], values: Mapping[str, str | int]
) -> list[dict[str, Any]]:
    """A recorded state with the values of this run."""
    return [_whole(_replaced(one, list(values.items()))) for one in resources]


def _exported(project: Any) -> list[dict[str, Any]]:
    file = project.folder.parent / f"{project.stack}.json"
    command = ["stack", "export", "--stack", project.stack, "--show-secrets", "--file", str(file)]
    project.engine.call(command).checked()
    return json.loads(file.read_text(encoding="utf-8"))["deployment"]["resources"]


def _set_state(project: Any, resources: Sequence[dict[str, Any]]) -> None:
    file = project.folder.parent / f"{project.stack}.json"
    (settings,) = project.folder.rglob(f"Pulumi.{project.stack}.yaml")
    (salt,) = re.findall(r"^encryptionsalt: (\S+)$", settings.read_text(), re.MULTILINE)
    deployment = {
        "manifest": MANIFEST,
        "secrets_providers": {"type": "passphrase", "state": {"salt": salt}},
        "resources": resources,
    }
    file.write_text(json.dumps({"version": 3, "deployment": deployment}), encoding="utf-8")
    command = ["stack", "import", "--stack", project.stack, "--file", str(file)]
    project.engine.call(command).checked()


def _small(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded fields of a resource, its outputs as differences from its inputs."""
    kept = {key: resource[key] for key in KEPT if resource.get(key) not in (None, [], {}, False)}
    if not resource.get("custom"):
        return kept
    inputs, outputs = resource.get("inputs") or {}, dict(resource.get("outputs") or {})
    if resource["type"] == RELEASE:
        outputs.pop("__inputs", None)
    elif OBJECT.fullmatch(resource["type"]):
        outputs = dict(inputs)
    different = {key: value for key, value in outputs.items() if inputs.get(key, ...) != value}
    absent = {key: None for key in inputs if key not in outputs}
    kept.pop("outputs", None)
    return {**kept, **({"outputs": {**different, **absent}} if different or absent else {})}


def _whole(resource: dict[str, Any]) -> dict[str, Any]:
    """A resource as the engine keeps it."""
    if not resource.get("custom"):
        return {"custom": False, **resource}
    inputs = resource.get("inputs", {})
    outputs = {**inputs, **resource.get("outputs", {})}
    outputs = {key: value for key, value in outputs.items() if value is not None}
    if resource["type"] == RELEASE:
        outputs["__inputs"] = {SECRET: SECRET_VALUE, "plaintext": json.dumps(inputs)}
    elif OBJECT.fullmatch(resource["type"]):
        outputs["__inputs"] = inputs
        outputs["__fieldManager"] = "<manager>"
        outputs["__initialApiVersion"] = inputs["apiVersion"]
    return {**resource, "outputs": outputs}


def _replaced(value: Any, pairs: Sequence[tuple[str | int, str | int]]) -> Any:
    """Every text and number with the first of each pair as the second."""
    if isinstance(value, dict):
        return {_replaced(key, pairs): _replaced(item, pairs) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, pairs) for item in value]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    for old, new in pairs:
        if value == old:
            return new
    if isinstance(value, str):
        for old, new in pairs:
            # A number is separate or part of an address.
            value = value.replace(str(old), str(new))
    return value


def _in_order(resources: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The resources sorted by URN, each after its dependencies."""
    waiting = {one["urn"]: one for one in resources}
    assert len(waiting) == len(resources)
    while waiting:
        urn = min(urn for urn, one in waiting.items() if not _needs(one) & waiting.keys())
        yield waiting.pop(urn)


def _needs(resource: Mapping[str, Any]) -> set[str]:
    provider = resource.get("provider", "").rpartition("::")[0]
    return {resource.get("parent", ""), provider, *resource.get("dependencies", [])}


def _text(document: Mapping[str, Any]) -> str:
    """A line for each resource."""
    rows = [json.dumps(one, ensure_ascii=False, sort_keys=True) for one in document["resources"]]
    replaced = json.dumps(document["replaced"], indent=1)
    return f'{{"replaced": {replaced},\n"resources": [\n' + ",\n".join(rows) + "\n]}\n"
