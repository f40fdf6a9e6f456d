"""Inputs of components: what restates `gpufleet.spec.pool`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.acceptance import AcceptancePolicyArgs
from gpufleet.arguments.capacity import CapacityArgs, MaintenanceWindowArgs, TeamCommitmentArgs
from gpufleet.arguments.eks import EksOptionsArgs
from gpufleet.arguments.existing import ExistingOptionsArgs
from gpufleet.arguments.gke import GkeOptionsArgs
from gpufleet.arguments.health import HealthPolicyArgs
from gpufleet.arguments.idle import IdlePolicyArgs
from gpufleet.arguments.karpenter import KarpenterPoolOptionsArgs
from gpufleet.arguments.kubelet import KubeletArgs
from gpufleet.arguments.neuron import NeuronOptionsArgs
from gpufleet.arguments.openshift import OpenShiftOptionsArgs
from gpufleet.arguments.openshift_aws import OpenShiftAwsOptionsArgs
from gpufleet.arguments.openshift_gcp import OpenShiftGcpOptionsArgs
from gpufleet.arguments.sharing import SharingArgs
from gpufleet.arguments.vsphere import VsphereOptionsArgs
from gpufleet.arguments.words import (
    FabricWord,
    IntentWord,
    OwnershipWord,
    ProvisionerWord,
    TaintEffectWord,
)


class NodesArgs(TypedDict):
    """Possible numbers of nodes of the pool."""

    min: int
    """Minimum number of nodes, 0 to 10000."""
    max: int
    """Maximum number of nodes, 1 to 10000. There is no default: an unbounded pool has an
    unbounded cost."""
    expected: NotRequired[int]
    """Number of nodes in an average hour, for the expected spend. Default: the middle of min and
    max, rounded up."""


class DiskArgs(TypedDict):
    """Root disk of each node."""

    size_gib: NotRequired[int]
    """50 to 16384 GiB; default 200, because CUDA images do not fit the clouds' own default."""


class LayoutChangeArgs(TypedDict):
    """A change of sharing in progress on running nodes: made in waves, so that other nodes keep
    working. The nodes' present sharing stays applicable until the last wave; then remove the
    section."""

    previous: SharingArgs
    """Sharing of the GPUs until now: nodes of later waves keep it."""
    width: NotRequired[int]
    """Nodes that change at the same time, 1 to 1000. Default 1. Each wave starts when every node
    of the previous one offers the new resources; a node that does not stops the change."""
    waves: NotRequired[int]
    """Waves that this update may make, counted from the start, 0 to 10000: drain the nodes of the
    next wave, raise it, update again. 0 only prepares both ways of sharing. Default: all."""
    timeout_seconds: NotRequired[int]
    """Maximum time for one node to offer the new sharing, 10 to 14400 seconds. Default 1200,
    which includes a reboot."""


class TaintArgs(TypedDict):
    """A taint in addition to the GPU taint of every pool."""

    key: str
    """Key of the taint, such as `example.com/team`."""
    value: NotRequired[str]
    """Default: empty."""
    effect: NotRequired[TaintEffectWord]
    """One of `NoSchedule`, `PreferNoSchedule`, `NoExecute`. In Kubernetes' form; each cloud's own
    form is rendered. Default NoSchedule."""


class GpuPoolArgs(TypedDict):
    """A group of identical GPU nodes."""

    name: str
    """Name of the pool: lower case, starts with a letter, at most 40 characters."""
    gpu: NotRequired[str]
    """GPU key of the catalogue, `L4`, `A100-80GB`. This or `instanceTypes`."""
    instance_types: NotRequired[list[str]]
    """Instance types in order of preference, all with the same GPU and count. At most 20."""
    gpus_per_node: NotRequired[int]
    """GPUs of each node, 1 to 16. Default: as the instance types; with `gpu`, the smallest
    machine of the platform; 1 on own hardware."""
    nodes: NodesArgs
    """How many nodes."""
    intent: NotRequired[IntentWord]
    """One of `training`, `batch`, `inference`, `interactive`. Default inference."""
    provisioner: NotRequired[ProvisionerWord]
    """One of `managed`, `karpenter`, `autoMode`, `clusterAutoscaler`, `computeClass`. Default:
    the fleet's."""
    capacity: NotRequired[list[CapacityArgs]]
    """Capacity types, in order of preference. Default: onDemand in a cloud, onPrem on own
    hardware."""
    sharing: NotRequired[SharingArgs]
    """Default: `exclusive: {}`, whole GPUs."""
    fabric: NotRequired[FabricWord]
    """One of `none`, `efa`, `tcpx`, `tcpxo`, `rdma`. Default none."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    import_id: NotRequired[str]
    """Id of an existing node group to import, only with `ownership: managed`."""
    image: NotRequired[str]
    """Node image key of the catalogue, `al2023-nvidia`, `cos`. Default: the platform's."""
    zones: NotRequired[list[str]]
    """Zones to use. Default: all with subnets in the connection."""
    disk: NotRequired[DiskArgs]
    """Root disk of each node. Default 200 GiB."""
    labels: NotRequired[dict[str, str]]
    """Labels that every node registers with, in addition to those that gpufleet derives."""
    gpu_taint: NotRequired[bool]
    """Whether nodes have the taint `nvidia.com/gpu=present:NoSchedule`. Default true; use false
    only if all nodes of the cluster have GPUs."""
    change: NotRequired[LayoutChangeArgs]
    """A change of `sharing` on nodes that are in use, made in waves. Default: all nodes at
    once."""
    taints: NotRequired[list[TaintArgs]]
    """Taints in addition to `nvidia.com/gpu=present:NoSchedule`, which every GPU pool has."""
    kubelet: NotRequired[KubeletArgs]
    """CPU, memory and topology manager of the nodes' kubelet. Default: the platform's."""
    team: NotRequired[str]
    """Team that pays for the pool. Default: shared by all."""
    maintenance: NotRequired[list[MaintenanceWindowArgs]]
    """Times in which nodes are out of service, at most 100. Default: none."""
    commitments: NotRequired[list[TeamCommitmentArgs]]
    """GPUs promised to teams for a time, at most 200. Default: none, `team` or the shares of
    `queues` decide."""
    health: NotRequired[HealthPolicyArgs]
    """Handling of broken nodes. Default: the fleet's."""
    acceptance: NotRequired[AcceptancePolicyArgs]
    """Tests that its nodes must pass before work. Default: the fleet's."""
    idle: NotRequired[IdlePolicyArgs]
    """Notebooks that are scaled to zero when their GPUs are idle; only with `intent:
    interactive`. Default: nothing is stopped."""
    neuron: NotRequired[NeuronOptionsArgs]
    """Only with Trainium or Inferentia. Default: whole devices."""
    eks: NotRequired[EksOptionsArgs]
    """Only on EKS. Default: none."""
    karpenter: NotRequired[KarpenterPoolOptionsArgs]
    """Only with `provisioner: karpenter` and `autoMode`. Default: by intent."""
    gke: NotRequired[GkeOptionsArgs]
    """Only on GKE. Default: none."""
    vsphere: NotRequired[VsphereOptionsArgs]
    """Only on vSphere, and required there."""
    openshift: NotRequired[OpenShiftOptionsArgs]
    """Only on OpenShift on vSphere, and required there for machines that gpufleet creates."""
    existing: NotRequired[ExistingOptionsArgs]
    """Only for existing nodes. Default: every node with an NVIDIA GPU."""
    openshift_aws: NotRequired[OpenShiftAwsOptionsArgs]
    """Only on OpenShift on AWS. Default: none."""
    openshift_gcp: NotRequired[OpenShiftGcpOptionsArgs]
    """Only on OpenShift on Google Cloud. Default: none."""
