"""What exists once per cluster. Everything is implied by the pools; these are overrides."""

from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import Ownership, SecretName, SpecModel

Values = dict[str, Any]
"""Raw Helm values, merged last."""


class Switch(SpecModel):
    """On, off, or (unset) whatever the pools imply."""

    enabled: bool | None = None
    """Default: what the pools imply."""


class Driver(Switch):
    """The GPU driver, as the operator installs it."""

    version: Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+){0,2}$")] | None = None
    """Driver version, or branch with precompiled drivers. Default: the operator's own."""


class MigManager(Switch):
    """Who applies MIG layouts on the nodes."""

    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment of mig-manager; values are strings: `{WITH_REBOOT: "true"}`."""


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


class GpuOperator(Addon):
    """NVIDIA GPU Operator."""

    driver: Driver = Field(default_factory=Driver)
    """The GPU driver. Default: installed where an image lacks it."""
    toolkit: Switch = Field(default_factory=Switch)
    """The container toolkit. Default: installed where an image lacks it."""
    device_plugin: Switch = Field(default_factory=Switch)
    """The device plugin. Default: installed where an image lacks it."""
    mig_manager: MigManager = Field(default_factory=MigManager)
    """The MIG manager. Default: with MIG pools."""
    dcgm_exporter: Switch = Field(default_factory=Switch)
    """GPU metrics. Default on."""
    node_feature_discovery: Switch = Field(default_factory=Switch)
    """Labels GPU nodes. Default on."""
    image_pull_secret: SecretName | None = None
    """Name of the Secret for NGC images. Default: none."""


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
    network_operator: Addon = Field(default_factory=Addon)
    """NVIDIA Network Operator. Default: with RDMA pools."""
    dra_driver: Addon = Field(default_factory=Addon)
    """NVIDIA DRA driver. Default: with `dra` pools."""
    karpenter: Addon = Field(default_factory=Addon)
    """Karpenter. Default: with pools it provisions."""
    cluster_autoscaler: Addon = Field(default_factory=Addon)
    """Cluster Autoscaler. Default: with pools it provisions."""
    kueue: Addon = Field(default_factory=Addon)
    """Kueue. Default: with `queues`."""
    keda: Addon = Field(default_factory=Addon)
    """KEDA. Default: off."""
    charts: Charts = Field(default_factory=Charts)
    """Where charts come from. Default: each vendor's repository."""
