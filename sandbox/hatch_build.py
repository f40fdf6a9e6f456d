"""Metadata of gpufleet-sandbox that follow from pulumi-gpufleet's: both have one version."""

import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class SameVersion(MetadataHookInterface):
    """Takes the version from the pyproject.toml of pulumi-gpufleet and requires exactly that."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the fields that `project.dynamic` lists."""
        product = Path(self.root).parent / "pyproject.toml"
        version = tomllib.loads(product.read_text(encoding="utf-8"))["project"]["version"]
        metadata["version"] = version
        metadata["dependencies"] = [
            f"pulumi-gpufleet[pulumi]=={version}",
            *self.config["dependencies"],
        ]
