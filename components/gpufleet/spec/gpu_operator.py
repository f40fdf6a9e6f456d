"""Typed settings of the NVIDIA GPU Operator.

Keys, choices and defaults: NVIDIA/gpu-operator v26.7.0 `deployments/gpu-operator/values.yaml` and
its ClusterPolicy definition (read 2026-11-21). Unset settings have the chart's default, unless the
pools imply a value.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from gpufleet.spec.base import SecretName, SpecModel

ConfigMapName = SecretName
"""Name of a ConfigMap in the add-on's namespace: the same rule as for Secrets."""

DriverTag = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+){0,2}(-stig-fips)?$")]
"""A driver version, or that of a government-ready image: `580.95.05-stig-fips`."""

DriverVersion = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+){0,2}$")]
"""A driver version, `595.91.07`, or a branch, `595`."""

PrometheusDuration = Annotated[
    str,
    StringConstraints(
        pattern=r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
        min_length=1,
    ),
]
"""A duration in Prometheus' form: `15s`, `1m30s`."""

ImageRepository = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.:-]*(/[a-z0-9][a-z0-9._-]*)*$")
]
"""A registry and a path in it, without scheme and tag: `registry.example.com/nvidia`."""


class Switch(SpecModel):
    """On, off, or (unset) as the pools imply."""

    enabled: bool | None = None
    """Default: as the pools imply."""


class KernelModule(StrEnum):
    """Kernel module of the driver."""

    AUTO = "auto"
    """The driver's recommendation for the GPU."""
    OPEN = "open"
    """Turing and later; needed for DMA-BUF and GPUDirect Storage."""
    PROPRIETARY = "proprietary"


class PodDeletion(SpecModel):
    """How pods that hold a GPU are removed before a driver upgrade."""

    force: bool = False
    """Also pods that no controller would create again. Default false."""
    timeout_seconds: int = Field(default=300, ge=0)
    """Time to wait, at least 0; 0 means no limit. Default 300."""
    delete_empty_dir: bool = False
    """Also pods with emptyDir volumes, whose data is lost. Default false."""


class NodeDrain(PodDeletion):
    """How a node is drained if removing its GPU pods was not enough."""

    enabled: bool = False
    """Whether to drain. Default false."""
    pod_selector: str = ""
    """Only pods with these labels. Default: all."""


class UpgradePolicy(SpecModel):
    """Rollout of a new driver version to the nodes."""

    auto_upgrade: bool = True
    """Upgrade automatically, node by node. Default true; false waits until pods are deleted."""
    max_parallel_upgrades: int = Field(default=1, ge=0)
    """Maximum number of nodes at the same time, at least 0; 0 means no limit. Default 1."""
    max_unavailable: Annotated[str, StringConstraints(pattern=r"^[0-9]+%?$")] = "25%"
    """Nodes that may be unavailable at the same time, a number or a percentage. Default `25%`."""
    wait_for_completion_seconds: int = Field(default=0, ge=0)
    """Time to wait for running jobs, at least 0; 0 means no limit. Default 0."""
    wait_for_pods: str = ""
    """Labels of the jobs to wait for. Default: no jobs."""
    pod_deletion: PodDeletion = Field(default_factory=PodDeletion)
    """Default: 300 seconds, not forced."""
    drain: NodeDrain = Field(default_factory=NodeDrain)
    """Default: no drain."""


class DriverRdma(SpecModel):
    """GPUDirect RDMA by nvidia-peermem; DMA-BUF, the recommended way, does not need it."""

    enabled: bool = False
    """Load nvidia-peermem: driver pods then wait for DOCA-OFED. Default false."""
    use_host_mofed: bool | None = None
    """DOCA-OFED is on the host. Default: as `networkOperator.ofed` declares."""


class LicenseService(StrEnum):
    """Source of a vGPU guest's licence: NVIDIA License System, cloud or own appliance."""

    CLS = "cls"
    """Cloud License Service: guests must reach NVIDIA's servers."""
    DLS = "dls"
    """Delegated License Service: an appliance in your own network."""


class LicenseFeature(StrEnum):
    """Kind of licence that a guest requests: `FeatureType` of its `gridd.conf`."""

    VGPU = "vgpu"
    """FeatureType 1: the guest driver requests the licence that its vGPU type needs."""
    WORKSTATION = "workstation"
    """FeatureType 2: RTX Virtual Workstation, Q types."""
    COMPUTE = "compute"
    """FeatureType 4: Virtual Compute Server, C types."""


class Licensing(SpecModel):
    """Licence of vGPU guests. The Secret has the keys `gridd.conf` and
    `client_configuration_token.tok`; gpufleet never reads its contents."""

    secret: SecretName
    """Name of the Secret, in the operator's namespace."""
    service: LicenseService = LicenseService.CLS
    """Source of the token in the Secret, `cls` or `dls`. Default cls."""
    feature_type: LicenseFeature = LicenseFeature.VGPU
    """Kind of licence in the Secret's gridd.conf. Default vgpu (FeatureType 1), which covers every
    vGPU type."""


class DataCenterDriver(SpecModel):
    """The driver of whole GPUs, in a cluster whose `driver` is that of vGPU guests."""

    version: DriverVersion
    """Driver version, `580.95.05`."""
    repository: ImageRepository | None = None
    """Repository of its image. Default: NVIDIA's."""
    image: str | None = None
    """Name of its image. Default: `driver`."""


class Driver(Switch):
    """The GPU driver, as the operator installs it."""

    version: DriverTag | None = None
    """Driver version, or branch with precompiled drivers. Default: the operator's own."""
    repository: ImageRepository | None = None
    """Repository of the driver image; needed for vGPU guests, whose image is private. Default:
    NVIDIA's."""
    image: str | None = None
    """Name of the driver image. Default: `driver`."""
    kernel_module_type: KernelModule | None = None
    """`auto`, `open` or `proprietary`. Default: auto."""
    precompiled: bool = False
    """Use images with a module that is built for the nodes' kernel: `version` is then a branch, and
    neither GPUDirect Storage nor GDRCopy is available. Default false."""
    upgrade_policy: UpgradePolicy | None = None
    """Rollout of a new version to the nodes. Default: the chart's, one node at a time."""
    rdma: DriverRdma = Field(default_factory=DriverRdma)
    """Default: DMA-BUF, without nvidia-peermem."""
    data_center: DataCenterDriver | None = None
    """Driver of pools without vGPU, if vGPU pools are in the same cluster: each pool gets an
    NVIDIADriver of its kind. Default: none, one driver for all."""
    licensing: Licensing | None = None
    """Licence of vGPU guests. Default: the Secret in the vGPU pools."""
    install_dir: str | None = None
    """Directory of a separately installed driver on the nodes. Default: `/run/nvidia/driver`,
    and on GKE the directory of Google's installer."""
    host_version: DriverVersion | None = None
    """Version or branch of the vGPU Manager on the hypervisors. Default: not compared."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment of the driver container. Default: only `proxy`."""
    repo_config: ConfigMapName | None = None
    """ConfigMap with package sources, for sites without Internet access. Default: the image's."""
    cert_config: ConfigMapName | None = None
    """ConfigMap with certificates of package sources. Default: none."""
    kernel_module_config: ConfigMapName | None = None
    """ConfigMap with parameters of the kernel module. Default: none."""
    virtual_topology: ConfigMapName | None = None
    """ConfigMap with the vGPU topology daemon's file. Default: none."""
    secret_env: SecretName | None = None
    """Secret whose keys become environment variables of the driver container. Default: none."""


class Toolkit(Switch):
    """The container toolkit."""

    install_dir: str | None = None
    """Folder on the nodes. Default: `/usr/local/nvidia`."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment of the toolkit container. Default: none."""


class MigManager(Switch):
    """The program that applies MIG layouts on the nodes."""

    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment of mig-manager; values are strings. Default: `{WITH_REBOOT: "true"}` if virtual
    machines of gpufleet may refuse the reset that switches MIG mode (A100, A30)."""
    gpu_clients: ConfigMapName | None = None
    """ConfigMap with the host services that hold a GPU, key `clients.yaml`. Default: the operator's
    list."""


class Cdi(SpecModel):
    """Container Device Interface."""

    enabled: bool = True
    """Default true."""
    nri: bool = False
    """Inject devices by an NRI plugin instead of the RuntimeClass `nvidia`. Default false."""


class ServiceMonitor(SpecModel):
    """How Prometheus scrapes the exporter."""

    enabled: bool = True
    """Default true; the operator skips it while the definition of ServiceMonitor is missing."""
    interval: PrometheusDuration = "15s"
    """Default `15s`."""
    scrape_timeout: PrometheusDuration = "10s"
    """Default `10s`."""
    honor_labels: bool = False
    """Default false."""
    additional_labels: dict[str, str] = Field(default_factory=dict[str, str])
    """Labels by which a Prometheus selects it. Default: none."""


class DcgmExporter(Switch):
    """GPU metrics."""

    metrics: ConfigMapName | None = None
    """ConfigMap with the counters, key `dcgm-metrics.csv`. Default: the exporter's list."""
    service_monitor: ServiceMonitor | None = None
    """Default: the chart's, every 15 seconds."""
    pod_labels: bool | None = None
    """Copy pods' labels to the samples. Default: the chart's, false."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment of the exporter. Default: none, and with `monitoring` its interval."""


class GpuOperatorSettings(SpecModel):
    """Typed settings of the parts that the GPU Operator runs."""

    driver: Driver = Field(default_factory=Driver)
    """The GPU driver. Default: installed if the image lacks it."""
    toolkit: Toolkit = Field(default_factory=Toolkit)
    """The container toolkit. Default: installed if the image lacks it."""
    device_plugin: Switch = Field(default_factory=Switch)
    """The device plugin. Default: installed if the image lacks it."""
    gpu_feature_discovery: Switch = Field(default_factory=Switch)
    """Labels that describe the GPUs. Default on."""
    mig_manager: MigManager = Field(default_factory=MigManager)
    """The MIG manager. Default: with MIG pools."""
    dcgm: Switch = Field(default_factory=Switch)
    """A separate DCGM host engine, in addition to the one in the exporter. Default off."""
    dcgm_exporter: DcgmExporter = Field(default_factory=DcgmExporter)
    """GPU metrics. Default on."""
    node_feature_discovery: Switch = Field(default_factory=Switch)
    """Labels GPU nodes. Default on, unless the Network Operator includes it."""
    cdi: Cdi = Field(default_factory=Cdi)
    """Default: on, without NRI."""
    gds: Switch = Field(default_factory=Switch)
    """GPUDirect Storage; needs the open kernel module. Default off."""
    gdrcopy: Switch = Field(default_factory=Switch)
    """GDRCopy. Default off."""
    gpu_cluster: bool = False
    """Whether a GPUCluster owns the stack instead of a ClusterPolicy: the operator runs the DRA
    driver, drivers come from NVIDIADriver objects, and neither device plugin nor MIG manager is
    installed, so every pool shares by `dra`. From v26.7.0, a technology preview for new clusters
    of Kubernetes 1.34.2 or later. Default false."""
    image_pull_secret: SecretName | None = None
    """Name of the Secret for NGC images. Default: none."""
