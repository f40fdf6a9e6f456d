"""The stack sandbox-dev as tests use it: a copy that may be edited, and what its nodes offer."""

from pathlib import Path
from typing import Any

import yaml
from kubernetes import client

from tests.engine.waiting import until

ROOT = Path(__file__).parents[2]
NOTEBOOKS = "sandbox-notebooks-0"
ADVERTISED = {
    "sandbox-chat-0": {"nvidia.com/gpu.shared": "4"},
    "sandbox-chat-1": {"nvidia.com/gpu.shared": "4"},
    "sandbox-chat-2": {"nvidia.com/gpu.shared": "4"},
    NOTEBOOKS: {
        "nvidia.com/mig-1g.10gb": "28",
        "nvidia.com/mig-2g.20gb": "8",
        "nvidia.com/mig-3g.40gb": "4",
    },
    "sandbox-training-0": {"nvidia.com/gpu": "8"},
}
"""Every node of the stack, with the resources its operands publish."""


class _Read(yaml.SafeLoader):
    """Keeps times as the file writes them: the engine reads them, not the test."""


class _Write(yaml.SafeDumper):
    """Writes such a time without quotes again."""


_TIME = "tag:yaml.org,2002:timestamp"
for _one in (_Read, _Write):
    _one.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag != _TIME]
        for first, resolvers in _one.yaml_implicit_resolvers.items()
    }


def config_as_shipped(name: str) -> dict[str, Any]:
    """Settings of a stack file of the repository, each scalar as written."""
    text = (ROOT / "stacks" / name).read_text()
    return yaml.load(text, _Read)["config"]


def write_config(file: Path, config: dict[str, Any]) -> None:
    """Write the settings, and leave what the engine keeps in the file."""
    kept = yaml.safe_load(file.read_text()) if file.exists() else None
    file.write_text(yaml.dump({**(kept or {}), "config": config}, Dumper=_Write))


class Stack:
    """A copy of a stack of the repository, sandbox-dev, that a test may edit."""

    def __init__(self, project: Any, copied: str = "Pulumi.sandbox-dev.yaml") -> None:
        self.project = project
        self.file = project.folder / "stacks" / f"Pulumi.{project.stack}.yaml"
        self.config = config_as_shipped(copied)
        self.save()

    @property
    def fleet(self) -> dict[str, Any]:
        return self.config["gpufleet:fleet"]

    def pool(self, name: str) -> dict[str, Any]:
        return next(pool for pool in self.fleet["pools"] if pool["name"] == name)

    def save(self) -> None:
        write_config(self.file, self.config)

    def up(self, *options: str, **settings: Any) -> Any:
        self.save()
        return self.project.run("up", *options, **settings)


def stack_files() -> dict[str, str]:
    """The program of `stacks/`, in a project of the same name."""
    files = {f"stacks/{file.name}": file.read_text() for file in (ROOT / "stacks").glob("*.py")}
    files["Pulumi.yaml"] = "name: gpufleet\nmain: stacks\nstackConfigDir: stacks\nruntime: python\n"
    return files


def gpus(core: client.CoreV1Api, node: str) -> dict[str, str]:
    """Extended resources of NVIDIA that a node offers now."""
    allocatable = core.read_node(node).status.allocatable or {}
    return {k: v for k, v in allocatable.items() if k.startswith("nvidia.com/") and v != "0"}


def nodes_advertise(core: client.CoreV1Api) -> None:
    """Wait until every node offers its expected resources, and check that there is no other."""
    for node, resources in ADVERTISED.items():
        until(
            lambda node=node, resources=resources: gpus(core, node) == resources,
            lambda node=node: (node, gpus(core, node)),
        )
    simulated = core.list_node(label_selector="gpufleet.dev/simulated=true").items
    assert sorted(node.metadata.name for node in simulated) == sorted(ADVERTISED)
