"""Inputs of components: what restates `gpufleet.spec.gpu_operator`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import KernelModuleWord, LicenseFeatureWord, LicenseServiceWord


class PodDeletionArgs(TypedDict):
    """How pods that hold a GPU are removed before a driver upgrade."""

    force: NotRequired[bool]
    """Also pods that no controller would create again. Default false."""
    timeout_seconds: NotRequired[int]
    """Time to wait, at least 0; 0 means no limit. Default 300."""
    delete_empty_dir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""


class NodeDrainArgs(TypedDict):
    """How a node is drained if removing its GPU pods was not enough."""

    force: NotRequired[bool]
    """Also pods that no controller would create again. Default false."""
    timeout_seconds: NotRequired[int]
    """Time to wait, at least 0; 0 means no limit. Default 300."""
    delete_empty_dir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""
    enabled: NotRequired[bool]
    """Whether to drain. Default false."""
    pod_selector: NotRequired[str]
    """Only pods with these labels. Default: all."""


class UpgradePolicyArgs(TypedDict):
    """Rollout of a new driver version to the nodes."""

    auto_upgrade: NotRequired[bool]
    """Upgrade automatically, node by node. Default true; false waits until pods are deleted."""
    max_parallel_upgrades: NotRequired[int]
    """Maximum number of nodes at the same time, at least 0; 0 means no limit. Default 1."""
    max_unavailable: NotRequired[str]
    """Nodes that may be unavailable at the same time, a number or a percentage. Default `25%`."""
    wait_for_completion_seconds: NotRequired[int]
    """Time to wait for running jobs, at least 0; 0 means no limit. Default 0."""
    wait_for_pods: NotRequired[str]
    """Labels of the jobs to wait for. Default: no jobs."""
    pod_deletion: NotRequired[PodDeletionArgs]
    """Default: 300 seconds, not forced."""
    drain: NotRequired[NodeDrainArgs]
    """Default: no drain."""


class DriverRdmaArgs(TypedDict):
    """GPUDirect RDMA by nvidia-peermem; DMA-BUF, the recommended way, does not need it."""

    enabled: NotRequired[bool]
    """Load nvidia-peermem: driver pods then wait for DOCA-OFED. Default false."""
    use_host_mofed: NotRequired[bool]
    """DOCA-OFED is on the host. Default: as `networkOperator.ofed` declares."""


class DataCenterDriverArgs(TypedDict):
    """The driver of whole GPUs, in a cluster whose `driver` is that of vGPU guests."""

    version: str
    """Driver version, `580.95.05`."""
    repository: NotRequired[str]
    """Repository of its image. Default: NVIDIA's."""
    image: NotRequired[str]
    """Name of its image. Default: `driver`."""


class LicensingArgs(TypedDict):
    """Licence of vGPU guests. The Secret has the keys `gridd.conf` and
    `client_configuration_token.tok`; gpufleet never reads its contents."""

    secret: str
    """Name of the Secret, in the operator's namespace."""
    service: NotRequired[LicenseServiceWord]
    """One of `cls`, `dls`. Source of the token in the Secret, `cls` or `dls`. Default cls."""
    feature_type: NotRequired[LicenseFeatureWord]
    """One of `vgpu`, `workstation`, `compute`. Kind of licence in the Secret's gridd.conf.
    Default vgpu (FeatureType 1), which covers every vGPU type."""


class DriverArgs(TypedDict):
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
    kernel_module_type: NotRequired[KernelModuleWord]
    """One of `auto`, `open`, `proprietary`. `auto`, `open` or `proprietary`. Default: auto."""
    precompiled: NotRequired[bool]
    """Use images with a module that is built for the nodes' kernel: `version` is then a branch,
    and neither GPUDirect Storage nor GDRCopy is available. Default false."""
    upgrade_policy: NotRequired[UpgradePolicyArgs]
    """Rollout of a new version to the nodes. Default: the chart's, one node at a time."""
    rdma: NotRequired[DriverRdmaArgs]
    """Default: DMA-BUF, without nvidia-peermem."""
    data_center: NotRequired[DataCenterDriverArgs]
    """Driver of pools without vGPU, if vGPU pools are in the same cluster: each pool gets an
    NVIDIADriver of its kind. Default: none, one driver for all."""
    licensing: NotRequired[LicensingArgs]
    """Licence of vGPU guests. Default: the Secret in the vGPU pools."""
    install_dir: NotRequired[str]
    """Directory of a separately installed driver on the nodes. Default: `/run/nvidia/driver`, and
    on GKE the directory of Google's installer."""
    host_version: NotRequired[str]
    """Version or branch of the vGPU Manager on the hypervisors. Default: not compared."""
    env: NotRequired[dict[str, str]]
    """Environment of the driver container. Default: only `proxy`."""
    repo_config: NotRequired[str]
    """ConfigMap with package sources, for sites without Internet access. Default: the image's."""
    cert_config: NotRequired[str]
    """ConfigMap with certificates of package sources. Default: none."""
    kernel_module_config: NotRequired[str]
    """ConfigMap with parameters of the kernel module. Default: none."""
    virtual_topology: NotRequired[str]
    """ConfigMap with the vGPU topology daemon's file. Default: none."""
    secret_env: NotRequired[str]
    """Secret whose keys become environment variables of the driver container. Default: none."""


class ToolkitArgs(TypedDict):
    """The container toolkit."""

    enabled: NotRequired[bool]
    """Default: as the pools imply."""
    install_dir: NotRequired[str]
    """Folder on the nodes. Default: `/usr/local/nvidia`."""
    env: NotRequired[dict[str, str]]
    """Environment of the toolkit container. Default: none."""


class SwitchArgs(TypedDict):
    """On, off, or (unset) as the pools imply."""

    enabled: NotRequired[bool]
    """Default: as the pools imply."""


class MigManagerArgs(TypedDict):
    """The program that applies MIG layouts on the nodes."""

    enabled: NotRequired[bool]
    """Default: as the pools imply."""
    env: NotRequired[dict[str, str]]
    """Environment of mig-manager; values are strings. Default: `{WITH_REBOOT: "true"}` if virtual
    machines of gpufleet may refuse the reset that switches MIG mode (A100, A30)."""
    gpu_clients: NotRequired[str]
    """ConfigMap with the host services that hold a GPU, key `clients.yaml`. Default: the
    operator's list."""


class ServiceMonitorArgs(TypedDict):
    """How Prometheus scrapes the exporter."""

    enabled: NotRequired[bool]
    """Default true; the operator skips it while the definition of ServiceMonitor is missing."""
    interval: NotRequired[str]
    """Default `15s`."""
    scrape_timeout: NotRequired[str]
    """Default `10s`."""
    honor_labels: NotRequired[bool]
    """Default false."""
    additional_labels: NotRequired[dict[str, str]]
    """Labels by which a Prometheus selects it. Default: none."""


class DcgmExporterArgs(TypedDict):
    """GPU metrics."""

    enabled: NotRequired[bool]
    """Default: as the pools imply."""
    metrics: NotRequired[str]
    """ConfigMap with the counters, key `dcgm-metrics.csv`. Default: the exporter's list."""
    service_monitor: NotRequired[ServiceMonitorArgs]
    """Default: the chart's, every 15 seconds."""
    pod_labels: NotRequired[bool]
    """Copy pods' labels to the samples. Default: the chart's, false."""
    env: NotRequired[dict[str, str]]
    """Environment of the exporter. Default: none, and with `monitoring` its interval."""


class CdiArgs(TypedDict):
    """Container Device Interface."""

    enabled: NotRequired[bool]
    """Default true."""
    nri: NotRequired[bool]
    """Inject devices by an NRI plugin instead of the RuntimeClass `nvidia`. Default false."""


class GpuOperatorSettingsArgs(TypedDict):
    """Typed settings of the parts that the GPU Operator runs."""

    driver: NotRequired[DriverArgs]
    """The GPU driver. Default: installed if the image lacks it."""
    toolkit: NotRequired[ToolkitArgs]
    """The container toolkit. Default: installed if the image lacks it."""
    device_plugin: NotRequired[SwitchArgs]
    """The device plugin. Default: installed if the image lacks it."""
    gpu_feature_discovery: NotRequired[SwitchArgs]
    """Labels that describe the GPUs. Default on."""
    mig_manager: NotRequired[MigManagerArgs]
    """The MIG manager. Default: with MIG pools."""
    dcgm: NotRequired[SwitchArgs]
    """A separate DCGM host engine, in addition to the one in the exporter. Default off."""
    dcgm_exporter: NotRequired[DcgmExporterArgs]
    """GPU metrics. Default on."""
    node_feature_discovery: NotRequired[SwitchArgs]
    """Labels GPU nodes. Default on, unless the Network Operator includes it."""
    cdi: NotRequired[CdiArgs]
    """Default: on, without NRI."""
    gds: NotRequired[SwitchArgs]
    """GPUDirect Storage; needs the open kernel module. Default off."""
    gdrcopy: NotRequired[SwitchArgs]
    """GDRCopy. Default off."""
    gpu_cluster: NotRequired[bool]
    """Whether a GPUCluster owns the stack instead of a ClusterPolicy: the operator runs the DRA
    driver, drivers come from NVIDIADriver objects, and neither device plugin nor MIG manager is
    installed, so every pool shares by `dra`. From v26.7.0, a technology preview for new clusters
    of Kubernetes 1.34.2 or later. Default false."""
    image_pull_secret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""
