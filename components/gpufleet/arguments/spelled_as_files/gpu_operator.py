"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.gpu_operator`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from gpufleet.arguments.gpu_operator import DataCenterDriverArgs
from gpufleet.arguments.words import KernelModuleWord, LicenseFeatureWord, LicenseServiceWord


class PodDeletionDict(TypedDict):
    """How pods that hold a GPU are removed before a driver upgrade."""

    force: NotRequired[bool]
    """Also pods that no controller would create again. Default false."""
    timeoutSeconds: NotRequired[int]
    """Time to wait, at least 0; 0 means no limit. Default 300."""
    deleteEmptyDir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""


class NodeDrainDict(TypedDict):
    """How a node is drained if removing its GPU pods was not enough."""

    force: NotRequired[bool]
    """Also pods that no controller would create again. Default false."""
    timeoutSeconds: NotRequired[int]
    """Time to wait, at least 0; 0 means no limit. Default 300."""
    deleteEmptyDir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""
    enabled: NotRequired[bool]
    """Whether to drain. Default false."""
    podSelector: NotRequired[str]
    """Only pods with these labels. Default: all."""


class UpgradePolicyDict(TypedDict):
    """Rollout of a new driver version to the nodes."""

    autoUpgrade: NotRequired[bool]
    """Upgrade automatically, node by node. Default true; false waits until pods are deleted."""
    maxParallelUpgrades: NotRequired[int]
    """Maximum number of nodes at the same time, at least 0; 0 means no limit. Default 1."""
    maxUnavailable: NotRequired[str]
    """Nodes that may be unavailable at the same time, a number or a percentage. Default `25%`."""
    waitForCompletionSeconds: NotRequired[int]
    """Time to wait for running jobs, at least 0; 0 means no limit. Default 0."""
    waitForPods: NotRequired[str]
    """Labels of the jobs to wait for. Default: no jobs."""
    podDeletion: NotRequired[PodDeletionDict]
    """Default: 300 seconds, not forced."""
    drain: NotRequired[NodeDrainDict]
    """Default: no drain."""


class DriverRdmaDict(TypedDict):
    """GPUDirect RDMA by nvidia-peermem; DMA-BUF, the recommended way, does not need it."""

    enabled: NotRequired[bool]
    """Load nvidia-peermem: driver pods then wait for DOCA-OFED. Default false."""
    useHostMofed: NotRequired[bool]
    """DOCA-OFED is on the host. Default: as `networkOperator.ofed` declares."""


class LicensingDict(TypedDict):
    """Licence of vGPU guests. The Secret has the keys `gridd.conf` and
    `client_configuration_token.tok`; gpufleet never reads its contents."""

    secret: str
    """Name of the Secret, in the operator's namespace."""
    service: NotRequired[LicenseServiceWord]
    """One of `cls`, `dls`. Source of the token in the Secret, `cls` or `dls`. Default cls."""
    featureType: NotRequired[LicenseFeatureWord]
    """One of `vgpu`, `workstation`, `compute`. Kind of licence in the Secret's gridd.conf.
    Default vgpu (FeatureType 1), which covers every vGPU type."""


class DriverDict(TypedDict):
    """The GPU driver, as the operator installs it."""

    enabled: NotRequired[bool]
    """Default: as the pools imply."""
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
    """Use images with a module that is built for the nodes' kernel: `version` is then a branch,
    and neither GPUDirect Storage nor GDRCopy is available. Default false."""
    upgradePolicy: NotRequired[UpgradePolicyDict]
    """Rollout of a new version to the nodes. Default: the chart's, one node at a time."""
    rdma: NotRequired[DriverRdmaDict]
    """Default: DMA-BUF, without nvidia-peermem."""
    dataCenter: NotRequired[DataCenterDriverArgs]
    """Driver of pools without vGPU, if vGPU pools are in the same cluster: each pool gets an
    NVIDIADriver of its kind. Default: none, one driver for all."""
    licensing: NotRequired[LicensingDict]
    """Licence of vGPU guests. Default: the Secret in the vGPU pools."""
    installDir: NotRequired[str]
    """Directory of a separately installed driver on the nodes. Default: `/run/nvidia/driver`, and
    on GKE the directory of Google's installer."""
    hostVersion: NotRequired[str]
    """Version or branch of the vGPU Manager on the hypervisors. Default: not compared."""
    env: NotRequired[Mapping[str, str]]
    """Environment of the driver container. Default: only `proxy`."""
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
    """Default: as the pools imply."""
    installDir: NotRequired[str]
    """Folder on the nodes. Default: `/usr/local/nvidia`."""
    env: NotRequired[Mapping[str, str]]
    """Environment of the toolkit container. Default: none."""


class MigManagerDict(TypedDict):
    """The program that applies MIG layouts on the nodes."""

    enabled: NotRequired[bool]
    """Default: as the pools imply."""
    env: NotRequired[Mapping[str, str]]
    """Environment of mig-manager; values are strings. Default: `{WITH_REBOOT: "true"}` if virtual
    machines of gpufleet may refuse the reset that switches MIG mode (A100, A30)."""
    gpuClients: NotRequired[str]
    """ConfigMap with the host services that hold a GPU, key `clients.yaml`. Default: the
    operator's list."""


class ServiceMonitorDict(TypedDict):
    """How Prometheus scrapes the exporter."""

    enabled: NotRequired[bool]
    """Default true; the operator skips it while the definition of ServiceMonitor is missing."""
    interval: NotRequired[str]
    """Default `15s`."""
    scrapeTimeout: NotRequired[str]
    """Default `10s`."""
    honorLabels: NotRequired[bool]
    """Default false."""
    additionalLabels: NotRequired[Mapping[str, str]]
    """Labels by which a Prometheus selects it. Default: none."""


class DcgmExporterDict(TypedDict):
    """GPU metrics."""

    enabled: NotRequired[bool]
    """Default: as the pools imply."""
    metrics: NotRequired[str]
    """ConfigMap with the counters, key `dcgm-metrics.csv`. Default: the exporter's list."""
    serviceMonitor: NotRequired[ServiceMonitorDict]
    """Default: the chart's, every 15 seconds."""
    podLabels: NotRequired[bool]
    """Copy pods' labels to the samples. Default: the chart's, false."""
    env: NotRequired[Mapping[str, str]]
    """Environment of the exporter. Default: none, and with `monitoring` its interval."""
