"""Repairs a stack after an interrupted update: engine or API server were killed.

`kill -9` leaves four things behind (each seen with CLI 3.259.0):

* the file backend's lock, which refuses every further command;
* provider processes, which finish their creations and then stay running;
* *pending operations*: creations whose outcome the state does not have. `pulumi up` only warns of
them and creates the object again, so that an object with a generated name exists twice from then
on; `pulumi refresh --import-pending-creates` drops the entry without importing anything;
* unfinished revisions of Helm releases, also when the API server was killed: the engine then ends
with an error and an orderly state, but Helm refuses the release's name from then on.

The record of a pending creation holds all fields that the state needs except the id, and a
Kubernetes object's id follows from its metadata. So the record is moved among the resources and the
engine's own refresh decides: it reads existing objects and deletes the others.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import yaml

from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.engine import PulumiEngine
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.helm_releases import remove_unfinished_revisions
from gpufleet_sandbox.orphaned_plugins import end_orphaned_plugins, plugins

CLOCK_TOLERANCE = 2.0
"""Seconds by which a process may seem to have started after the lock it wrote."""
HELM_RELEASE = "kubernetes:helm.sh/v3:Release"


def repair(
    engine: PulumiEngine, stack: str, server: ApiServer, note: Callable[[str], None]
) -> None:
    """Make the stack usable; does nothing to a stack that is.

    Args:
        engine: the engine in the stack's project.
        stack: the stack's name.
        server: the sandbox's API server, which must be running.
        note: called with a sentence about each repair.

    Raises:
        SandboxError: another engine works on this stack right now.
        EngineError: the engine refused the repaired state.
    """
    if release_stale_lock(engine, stack):
        note(f"stack {stack}: removed the lock of an update that was killed")
    home = Path(engine.env["PULUMI_HOME"])
    if ended := end_orphaned_plugins(home):
        note(f"ended {ended} provider process(es) that a killed engine left behind")
    unfinished: list[str] = []
    if not any(plugins(home)):  # else an engine works on another stack, perhaps with Helm
        unfinished = remove_unfinished_revisions(server)
        for release in unfinished:
            note(f"Helm release {release}: removed the revision that was never finished")
    state = engine.state(stack)
    if not state.get("pending_operations"):
        if unfinished and _has_releases(state):
            # The state may have a release that Helm no longer has: upgrading it would fail.
            engine.refresh(stack)
        return
    repaired, notes = settled(state)
    for line in notes:
        note(f"stack {stack}: {line}")
    with tempfile.TemporaryDirectory(prefix="gpufleet-state-") as folder:
        file = Path(folder) / "state.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps({"version": 3, "deployment": repaired}), encoding="utf-8")
        engine.call(["stack", "import", "--stack", stack, "--file", str(file)]).checked()
    engine.refresh(stack)


def _has_releases(state: dict[str, Any]) -> bool:
    return any(entry["type"] == HELM_RELEASE for entry in state.get("resources") or [])


def settled(state: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The deployment without pending operations, and a sentence on each that was a creation.

    A creation becomes a resource when its id is known. When the state holds another object under
    the same name (a replacement was interrupted, or an update ran over an unrepaired state), it is
    entered as one that is to be deleted, which the next update does. Interrupted updates and
    deletions need nothing: their resources are in the state, and a refresh reads them.
    """
    resources: list[dict[str, Any]] = list(state.get("resources") or [])
    known = {(entry["urn"], entry.get("id")) for entry in resources}
    notes: list[str] = []
    for operation in state.get("pending_operations") or []:
        if operation["type"] != "creating":
            continue
        entry = dict(operation["resource"])
        name = entry["urn"].rsplit("::", 1)[-1]
        identity = entry.get("id") or kubernetes_id(entry)
        if not identity:
            notes.append(f"{name} may exist without being recorded; its provider gave no id yet")
            continue
        if (entry["urn"], identity) in known:
            continue
        entry["id"] = identity
        entry.setdefault("outputs", entry.get("inputs", {}))
        if any(urn == entry["urn"] for urn, _ in known):
            entry["delete"] = True
        known.add((entry["urn"], identity))
        resources.append(entry)
        notes.append(f"{name} was being created as {identity}; looking whether it exists")
    return {**state, "resources": resources, "pending_operations": []}, notes


def kubernetes_id(entry: dict[str, Any]) -> str | None:
    """The id the Kubernetes provider gives an object: `namespace/name`, or `name` alone."""
    if not entry["type"].startswith("kubernetes:"):
        return None
    inputs = entry.get("inputs") or {}
    named = inputs if entry["type"] == HELM_RELEASE else inputs.get("metadata") or {}
    name, namespace = named.get("name"), named.get("namespace")
    if not isinstance(name, str) or not isinstance(namespace, str | None):
        return None
    return f"{namespace}/{name}" if namespace else name


def release_stale_lock(engine: PulumiEngine, stack: str) -> bool:
    """Remove the stack's lock when its holder has ended; returns whether there was one.

    Raises:
        SandboxError: a running process holds it.
    """
    locks = list(_locks(engine, stack))
    for lock in locks:
        if _is_held(lock):
            raise SandboxError(
                f"the stack {stack} is being changed by process {lock['pid']} of "
                f"{lock['username']}@{lock['hostname']} since {lock['timestamp']}; wait for it"
            )
    if locks:
        engine.call(["cancel", "--yes", "--stack", stack]).checked()
    return bool(locks)


def _locks(engine: PulumiEngine, stack: str) -> Iterator[dict[str, Any]]:
    backend = Path(engine.env["PULUMI_BACKEND_URL"].removeprefix("file://"))
    project = next(
        folder / "Pulumi.yaml"
        for folder in (engine.cwd, *engine.cwd.parents)
        if (folder / "Pulumi.yaml").is_file()
    )
    name = yaml.safe_load(project.read_text(encoding="utf-8"))["name"]
    for file in (backend / ".pulumi/locks/organization" / name / stack).glob("*.json"):
        yield json.loads(file.read_text(encoding="utf-8"))


def _is_held(lock: dict[str, Any]) -> bool:
    """Whether the process that wrote the lock still runs; its id may belong to another by now."""
    try:
        begun = psutil.Process(lock["pid"]).create_time()
    except psutil.NoSuchProcess:
        return False
    written = datetime.fromisoformat(lock["timestamp"]).timestamp()
    return begun <= written + CLOCK_TOLERANCE
