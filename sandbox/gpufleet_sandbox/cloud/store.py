"""Resources of the simulated cloud: a file for each, in a folder that several runs share."""

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from filelock import FileLock

from gpufleet_sandbox.cloud.scenario import Disturbance, Scenario, read_scenario, write_scenario
from gpufleet_sandbox.cloud.values import from_json, to_json
from gpufleet_sandbox.layout import SandboxLayout

FOLDER_VARIABLE = "GPUFLEET_CLOUD"
"""Environment variable that names the folder of the simulated cloud."""

_LONGEST_NAME = 200
"""File systems end at 255 bytes, and a name grows while it is written."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One resource that exists."""

    type: str
    id: str
    name: str
    """Its name in the program that made it."""
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the engine, in the order in which they ended."""

    operation: str
    type: str
    name: str
    id: str
    outcome: str
    """`ok`, or the error's text."""
    seconds: float


@dataclass(frozen=True)
class CloudFolder:
    """The state of one cloud: resources, scenario, log of calls."""

    root: Path

    @property
    def scenario_file(self) -> Path:
        """File in which a test writes faults."""
        return self.root / "scenario.yaml"

    @property
    def lock(self) -> FileLock:
        """Guards what several processes change together."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        return FileLock(self.root / ".lock")

    def sandbox(self) -> SandboxLayout | None:
        """The sandbox of the cloud's clusters: the one that contains it, else the one that `behind`
        names; None for a cloud without a sandbox."""
        layout = SandboxLayout(self.root.parent)
        if self._behind.is_file():
            layout = SandboxLayout(Path(self._behind.read_text(encoding="utf-8")))
        return layout if layout.kubeconfig.is_file() else None

    def behind(self, sandbox: SandboxLayout) -> None:
        """Let clusters of this cloud be that of a sandbox."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._behind.write_text(str(sandbox.root), encoding="utf-8")

    @property
    def _behind(self) -> Path:
        return self.root / "sandbox"

    def scenario(self) -> Scenario:
        """Its present content."""
        return read_scenario(self.scenario_file)

    def set_scenario(self, scenario: Scenario) -> None:
        """Write a scenario and reset the counters of its calls."""
        with self.lock:
            write_scenario(self.scenario_file, scenario)
            self._counts_file.unlink(missing_ok=True)

    def rule_for(self, operation: str, token: str, name: str) -> Disturbance | None:
        """The first rule that strikes this call; counts the call for rules with `nth`."""
        struck: Disturbance | None = None
        for index, rule in enumerate(self.scenario().rules):
            if not rule.matches(operation, token, name):
                continue
            if rule.nth is not None and self._count(index) != rule.nth:
                continue
            struck = struck or rule
        return struck

    def save(self, resource: Stored) -> None:
        """Write a resource; it appears whole or not at all."""
        target = self._file(resource.type, resource.id)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        document = {
            "type": resource.type,
            "id": resource.id,
            "name": resource.name,
            "inputs": to_json(resource.inputs),
            "outputs": to_json(resource.outputs),
        }
        fresh = target.with_name(f".{target.name}.{os.getpid()}.{time.monotonic_ns()}")
        fresh.write_text(json.dumps(document, indent=1), encoding="utf-8")
        fresh.replace(target)

    def find(self, token: str, identifier: str) -> Stored | None:
        """The resource, or None if it does not exist."""
        return _stored(self._file(token, identifier))

    def remove(self, token: str, identifier: str) -> None:
        """Forget a resource; it may be gone already."""
        self._file(token, identifier).unlink(missing_ok=True)

    def resources(self, token: str | None = None) -> list[Stored]:
        """Everything that exists, or everything of one type, by id."""
        return sorted(self._all(token), key=lambda one: (one.type, one.id))

    def record(self, call: Call) -> None:
        """Append to the log of calls. One short write, so lines of several processes stay whole."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        entry = [call.operation, call.type, call.name, call.id, call.outcome, call.seconds]
        line = (json.dumps(entry) + "\n").encode()
        handle = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def calls(self, operation: str | None = None) -> list[Call]:
        """The calls so far."""
        if not self._log.is_file():
            return []
        lines = self._log.read_text(encoding="utf-8").splitlines()
        found = [Call(*json.loads(line)) for line in lines]
        return [call for call in found if operation in (None, call.operation)]

    @property
    def _log(self) -> Path:
        return self.root / "calls.jsonl"

    @property
    def _counts_file(self) -> Path:
        return self.root / "counts.json"

    def _file(self, token: str, identifier: str) -> Path:
        folder = self.root / "resources" / quote(token, safe="")
        name = quote(identifier, safe="")
        if len(name) > _LONGEST_NAME:
            name = hashlib.sha256(identifier.encode()).hexdigest()
        return folder / f"{name}.json"

    def _all(self, token: str | None) -> Iterator[Stored]:
        pattern = f"resources/{quote(token, safe='') if token else '*'}/*.json"
        for file in self.root.glob(pattern):
            if (found := _stored(file)) is not None:
                yield found

    def _count(self, rule: int) -> int:
        with self.lock:
            known: dict[str, int] = {}
            if self._counts_file.is_file():
                known = json.loads(self._counts_file.read_text(encoding="utf-8"))
            known[str(rule)] = known.get(str(rule), 0) + 1
            self._counts_file.write_text(json.dumps(known), encoding="utf-8")
            return known[str(rule)]


def _stored(file: Path) -> Stored | None:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Stored(
        document["type"],
        document["id"],
        document["name"],
        from_json(document["inputs"]),
        from_json(document["outputs"]),
    )
