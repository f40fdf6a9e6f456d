"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.gpu_operator`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from gpufleet.arguments.gpu_operator import DataCenterDriverArgs
from gpufleet.arguments.words import (
    KernelModuleWord,
    LicenseFeatureWord,
    LicenseServiceWord,
    WorkloadWord,
)


class PodDeletionDict(TypedDict):
    """How pods that hold a GPU are removed before a driver upgrade."""

    force: NotRequired[bool]
    """Also pods that no controller would make again. Default false."""
    timeoutSeconds: NotRequired[int]
    """How long to wait, at least 0; 0 is for ever. Default 300."""
    deleteEmptyDir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""


class NodeDrainDict(TypedDict):
    """How a node is drained when removing its GPU pods was not enough."""

    force: NotRequired[bool]
    """Also pods that no controller would make again. Default false."""
    timeoutSeconds: NotRequired[int]
    """How long to wait, at least 0; 0 is for ever. Default 300."""
    deleteEmptyDir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""
    enabled: NotRequired[bool]
    """Drain at all. Default false."""
    podSelector: NotRequired[str]
    """Only pods with these labels. Default: all."""


class UpgradePolicyDict(TypedDict):
    """How a new driver version reaches the nodes."""

    autoUpgrade: NotRequired[bool]
    """Upgrade by itself, node by node. Default true; false waits for someone to delete pods."""
    maxParallelUpgrades: NotRequired[int]
    """Nodes at the same time, at least 0; 0 is no limit. Default 1."""
    maxUnavailable: NotRequired[str]
    """Nodes that may be away at the same time, a number or a percentage. Default `25%`."""
    waitForCompletionSeconds: NotRequired[int]
    """How long to wait for running jobs, at least 0; 0 is for ever. Default 0."""
    waitForPods: NotRequired[str]
    """Labels of the jobs that are waited for. Default: none is waited for."""
    podDeletion: NotRequired[PodDeletionDict]
    """Default: 300 seconds, nothing forced."""
    drain: NotRequired[NodeDrainDict]
    """Default: no drain."""


class DriverRdmaDict(TypedDict):
    """GPUDirect RDMA by nvidia-peermem; DMA-BUF, the recommended way, needs nothing of this."""

    enabled: NotRequired[bool]
    """Load nvidia-peermem: driver pods then wait for DOCA-OFED. Default false."""
    useHostMofed: NotRequired[bool]
    """DOCA-OFED is on the host. Default: what `networkOperator.ofed` says."""


class LicensingDict(TypedDict):
    """Licence of vGPU guests. The Secret has the keys `gridd.conf` and
    `client_configuration_token.tok`; gpufleet never sees what is in it."""

    secret: str
    """Name of the Secret, in the operator's namespace."""
    service: NotRequired[LicenseServiceWord]
    """One of `cls`, `dls`. Where the token of the Secret comes from, `cls` or `dls`. Default
    cls."""
    featureType: NotRequired[LicenseFeatureWord]
    """One of `vgpu`, `workstation`, `compute`. What the Secret's gridd.conf asks for. Default
    vgpu (FeatureType 1), which fits every vGPU type."""


class DriverDict(TypedDict):
    """The GPU driver, as the operator installs it."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    version: NotRequired[str]
    """Driver version, or branch with precompiled drivers. Default: the operator's own."""
    repository: NotRequired[str]
    """Repository of the driver image; needed for vGPU guests, whose image is private. Default:
    NVIDIA's."""
    image: NotRequired[str]
    """Name of the driver image. Default: `driver`."""
    kernelModuleType: NotRequired[KernelModuleWord]
    """One of `auto`, `open`, `proprietary`. `auto`, `open` or `proprietary`. Default: auto."""
    precompiled: NotRequired[bool]
    """Use images with a module made for the nodes' kernel: `version` is then a branch, and
    neither GPUDirect Storage nor GDRCopy is available. Default false."""
    upgradePolicy: NotRequired[UpgradePolicyDict]
    """How a new version reaches the nodes. Default: the chart's, one node at a time."""
    rdma: NotRequired[DriverRdmaDict]
    """Default: DMA-BUF, without nvidia-peermem."""
    dataCenter: NotRequired[DataCenterDriverArgs]
    """Driver of pools without vGPU, where vGPU pools are in the same cluster: each pool gets an
    NVIDIADriver of its kind. Default: none, one driver for all."""
    licensing: NotRequired[LicensingDict]
    """Licence of vGPU guests. Default: the Secret that vGPU pools name."""
    installDir: NotRequired[str]
    """Folder on the nodes of a driver that someone else installs. Default: `/run/nvidia/driver`,
    and where Google's installer puts it on GKE."""
    hostVersion: NotRequired[str]
    """Version or branch of the vGPU Manager on the hypervisors. Default: not compared."""
    env: NotRequired[Mapping[str, str]]
    """Environment of the driver container. Default: none but `proxy`."""
    repoConfig: NotRequired[str]
    """ConfigMap with package sources, for sites without Internet access. Default: the image's."""
    certConfig: NotRequired[str]
    """ConfigMap with certificates of package sources. Default: none."""
    kernelModuleConfig: NotRequired[str]
    """ConfigMap with parameters of the kernel module. Default: none."""
    virtualTopology: NotRequired[str]
    """ConfigMap with the vGPU topology daemon's file. Default: none."""
    secretEnv: NotRequired[str]
    """Secret whose keys become environment variables of the driver container. Default: none."""


class ToolkitDict(TypedDict):
    """The container toolkit."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    installDir: NotRequired[str]
    """Folder on the nodes. Default: `/usr/local/nvidia`."""
    env: NotRequired[Mapping[str, str]]
    """Environment of the toolkit container. Default: none."""


class MigManagerDict(TypedDict):
    """Who applies MIG layouts on the nodes."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    env: NotRequired[Mapping[str, str]]
    """Environment of mig-manager; values are strings. Default: `{WITH_REBOOT: "true"}` where
    virtual machines that gpufleet makes may refuse the reset that switches MIG mode (A100,
    A30)."""
    gpuClients: NotRequired[str]
    """ConfigMap with the host services that hold a GPU, key `clients.yaml`. Default: the
    operator's list."""


class ServiceMonitorDict(TypedDict):
    """How Prometheus scrapes the exporter."""

    enabled: NotRequired[bool]
    """Default true; skipped by the operator while the definition of ServiceMonitor is missing."""
    interval: NotRequired[str]
    """Default `15s`."""
    scrapeTimeout: NotRequired[str]
    """Default `10s`."""
    honorLabels: NotRequired[bool]
    """Default false."""
    additionalLabels: NotRequired[Mapping[str, str]]
    """Labels a Prometheus selects by. Default: none."""


class DcgmExporterDict(TypedDict):
    """GPU metrics."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    metrics: NotRequired[str]
    """ConfigMap with the counters, key `dcgm-metrics.csv`. Default: the exporter's list."""
    serviceMonitor: NotRequired[ServiceMonitorDict]
    """Default: the chart's, every 15 seconds."""
    podLabels: NotRequired[bool]
    """Copy pods' labels to the samples. Default: the chart's, false."""
    env: NotRequired[Mapping[str, str]]
    """Environment of the exporter. Default: none, and with `monitoring` its interval."""


class VgpuHostDict(TypedDict):
    """Nodes that are hypervisors themselves (KubeVirt) and make vGPUs."""

    enabled: NotRequired[bool]
    """Run sandbox workloads, vGPU Manager and vGPU device manager. Default false."""
    defaultWorkload: NotRequired[WorkloadWord]
    """One of `container`, `vm-passthrough`, `vm-vgpu`. What nodes without the label
    `nvidia.com/gpu.workload.config` are for. Default container."""
    managerRepository: NotRequired[str]
    """Repository of the vGPU Manager image, which is private. Needed with `enabled`."""
    managerVersion: NotRequired[str]
    """Version of the vGPU Manager. Needed with `enabled`."""
    deviceConfig: NotRequired[str]
    """ConfigMap of the vGPU device manager, key `config.yaml`. Default: the operator's."""
    deviceDefault: NotRequired[str]
    """Configuration for nodes without the label `nvidia.com/vgpu.config`. Default `default`."""
