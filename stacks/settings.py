"""What a stack file says: the fleet, and how to reach its cluster."""

import os
from pathlib import Path
from typing import Any

import pulumi
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

SANDBOX_FOLDER = "GPUFLEET_SANDBOX"
"""Environment variable that names the sandbox's folder; default `.sandbox` beside Pulumi.yaml."""


class Connection(BaseModel):
    """How to reach the cluster's API server."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    kubeconfig: Path | None = None
    """Kubeconfig file; relative to Pulumi.yaml. Default: the sandbox's."""
    context: str | None = None
    """Context of the kubeconfig. Default: its current one."""
    cluster_identifier: str = Field(default="sandbox", min_length=1)
    """Name that stands for this cluster in the state. Address and certificates may change under
    it without anything being replaced; another name replaces everything. Default `sandbox`."""

    def kubeconfig_file(self) -> Path:
        """Absolute path of the kubeconfig. Raises RunError when there is none."""
        root = Path(pulumi.get_root_directory())
        if self.kubeconfig is not None:
            file = root / self.kubeconfig.expanduser()
            advice = "correct gpufleet:connection.kubeconfig in the stack file"
        else:
            file = root / os.environ.get(SANDBOX_FOLDER, ".sandbox") / "kubeconfig"
            advice = "`make up` or `gpufleet sandbox up` brings up the sandbox and writes it"
        if not file.is_file():
            raise pulumi.RunError(f"there is no kubeconfig {file}: {advice}")
        return file


class Settings(BaseModel):
    """Everything this program reads."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    fleet: dict[str, Any]
    """The FleetSpec; `gpufleet schema` describes it, GpuFleet judges it."""
    connection: Connection = Connection()


def load() -> Settings:
    """Read the stack's configuration. Raises RunError that names every misspelt or missing key."""
    config = pulumi.Config("gpufleet")
    given = {"fleet": config.get_object("fleet"), "connection": config.get_object("connection")}
    try:
        return Settings.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as problem:
        lines = [
            f"  gpufleet:{'.'.join(str(part) for part in detail['loc'])}: {detail['msg']}"
            for detail in problem.errors()
        ]
        raise pulumi.RunError("\n".join(["the stack file is wrong:", *lines])) from None
