"""One declaration provisions, partitions, queues and polices GPU fleets on Kubernetes.

    from gpufleet import GpuFleet

Each component is imported on first access: importing this package costs nothing, and a program
loads only the provider SDKs of the components that it uses.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from gpufleet.installation import install_command

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES: dict[str, str] = {
    name: home for home, name in re.findall(r"^from (\S+) import \(?\s*\w+ as (\w+)", _STUB, re.M)
}
"""Public name -> its module, from the stub, which has no other list next to it."""
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
