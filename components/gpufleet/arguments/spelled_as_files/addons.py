"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.addons`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.addons import AddonArgs, ChartsArgs, DriverInstallerArgs, GpuDirectArgs
from gpufleet.arguments.device_needs import DeviceTaintArgs
from gpufleet.arguments.gpu_operator import CdiArgs, SwitchArgs
from gpufleet.arguments.images import ImagesArgs
from gpufleet.arguments.network_operator import IpoibNetworkArgs, MacvlanNetworkArgs
from gpufleet.arguments.spelled_as_files.gpu_operator import (
    DcgmExporterDict,
    DriverDict,
    MigManagerDict,
    ToolkitDict,
)
from gpufleet.arguments.spelled_as_files.network_operator import (
    HostDeviceNetworkDict,
    OfedDriverDict,
    RdmaResourceDict,
    SriovResourceDict,
)
from gpufleet.arguments.spelled_as_files.olm import LifecycleManagerDict
from gpufleet.arguments.words import ExpanderWord, OfedWord, OwnershipWord


class GpuOperatorDict(TypedDict):
    """NVIDIA GPU Operator."""

    driver: NotRequired[DriverDict]
    """The GPU driver. Default: installed if the image lacks it."""
    toolkit: NotRequired[ToolkitDict]
    """The container toolkit. Default: installed if the image lacks it."""
    devicePlugin: NotRequired[SwitchArgs]
    """The device plugin. Default: installed if the image lacks it."""
    gpuFeatureDiscovery: NotRequired[SwitchArgs]
    """Labels that describe the GPUs. Default on."""
    migManager: NotRequired[MigManagerDict]
    """The MIG manager. Default: with MIG pools."""
    dcgm: NotRequired[SwitchArgs]
    """A separate DCGM host engine, in addition to the one in the exporter. Default off."""
    dcgmExporter: NotRequired[DcgmExporterDict]
    """GPU metrics. Default on."""
    nodeFeatureDiscovery: NotRequired[SwitchArgs]
    """Labels GPU nodes. Default on, unless the Network Operator includes it."""
    cdi: NotRequired[CdiArgs]
    """Default: on, without NRI."""
    gds: NotRequired[SwitchArgs]
    """GPUDirect Storage; needs the open kernel module. Default off."""
    gdrcopy: NotRequired[SwitchArgs]
    """GDRCopy. Default off."""
    gpuCluster: NotRequired[bool]
    """Whether a GPUCluster owns the stack instead of a ClusterPolicy: the operator runs the DRA
    driver, drivers come from NVIDIADriver objects, and neither device plugin nor MIG manager is
    installed, so every pool shares by `dra`. From v26.7.0, a technology preview for new clusters
    of Kubernetes 1.34.2 or later. Default false."""
    imagePullSecret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""
    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class NetworkOperatorDict(TypedDict):
    """NVIDIA Network Operator."""

    ofed: NotRequired[OfedWord]
    """One of `inbox`, `operator`, `host`. Source of DOCA-OFED. Default inbox."""
    ofedDriver: NotRequired[OfedDriverDict]
    """With `ofed: operator`: the driver. Default: the operator release's own."""
    rdma: NotRequired[Sequence[RdmaResourceDict]]
    """Resources of the RDMA shared device plugin. Default: `rdma_shared_device_a` with RDMA pools
    and no `sriov`, else none."""
    sriov: NotRequired[Sequence[SriovResourceDict]]
    """Resources of the SR-IOV device plugin. Default: none."""
    macvlan: NotRequired[Sequence[MacvlanNetworkArgs]]
    """MacvlanNetworks. Default: none."""
    hostDevice: NotRequired[Sequence[HostDeviceNetworkDict]]
    """HostDeviceNetworks. Default: none."""
    ipoib: NotRequired[Sequence[IpoibNetworkArgs]]
    """IPoIBNetworks. Default: none."""
    wait: NotRequired[bool]
    """Wait until the NicClusterPolicy is ready before networks and GPU Operator are created. It
    is ready only while a node has an NVIDIA NIC. Default: true if a pool with RDMA already exists
    with nodes, else false (the operator then continues once nodes exist)."""
    policy: NotRequired[Mapping[str, Any]]
    """Raw spec of the NicClusterPolicy, merged last. Default: none."""
    imagePullSecret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""
    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class DevicePluginDict(TypedDict):
    """NVIDIA's device plugin by its own chart, for clusters without the GPU Operator."""

    gpuFeatureDiscovery: NotRequired[SwitchArgs]
    """Labels that describe the GPUs; MPS needs it. Default on."""
    nodeFeatureDiscovery: NotRequired[SwitchArgs]
    """Labels GPU nodes. Default on, unless another add-on includes it."""
    imagePullSecret: NotRequired[str]
    """Name of the Secret for images. Default: none."""
    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class DraDriverAddonDict(TypedDict):
    """NVIDIA's DRA driver."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    hostManagedImex: NotRequired[bool]
    """Whether your machines run nvidia-imex themselves (driver 0.5.0, gate
    HostManagedIMEXDaemon). Default false: the driver runs it for each ComputeDomain."""
    deviceTaints: NotRequired[Sequence[DeviceTaintArgs]]
    """DeviceTaintRules. They need DRADeviceTaintRules, on by default in Kubernetes 1.37. Default:
    none."""


class KarpenterDict(TypedDict):
    """Karpenter."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    upgradeDefinitions: NotRequired[bool]
    """Whether its definitions are a separate release (chart karpenter-crd), upgraded with the
    chart. If the chart installed them before, transfer them to Helm first (docs/karpenter.md).
    Default false: the definitions of the first installed version stay."""
    nodeOverlay: NotRequired[bool]
    """Whether its feature gate NodeOverlay is on, which pools need that share or partition GPUs
    or have parts of GPUs. Default: on with `ownership: managed`; needed for an existing
    Karpenter."""
    accessEntry: NotRequired[bool]
    """EKS: whether an access entry lets its machines, which have the connection's node role, join
    the cluster. Default: true if Karpenter creates the nodes of all pools; with a managed node
    group of the same role EKS creates the entry. Write false if the role already has one. With
    `autoMode` pools, true creates the entry that their nodes need, and the default is false: EKS
    created one for the node role of the cluster's own node pools."""


class ClusterAutoscalerDict(TypedDict):
    """Cluster Autoscaler."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    expander: NotRequired[ExpanderWord]
    """One of `least-waste`, `priority`. Default least-waste, the program's own default."""
    provisioningRequests: NotRequired[bool]
    """Whether it handles ProvisioningRequests, which start all nodes of a job at once. Default:
    true if a queue creates them."""
    scaleDownGpuUtilizationThreshold: NotRequired[float]
    """A GPU node may be removed while the requested share of its GPUs is below this, more than 0,
    at most 1. Default 0.5. CPU and memory do not count on GPU nodes."""


class NeuronDevicePluginDict(TypedDict):
    """AWS Neuron's device plugin, its scheduler extension and its watch on device errors."""

    enabled: NotRequired[bool]
    """Default: as the pools require."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    scheduler: NotRequired[bool]
    """Run the scheduler extension: pods that take several devices or cores of a node name its
    scheduler, and get adjacent ones. Default true."""
    nodeProblemDetector: NotRequired[bool]
    """Monitor errors of the devices. Default true, as in the chart."""
    nodeRecovery: NotRequired[bool]
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""


class AddonsDict(TypedDict):
    """Overrides of the add-ons that the pools imply. Usually empty."""

    gpuOperator: NotRequired[GpuOperatorDict]
    """NVIDIA GPU Operator. Default: as the pools need it."""
    networkOperator: NotRequired[NetworkOperatorDict]
    """NVIDIA Network Operator. Default: with RDMA pools."""
    devicePlugin: NotRequired[DevicePluginDict]
    """NVIDIA's device plugin without the GPU Operator. Default: off, the operator includes it."""
    draDriver: NotRequired[DraDriverAddonDict]
    """NVIDIA DRA driver. Default: with `dra` pools."""
    karpenter: NotRequired[KarpenterDict]
    """Karpenter. Default: with pools it provisions."""
    clusterAutoscaler: NotRequired[ClusterAutoscalerDict]
    """Cluster Autoscaler. Default: with pools it provisions."""
    efaDevicePlugin: NotRequired[AddonArgs]
    """AWS EFA device plugin. Default: with pools of `fabric: efa`."""
    nodeMonitoringAgent: NotRequired[AddonArgs]
    """EKS node monitoring agent, which reports broken GPUs to node repair; `version` is that of
    the EKS add-on. Default: with pools whose nodes are repaired."""
    neuronDevicePlugin: NotRequired[NeuronDevicePluginDict]
    """AWS Neuron's device plugin. Default: with pools of Trainium or Inferentia."""
    gpuDirect: NotRequired[GpuDirectArgs]
    """Only on GKE: plugins of NCCL and the device injector. Default: with pools of a `fabric`."""
    driverInstaller: NotRequired[DriverInstallerArgs]
    """Only on GKE: Google's installer of the driver. Default: with pools that need it."""
    kueue: NotRequired[AddonArgs]
    """Kueue. Default: with `queues`."""
    keda: NotRequired[AddonArgs]
    """KEDA. Default: off."""
    olm: NotRequired[LifecycleManagerDict]
    """Only on OpenShift: installation of operators. Default: pinned versions from the catalogues
    that every cluster has."""
    charts: NotRequired[ChartsArgs]
    """Source of charts. Default: each vendor's repository."""
    images: NotRequired[ImagesArgs]
    """Source of images, and the proxy. Default: each vendor's registry."""
