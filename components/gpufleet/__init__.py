"""One declaration provisions, partitions, queues and polices GPU fleets on Kubernetes.

    from gpufleet import GpuFleet

Each component is imported on first access: importing this package costs nothing, and a program
loads only the provider SDKs of the components that it uses.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from gpufleet.installation import install_command

_, *_ROWS = Path(__file__).with_name("public_names.csv").read_text(encoding="utf-8").splitlines()
_HOMES = dict(row.split(",") for row in _ROWS)
"""Public name -> its module."""
__all__: list[str] = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]
_EXTRAS = {
    "pulumi": "pulumi",
    "pulumi_kubernetes": "pulumi",
    "pulumi_aws": "eks",
    "pulumi_gcp": "gke",
    "pyVmomi": "vsphere",
    "tenacity": "vsphere",
}
"""Package that components import -> the extra that installs it (pyproject.toml)."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as missing:
        extra = _EXTRAS.get((missing.name or "").partition(".")[0])
        if extra is None:
            raise
        raise ModuleNotFoundError(
            f"gpufleet.{name} needs the package {missing.name}, which the extra `{extra}` brings: "
            f"`{install_command(extra)}`",
            name=missing.name,
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
