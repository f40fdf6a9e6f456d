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
    VgpuHostDict,
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
    """The GPU driver. Default: installed where an image lacks it."""
    toolkit: NotRequired[ToolkitDict]
    """The container toolkit. Default: installed where an image lacks it."""
    devicePlugin: NotRequired[SwitchArgs]
    """The device plugin. Default: installed where an image lacks it."""
    gpuFeatureDiscovery: NotRequired[SwitchArgs]
    """Labels that describe the GPUs. Default on."""
    migManager: NotRequired[MigManagerDict]
    """The MIG manager. Default: with MIG pools."""
    dcgm: NotRequired[SwitchArgs]
    """A DCGM host engine of its own, next to the one in the exporter. Default off."""
    dcgmExporter: NotRequired[DcgmExporterDict]
    """GPU metrics. Default on."""
    nodeFeatureDiscovery: NotRequired[SwitchArgs]
    """Labels GPU nodes. Default on, unless the Network Operator brings it."""
    cdi: NotRequired[CdiArgs]
    """Default: on, without NRI."""
    gds: NotRequired[SwitchArgs]
    """GPUDirect Storage; needs the open kernel module. Default off."""
    gdrcopy: NotRequired[SwitchArgs]
    """GDRCopy. Default off."""
    gpuCluster: NotRequired[bool]
    """Whether a GPUCluster owns the stack instead of a ClusterPolicy: the operator runs the DRA
    driver, drivers come from NVIDIADriver objects, and there is neither device plugin nor MIG
    manager, so every pool shares by `dra`. From v26.7.0, a technology preview for new clusters of
    Kubernetes 1.34.2 or later. Default false."""
    vgpuHost: NotRequired[VgpuHostDict]
    """Nodes that make vGPUs. Default: none."""
    imagePullSecret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""
    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class NetworkOperatorDict(TypedDict):
    """NVIDIA Network Operator."""

    ofed: NotRequired[OfedWord]
    """One of `inbox`, `operator`, `host`. Who brings DOCA-OFED. Default inbox."""
    ofedDriver: NotRequired[OfedDriverDict]
    """With `ofed: operator`: which driver. Default: the operator release's own."""
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
    """Wait until the NicClusterPolicy is ready before networks and GPU Operator are made. It is
    ready only while a node has an NVIDIA NIC, so: default true when a pool with RDMA exists
    already and has nodes, else false (the operator then goes on by itself once nodes come)."""
    policy: NotRequired[Mapping[str, Any]]
    """Raw spec of the NicClusterPolicy, merged last. Default: none."""
    imagePullSecret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""
    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class DevicePluginDict(TypedDict):
    """NVIDIA's device plugin by its own chart, where no GPU Operator is wanted."""

    gpuFeatureDiscovery: NotRequired[SwitchArgs]
    """Labels that describe the GPUs; MPS needs it. Default on."""
    nodeFeatureDiscovery: NotRequired[SwitchArgs]
    """Labels GPU nodes. Default on, unless another add-on brings it."""
    imagePullSecret: NotRequired[str]
    """Name of the Secret for images. Default: none."""
    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""


class DraDriverAddonDict(TypedDict):
    """NVIDIA's DRA driver."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
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
    """DeviceTaintRules. Need DRADeviceTaintRules, on by default in Kubernetes 1.37. Default:
    none."""


class KarpenterDict(TypedDict):
    """Karpenter."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    upgradeDefinitions: NotRequired[bool]
    """Whether its definitions are a release of their own (chart karpenter-crd), upgraded with the
    chart. Where the chart installed them before, Helm must be given them first
    (docs/karpenter.md). Default false: the first version that was installed stays."""
    nodeOverlay: NotRequired[bool]
    """Whether its feature gate NodeOverlay is on, which pools need that share, cut or have parts
    of GPUs. Default: on with `ownership: managed`; for an existing Karpenter it must be said."""
    accessEntry: NotRequired[bool]
    """EKS: whether an access entry lets its machines, which have the connection's node role, join
    the cluster. Default: where Karpenter makes the nodes of all pools; with a managed node group
    of the same role EKS makes the entry itself. Write false where the role has one. With
    `autoMode` pools true makes the entry that their nodes need, and the default is false: EKS
    made one for the node role of the cluster's own node pools."""


class ClusterAutoscalerDict(TypedDict):
    """Cluster Autoscaler."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    expander: NotRequired[ExpanderWord]
    """One of `least-waste`, `priority`. Default least-waste, the program's own default."""
    provisioningRequests: NotRequired[bool]
    """Whether it answers ProvisioningRequests, which start all nodes of a job at once. Default:
    where a queue makes them."""
    scaleDownGpuUtilizationThreshold: NotRequired[float]
    """A GPU node whose requested share of GPUs is below it may go, more than 0, at most 1.
    Default 0.5. CPU and memory do not count on GPU nodes."""


class NeuronDevicePluginDict(TypedDict):
    """AWS Neuron's device plugin, its scheduler extension and its watch on device errors."""

    enabled: NotRequired[bool]
    """Default: what the pools imply."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    values: NotRequired[Mapping[str, Any]]
    """Raw Helm values, merged last; secrets do not belong here."""
    scheduler: NotRequired[bool]
    """Run the scheduler extension: pods that take several devices or cores of a node name its
    scheduler, and get neighbouring ones. Default true."""
    nodeProblemDetector: NotRequired[bool]
    """Watch the devices' errors. Default true, as the chart has it."""
    nodeRecovery: NotRequired[bool]
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""


class AddonsDict(TypedDict):
    """Overrides of what the pools imply. An empty section is the usual case."""

    gpuOperator: NotRequired[GpuOperatorDict]
    """NVIDIA GPU Operator. Default: as the pools need it."""
    networkOperator: NotRequired[NetworkOperatorDict]
    """NVIDIA Network Operator. Default: with RDMA pools."""
    devicePlugin: NotRequired[DevicePluginDict]
    """NVIDIA's device plugin without the GPU Operator. Default: off, the operator brings it."""
    draDriver: NotRequired[DraDriverAddonDict]
    """NVIDIA DRA driver. Default: with `dra` pools."""
    karpenter: NotRequired[KarpenterDict]
    """Karpenter. Default: with pools it provisions."""
    clusterAutoscaler: NotRequired[ClusterAutoscalerDict]
    """Cluster Autoscaler. Default: with pools it provisions."""
    efaDevicePlugin: NotRequired[AddonArgs]
    """AWS EFA device plugin. Default: with pools of `fabric: efa`."""
    nodeMonitoringAgent: NotRequired[AddonArgs]
    """EKS node monitoring agent, which tells node repair of broken GPUs; `version` is that of the
    EKS add-on. Default: with pools whose nodes are repaired."""
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
    """Only on OpenShift: how operators get into the cluster. Default: pinned versions from the
    catalogues that every cluster has."""
    charts: NotRequired[ChartsArgs]
    """Where charts come from. Default: each vendor's repository."""
    images: NotRequired[ImagesArgs]
    """Where images come from, and by which proxy. Default: each vendor's registry."""
