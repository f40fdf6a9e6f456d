"""What exists once per cluster. Everything is implied by the pools; these are overrides."""

from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import Ownership, SpecModel
from gpufleet.spec.device_plugin import DevicePluginSettings
from gpufleet.spec.gpu_operator import GpuOperatorSettings
from gpufleet.spec.images import Images
from gpufleet.spec.network_operator import NetworkOperatorSettings, Ofed

__all__ = [
    "Addon",
    "Addons",
    "ChartSource",
    "Charts",
    "DevicePlugin",
    "GpuOperator",
    "Karpenter",
    "NetworkOperator",
    "Ofed",
    "Values",
]

Values = dict[str, Any]
"""Raw Helm values, merged last."""


class Addon(SpecModel):
    """One operator or controller."""

    enabled: bool | None = None
    """Default: what the pools imply."""
    ownership: Ownership = Ownership.MANAGED
    """Default managed."""
    version: (
        Annotated[str, StringConstraints(pattern=r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+].+)?$")] | None
    ) = None
    """Chart version. Default: the catalogue's pin."""
    values: Values = Field(default_factory=dict[str, Any])
    """Raw Helm values, merged last; secrets do not belong here."""


class GpuOperator(Addon, GpuOperatorSettings):
    """NVIDIA GPU Operator."""


class NetworkOperator(Addon, NetworkOperatorSettings):
    """NVIDIA Network Operator."""


class DevicePlugin(Addon, DevicePluginSettings):
    """NVIDIA's device plugin by its own chart, where no GPU Operator is wanted."""


class Karpenter(Addon):
    """Karpenter."""

    node_overlay: bool | None = None
    """Whether its feature gate NodeOverlay is on, which pools need that share, cut or have parts of
    GPUs. Default: on with `ownership: managed`; for an existing Karpenter it must be said."""


class ChartSource(SpecModel):
    """Where charts come from: exactly one. Default: each vendor's own repository."""

    repository: str | None = None
    """Helm repository that mirrors all charts, `https://charts.example.com`."""
    oci: str | None = None
    """OCI registry path, `oci://registry.example.com/charts`."""
    folder: str | None = None
    """Folder with one sub-folder per chart, as the sandbox and air-gapped sites use."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        chosen = [name for name in ("repository", "oci", "folder") if getattr(self, name)]
        if len(chosen) != 1:
            found = " and ".join(chosen) if chosen else "none"
            raise ValueError(f"exactly one of repository, oci, folder is needed, found {found}")
        return self


class Charts(SpecModel):
    """One setting for all charts."""

    source: ChartSource | None = None
    """Default: each vendor's own repository."""


class Addons(SpecModel):
    """Overrides of what the pools imply. An empty section is the usual case."""

    gpu_operator: GpuOperator = Field(default_factory=GpuOperator)
    """NVIDIA GPU Operator. Default: as the pools need it."""
    network_operator: NetworkOperator = Field(default_factory=NetworkOperator)
    """NVIDIA Network Operator. Default: with RDMA pools."""
    device_plugin: DevicePlugin = Field(default_factory=DevicePlugin)
    """NVIDIA's device plugin without the GPU Operator. Default: off, the operator brings it."""
    dra_driver: Addon = Field(default_factory=Addon)
    """NVIDIA DRA driver. Default: with `dra` pools."""
    karpenter: Karpenter = Field(default_factory=Karpenter)
    """Karpenter. Default: with pools it provisions."""
    cluster_autoscaler: Addon = Field(default_factory=Addon)
    """Cluster Autoscaler. Default: with pools it provisions."""
    kueue: Addon = Field(default_factory=Addon)
    """Kueue. Default: with `queues`."""
    keda: Addon = Field(default_factory=Addon)
    """KEDA. Default: off."""
    charts: Charts = Field(default_factory=Charts)
    """Where charts come from. Default: each vendor's repository."""
    images: Images = Field(default_factory=Images)
    """Where images come from, and by which proxy. Default: each vendor's registry."""
