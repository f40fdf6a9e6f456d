"""Files of gpufleet-sandbox from the repository: the version of pulumi-gpufleet, and the pins of
the Go programs. A source distribution carries both."""

import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


def _from_repository(root: str, name: str) -> Path:
    """A file or folder of the repository, or of a source distribution."""
    here = Path(root) / "repository" / name
    return here if here.exists() else Path(root).parent / name


class SameVersion(MetadataHookInterface):
    """Takes the version from the pyproject.toml of pulumi-gpufleet and requires exactly that."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the fields that `project.dynamic` lists."""
        product = _from_repository(self.root, "pyproject.toml")
        version = tomllib.loads(product.read_text(encoding="utf-8"))["project"]["version"]
        metadata["version"] = version
        metadata["dependencies"] = [
            f"pulumi-gpufleet[pulumi]=={version}",
            *self.config["dependencies"],
        ]


class RepositoryFiles(BuildHookInterface[Any]):
    """Adds the pins to the wheel, and what both hooks read to the source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before each build."""
        del version
        tools = str(_from_repository(self.root, "tools"))
        if self.target_name == "wheel":
            build_data["force_include"][tools] = "gpufleet_sandbox/tools"
        else:
            product = str(_from_repository(self.root, "pyproject.toml"))
            build_data["force_include"] |= {
                tools: "repository/tools",
                product: "repository/pyproject.toml",
            }
