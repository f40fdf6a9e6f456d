"""Inputs of components that restate `gpufleet.spec.addons`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict


class DriverArgs(TypedDict):
    """The GPU driver, as the operator installs it."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    version: NotRequired[str]
    """Driver version, or branch with precompiled drivers. Default: the operator's own."""


class SwitchArgs(TypedDict):
    """On, off, or (unset) whatever the pools imply."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""


class MigManagerArgs(TypedDict):
    """Who applies MIG layouts on the nodes."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    env: NotRequired[dict[str, str]]
    """Environment of mig-manager; values are strings: `{WITH_REBOOT: "true"}`."""


class GpuOperatorOptionsArgs(TypedDict):
    """NVIDIA GPU Operator."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    ownership: NotRequired[str]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    driver: NotRequired[DriverArgs]
    """The GPU driver. Default: installed where an image lacks it."""
    toolkit: NotRequired[SwitchArgs]
    """The container toolkit. Default: installed where an image lacks it."""
    device_plugin: NotRequired[SwitchArgs]
    """The device plugin. Default: installed where an image lacks it."""
    mig_manager: NotRequired[MigManagerArgs]
    """The MIG manager. Default: with MIG pools."""
    dcgm_exporter: NotRequired[SwitchArgs]
    """GPU metrics. Default on."""
    node_feature_discovery: NotRequired[SwitchArgs]
    """Labels GPU nodes. Default on."""
    image_pull_secret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""


class AddonArgs(TypedDict):
    """One operator or controller."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    ownership: NotRequired[str]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class ChartSourceArgs(TypedDict):
    """Where charts come from: exactly one. Default: each vendor's own repository."""

    repository: NotRequired[str]
    """Helm repository that mirrors all charts, `https://charts.example.com`."""
    oci: NotRequired[str]
    """OCI registry path, `oci://registry.example.com/charts`."""
    folder: NotRequired[str]
    """Folder with one sub-folder per chart, as the sandbox and air-gapped sites use."""


class ChartsArgs(TypedDict):
    """One setting for all charts."""

    source: NotRequired[ChartSourceArgs]
    """Default: each vendor's own repository."""


class AddonsArgs(TypedDict):
    """Overrides of what the pools imply. An empty section is the usual case."""

    gpu_operator: NotRequired[GpuOperatorOptionsArgs]
    """NVIDIA GPU Operator. Default: as the pools need it."""
    network_operator: NotRequired[AddonArgs]
    """NVIDIA Network Operator. Default: with RDMA pools."""
    dra_driver: NotRequired[AddonArgs]
    """NVIDIA DRA driver. Default: with `dra` pools."""
    karpenter: NotRequired[AddonArgs]
    """Karpenter. Default: with pools it provisions."""
    cluster_autoscaler: NotRequired[AddonArgs]
    """Cluster Autoscaler. Default: with pools it provisions."""
    kueue: NotRequired[AddonArgs]
    """Kueue. Default: with `queues`."""
    keda: NotRequired[AddonArgs]
    """KEDA. Default: off."""
    charts: NotRequired[ChartsArgs]
    """Where charts come from. Default: each vendor's repository."""
