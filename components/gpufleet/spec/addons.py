"""Cluster-wide add-ons. The pools imply all of them; these settings are overrides."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import Field

from gpufleet.spec.base import OneOf, Ownership, Release, SecretName, SpecModel
from gpufleet.spec.device_needs import DeviceTaint
from gpufleet.spec.gpu_operator import GpuOperatorSettings, Switch
from gpufleet.spec.images import Images
from gpufleet.spec.network_operator import NetworkOperatorSettings
from gpufleet.spec.olm import LifecycleManager

# Typed settings of the standalone device plugin.
#
# Chart nvidia-device-plugin 0.20.0 (NVIDIA/k8s-device-plugin `deployments/helm`, read 2026-11-21).


class DevicePluginSettings(SpecModel):
    """The parts that the chart runs."""

    gpu_feature_discovery: Switch = Field(default_factory=Switch)
    """Labels that describe the GPUs; MPS needs it. Default on."""
    node_feature_discovery: Switch = Field(default_factory=Switch)
    """Labels GPU nodes. Default on, unless another add-on includes it."""
    image_pull_secret: SecretName | None = None
    """Name of the Secret for images. Default: none."""


CHARTS = {
    "gpuOperator": "gpu-operator",
    "networkOperator": "network-operator",
    "devicePlugin": "nvidia-device-plugin",
    "draDriver": "dra-driver-nvidia-gpu",
    "karpenter": "karpenter",
    "clusterAutoscaler": "cluster-autoscaler",
    "efaDevicePlugin": "aws-efa-k8s-device-plugin",
    "neuronDevicePlugin": "neuron-helm-chart",
    "kueue": "kueue",
    "keda": "keda",
}
"""Section of `addons` -> its chart in the catalogue."""
Values = dict[str, Any]
"""Raw Helm values, merged last."""


class Addon(SpecModel):
    """One operator or controller."""

    enabled: bool | None = None
    """Default: as the pools require."""
    ownership: Ownership = Ownership.MANAGED
    """Default managed."""
    version: Release | None = None
    """Chart version. Default: the catalogue's pin."""
    values: Values = Field(default_factory=dict[str, Any])
    """Raw Helm values, merged last; secrets do not belong here."""

    @property
    def ours(self) -> bool:
        """Whether gpufleet installs it if pools need it."""
        return self.enabled is not False and self.ownership is Ownership.MANAGED

    @property
    def rendered(self) -> bool:
        """Whether files for it are written if pools need it: also for a GitOps tool."""
        return self.enabled is not False and self.ownership is not Ownership.EXISTING


class GpuOperator(Addon, GpuOperatorSettings):
    """NVIDIA GPU Operator."""


class NetworkOperator(Addon, NetworkOperatorSettings):
    """NVIDIA Network Operator."""


class DevicePlugin(Addon, DevicePluginSettings):
    """NVIDIA's device plugin by its own chart, for clusters without the GPU Operator."""


class DraDriverAddon(Addon):
    """NVIDIA's DRA driver."""

    host_managed_imex: bool = False
    """Whether your machines run nvidia-imex themselves (driver 0.5.0, gate HostManagedIMEXDaemon).
    Default false: the driver runs it for each ComputeDomain."""
    device_taints: Annotated[tuple[DeviceTaint, ...], Field(max_length=64)] = ()
    """DeviceTaintRules. They need DRADeviceTaintRules, on by default in Kubernetes 1.37. Default:
    none."""


class Karpenter(Addon):
    """Karpenter."""

    upgrade_definitions: bool = False
    """Whether its definitions are a separate release (chart karpenter-crd), upgraded with the
    chart. If the chart installed them before, transfer them to Helm first (docs/karpenter.md).
    Default false: the definitions of the first installed version stay."""
    node_overlay: bool | None = None
    """Whether its feature gate NodeOverlay is on, which pools need that share or partition GPUs or
    have parts of GPUs. Default: on with `ownership: managed`; needed for an existing Karpenter."""
    access_entry: bool | None = None
    """EKS: whether an access entry lets its machines, which have the connection's node role, join
    the cluster. Default: true if Karpenter creates the nodes of all pools; with a managed node
    group of the same role EKS creates the entry. Write false if the role already has one. With
    `autoMode` pools, true creates the entry that their nodes need, and the default is false: EKS
    created one for the node role of the cluster's own node pools."""


class Expander(StrEnum):
    """How Cluster Autoscaler chooses among suitable node groups."""

    LEAST_WASTE = "least-waste"
    """The group with the least idle capacity after scale-up."""
    PRIORITY = "priority"
    """By the pools' capacity types: reserved, then spot, then on demand."""


class ClusterAutoscaler(Addon):
    """Cluster Autoscaler."""

    expander: Expander = Expander.LEAST_WASTE
    """Default least-waste, the program's own default."""
    provisioning_requests: bool | None = None
    """Whether it handles ProvisioningRequests, which start all nodes of a job at once. Default:
    true if a queue creates them."""
    scale_down_gpu_utilization_threshold: float = Field(default=0.5, gt=0, le=1)
    """A GPU node may be removed while the requested share of its GPUs is below this, more than 0,
    at most 1. Default 0.5. CPU and memory do not count on GPU nodes."""


class NeuronDevicePlugin(Addon):
    """AWS Neuron's device plugin, its scheduler extension and its watch on device errors."""

    scheduler: bool = True
    """Run the scheduler extension: pods that take several devices or cores of a node name its
    scheduler, and get adjacent ones. Default true."""
    node_problem_detector: bool = True
    """Monitor errors of the devices. Default true, as in the chart."""
    node_recovery: bool = False
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""


class GpuNetworks(SpecModel):
    """Networks of GPU interfaces that are created with the fleet."""

    cidr: str = Field(default="192.168.0.0/16", max_length=18)
    """Private IPv4 range of all of them, /8 to /20, outside the cluster's own ranges. Default
    192.168.0.0/16. A change creates new networks, and with them new node pools."""


class GpuDirect(SpecModel):
    """Software for GPUDirect on nodes of GKE."""

    enabled: bool = True
    """Install Google's plugins of NCCL, and its device injector, on nodes of pools with a `fabric`.
    Default true; write false if Google's own manifests are already applied."""
    networks: GpuNetworks | None = None
    """Create the networks of GPU interfaces that pools with a `fabric` need: `{}` for the default
    range. Default: they are given in `connection.gpuNetworks`."""


class DriverInstaller(SpecModel):
    """Google's installer of NVIDIA's driver on GKE."""

    enabled: bool = True
    """Install the driver on Container-Optimized OS, on nodes of pools with `gke: {driver:
    gpuOperator}`. Default true; write false if Google's own manifest is already applied."""


class ChartSource(OneOf):
    """Source of charts: exactly one. Default: each vendor's own repository."""

    example: ClassVar[str] = "repository: https://charts.example.com"

    repository: str | None = Field(default=None, min_length=1)
    """Helm repository that mirrors all charts, `https://charts.example.com`."""
    oci: str | None = Field(default=None, min_length=1)
    """OCI registry path, `oci://registry.example.com/charts`."""
    folder: str | None = Field(default=None, min_length=1)
    """Folder with one sub-folder per chart, as the sandbox and air-gapped sites use."""


class Charts(SpecModel):
    """One setting for all charts."""

    source: ChartSource | None = None
    """Default: each vendor's own repository."""


class Addons(SpecModel):
    """Overrides of the add-ons that the pools imply. Usually empty."""

    gpu_operator: GpuOperator = Field(default_factory=GpuOperator)
    """NVIDIA GPU Operator. Default: as the pools need it."""
    network_operator: NetworkOperator = Field(default_factory=NetworkOperator)
    """NVIDIA Network Operator. Default: with RDMA pools."""
    device_plugin: DevicePlugin = Field(default_factory=DevicePlugin)
    """NVIDIA's device plugin without the GPU Operator. Default: off, the operator includes it."""
    dra_driver: DraDriverAddon = Field(default_factory=DraDriverAddon)
    """NVIDIA DRA driver. Default: with `dra` pools."""
    karpenter: Karpenter = Field(default_factory=Karpenter)
    """Karpenter. Default: with pools it provisions."""
    cluster_autoscaler: ClusterAutoscaler = Field(default_factory=ClusterAutoscaler)
    """Cluster Autoscaler. Default: with pools it provisions."""
    efa_device_plugin: Addon = Field(default_factory=Addon)
    """AWS EFA device plugin. Default: with pools of `fabric: efa`."""
    node_monitoring_agent: Addon = Field(default_factory=Addon)
    """EKS node monitoring agent, which reports broken GPUs to node repair; `version` is that of the
    EKS add-on. Default: with pools whose nodes are repaired."""
    neuron_device_plugin: NeuronDevicePlugin = Field(default_factory=NeuronDevicePlugin)
    """AWS Neuron's device plugin. Default: with pools of Trainium or Inferentia."""
    gpu_direct: GpuDirect = Field(default_factory=GpuDirect)
    """Only on GKE: plugins of NCCL and the device injector. Default: with pools of a `fabric`."""
    driver_installer: DriverInstaller = Field(default_factory=DriverInstaller)
    """Only on GKE: Google's installer of the driver. Default: with pools that need it."""
    kueue: Addon = Field(default_factory=Addon)
    """Kueue. Default: with `queues`."""
    keda: Addon = Field(default_factory=Addon)
    """KEDA. Default: off."""
    olm: LifecycleManager = Field(default_factory=LifecycleManager)
    """Only on OpenShift: installation of operators. Default: pinned versions from the catalogues
    that every cluster has."""
    charts: Charts = Field(default_factory=Charts)
    """Source of charts. Default: each vendor's repository."""
    images: Images = Field(default_factory=Images)
    """Source of images, and the proxy. Default: each vendor's registry."""
