"""Inputs of components: what restates `gpufleet.spec.addons`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.device_needs import DeviceTaintArgs
from gpufleet.arguments.gpu_operator import (
    CdiArgs,
    DcgmExporterArgs,
    DriverArgs,
    MigManagerArgs,
    SwitchArgs,
    ToolkitArgs,
)
from gpufleet.arguments.images import ImagesArgs
from gpufleet.arguments.network_operator import (
    HostDeviceNetworkArgs,
    IpoibNetworkArgs,
    MacvlanNetworkArgs,
    OfedDriverArgs,
    RdmaResourceArgs,
    SriovResourceArgs,
)
from gpufleet.arguments.olm import LifecycleManagerArgs
from gpufleet.arguments.words import ExpanderWord, OfedWord, OwnershipWord


class GpuOperatorOptionsArgs(TypedDict):
    """NVIDIA GPU Operator."""

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
    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class NetworkOperatorOptionsArgs(TypedDict):
    """NVIDIA Network Operator."""

    ofed: NotRequired[OfedWord]
    """One of `inbox`, `operator`, `host`. Source of DOCA-OFED. Default inbox."""
    ofed_driver: NotRequired[OfedDriverArgs]
    """With `ofed: operator`: the driver. Default: the operator release's own."""
    rdma: NotRequired[list[RdmaResourceArgs]]
    """Resources of the RDMA shared device plugin. Default: `rdma_shared_device_a` with RDMA pools
    and no `sriov`, else none."""
    sriov: NotRequired[list[SriovResourceArgs]]
    """Resources of the SR-IOV device plugin. Default: none."""
    macvlan: NotRequired[list[MacvlanNetworkArgs]]
    """MacvlanNetworks. Default: none."""
    host_device: NotRequired[list[HostDeviceNetworkArgs]]
    """HostDeviceNetworks. Default: none."""
    ipoib: NotRequired[list[IpoibNetworkArgs]]
    """IPoIBNetworks. Default: none."""
    wait: NotRequired[bool]
    """Wait until the NicClusterPolicy is ready before networks and GPU Operator are created. It
    is ready only while a node has an NVIDIA NIC. Default: true if a pool with RDMA already exists
    with nodes, else false (the operator then continues once nodes exist)."""
    policy: NotRequired[dict[str, Any]]
    """Raw spec of the NicClusterPolicy, merged last. Default: none."""
    image_pull_secret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""
    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class DevicePluginOptionsArgs(TypedDict):
    """NVIDIA's device plugin by its own chart, for clusters without the GPU Operator."""

    gpu_feature_discovery: NotRequired[SwitchArgs]
    """Labels that describe the GPUs; MPS needs it. Default on."""
    node_feature_discovery: NotRequired[SwitchArgs]
    """Labels GPU nodes. Default on, unless another add-on includes it."""
    image_pull_secret: NotRequired[str]
    """Name of the Secret for images. Default: none."""
    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class DraDriverAddonArgs(TypedDict):
    """NVIDIA's DRA driver."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    host_managed_imex: NotRequired[bool]
    """Whether your machines run nvidia-imex themselves (driver 0.5.0, gate
    HostManagedIMEXDaemon). Default false: the driver runs it for each ComputeDomain."""
    device_taints: NotRequired[list[DeviceTaintArgs]]
    """DeviceTaintRules. They need DRADeviceTaintRules, on by default in Kubernetes 1.37. Default:
    none."""


class KarpenterOptionsArgs(TypedDict):
    """Karpenter."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    upgrade_definitions: NotRequired[bool]
    """Whether its definitions are a separate release (chart karpenter-crd), upgraded with the
    chart. If the chart installed them before, transfer them to Helm first (docs/karpenter.md).
    Default false: the definitions of the first installed version stay."""
    node_overlay: NotRequired[bool]
    """Whether its feature gate NodeOverlay is on, which pools need that share or partition GPUs
    or have parts of GPUs. Default: on with `ownership: managed`; needed for an existing
    Karpenter."""
    access_entry: NotRequired[bool]
    """EKS: whether an access entry lets its machines, which have the connection's node role, join
    the cluster. Default: true if Karpenter creates the nodes of all pools; with a managed node
    group of the same role EKS creates the entry. Write false if the role already has one. With
    `autoMode` pools, true creates the entry that their nodes need, and the default is false: EKS
    created one for the node role of the cluster's own node pools."""


class ClusterAutoscalerOptionsArgs(TypedDict):
    """Cluster Autoscaler."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    expander: NotRequired[ExpanderWord]
    """One of `least-waste`, `priority`. Default least-waste, the program's own default."""
    provisioning_requests: NotRequired[bool]
    """Whether it handles ProvisioningRequests, which start all nodes of a job at once. Default:
    true if a queue creates them."""
    scale_down_gpu_utilization_threshold: NotRequired[float]
    """A GPU node may be removed while the requested share of its GPUs is below this, more than 0,
    at most 1. Default 0.5. CPU and memory do not count on GPU nodes."""


class AddonArgs(TypedDict):
    """One operator or controller."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class NeuronDevicePluginOptionsArgs(TypedDict):
    """AWS Neuron's device plugin, its scheduler extension and its watch on device errors."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    scheduler: NotRequired[bool]
    """Run the scheduler extension: pods that take several devices or cores of a node name its
    scheduler, and get adjacent ones. Default true."""
    node_problem_detector: NotRequired[bool]
    """Monitor errors of the devices. Default true, as in the chart."""
    node_recovery: NotRequired[bool]
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""


class GpuNetworksArgs(TypedDict):
    """Networks of GPU interfaces that are created with the fleet."""

    cidr: NotRequired[str]
    """Private IPv4 range of all of them, /8 to /20, outside the cluster's own ranges. Default
    192.168.0.0/16. A change creates new networks, and with them new node pools."""


class GpuDirectArgs(TypedDict):
    """Software for GPUDirect on nodes of GKE."""

    enabled: NotRequired[bool]
    """Install Google's plugins of NCCL, and its device injector, on nodes of pools with a
    `fabric`. Default true; write false if Google's own manifests are already applied."""
    networks: NotRequired[GpuNetworksArgs]
    """Create the networks of GPU interfaces that pools with a `fabric` need: `{}` for the default
    range. Default: they are given in `connection.gpuNetworks`."""


class DriverInstallerArgs(TypedDict):
    """Google's installer of NVIDIA's driver on GKE."""

    enabled: NotRequired[bool]
    """Install the driver on Container-Optimized OS, on nodes of pools with `gke: {driver:
    gpuOperator}`. Default true; write false if Google's own manifest is already applied."""


class ChartSourceArgs(TypedDict):
    """Source of charts: exactly one. Default: each vendor's own repository."""

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
    """Overrides of the add-ons that the pools imply. Usually empty."""

    gpu_operator: NotRequired[GpuOperatorOptionsArgs]
    """NVIDIA GPU Operator. Default: as the pools need it."""
    network_operator: NotRequired[NetworkOperatorOptionsArgs]
    """NVIDIA Network Operator. Default: with RDMA pools."""
    device_plugin: NotRequired[DevicePluginOptionsArgs]
    """NVIDIA's device plugin without the GPU Operator. Default: off, the operator includes it."""
    dra_driver: NotRequired[DraDriverAddonArgs]
    """NVIDIA DRA driver. Default: with `dra` pools."""
    karpenter: NotRequired[KarpenterOptionsArgs]
    """Karpenter. Default: with pools it provisions."""
    cluster_autoscaler: NotRequired[ClusterAutoscalerOptionsArgs]
    """Cluster Autoscaler. Default: with pools it provisions."""
    efa_device_plugin: NotRequired[AddonArgs]
    """AWS EFA device plugin. Default: with pools of `fabric: efa`."""
    node_monitoring_agent: NotRequired[AddonArgs]
    """EKS node monitoring agent, which reports broken GPUs to node repair; `version` is that of
    the EKS add-on. Default: with pools whose nodes are repaired."""
    neuron_device_plugin: NotRequired[NeuronDevicePluginOptionsArgs]
    """AWS Neuron's device plugin. Default: with pools of Trainium or Inferentia."""
    gpu_direct: NotRequired[GpuDirectArgs]
    """Only on GKE: plugins of NCCL and the device injector. Default: with pools of a `fabric`."""
    driver_installer: NotRequired[DriverInstallerArgs]
    """Only on GKE: Google's installer of the driver. Default: with pools that need it."""
    kueue: NotRequired[AddonArgs]
    """Kueue. Default: with `queues`."""
    keda: NotRequired[AddonArgs]
    """KEDA. Default: off."""
    olm: NotRequired[LifecycleManagerArgs]
    """Only on OpenShift: installation of operators. Default: pinned versions from the catalogues
    that every cluster has."""
    charts: NotRequired[ChartsArgs]
    """Source of charts. Default: each vendor's repository."""
    images: NotRequired[ImagesArgs]
    """Source of images, and the proxy. Default: each vendor's registry."""
