"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.pool`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.capacity import MaintenanceWindowArgs
from gpufleet.arguments.neuron import NeuronOptionsArgs
from gpufleet.arguments.pool import NodesArgs, TaintArgs
from gpufleet.arguments.spelled_as_files.acceptance import AcceptancePolicyDict
from gpufleet.arguments.spelled_as_files.capacity import CapacityDict, TeamCommitmentDict
from gpufleet.arguments.spelled_as_files.eks import EksOptionsDict
from gpufleet.arguments.spelled_as_files.existing import ExistingOptionsDict
from gpufleet.arguments.spelled_as_files.gke import GkeOptionsDict
from gpufleet.arguments.spelled_as_files.health import HealthPolicyDict
from gpufleet.arguments.spelled_as_files.idle import IdlePolicyDict
from gpufleet.arguments.spelled_as_files.karpenter import KarpenterPoolOptionsDict
from gpufleet.arguments.spelled_as_files.kubelet import KubeletDict
from gpufleet.arguments.spelled_as_files.openshift import OpenShiftOptionsDict
from gpufleet.arguments.spelled_as_files.openshift_aws import OpenShiftAwsOptionsDict
from gpufleet.arguments.spelled_as_files.openshift_gcp import OpenShiftGcpOptionsDict
from gpufleet.arguments.spelled_as_files.sharing import SharingDict
from gpufleet.arguments.spelled_as_files.vsphere import VsphereOptionsDict
from gpufleet.arguments.words import FabricWord, IntentWord, OwnershipWord, ProvisionerWord


class DiskDict(TypedDict):
    """Root disk of each node."""

    sizeGib: NotRequired[int]
    """50 to 16384 GiB; default 200, because CUDA images do not fit the clouds' own default."""


class LayoutChangeDict(TypedDict):
    """A change of sharing in progress on running nodes: made in waves, so that other nodes keep
    working. The nodes' present sharing stays applicable until the last wave; then remove the
    section."""

    previous: SharingDict
    """Sharing of the GPUs until now: nodes of later waves keep it."""
    width: NotRequired[int]
    """Nodes that change at the same time, 1 to 1000. Default 1. Each wave starts when every node
    of the previous one offers the new resources; a node that does not stops the change."""
    waves: NotRequired[int]
    """Waves that this update may make, counted from the start, 0 to 10000: drain the nodes of the
    next wave, raise it, update again. 0 only prepares both ways of sharing. Default: all."""
    timeoutSeconds: NotRequired[int]
    """Maximum time for one node to offer the new sharing, 10 to 14400 seconds. Default 1200,
    which includes a reboot."""


class GpuPoolDict(TypedDict):
    """A group of identical GPU nodes."""

    name: str
    """Name of the pool: lower case, starts with a letter, at most 40 characters."""
    gpu: NotRequired[str]
    """GPU key of the catalogue, `L4`, `A100-80GB`. This or `instanceTypes`."""
    instanceTypes: NotRequired[Sequence[str]]
    """Instance types in order of preference, all with the same GPU and count. At most 20."""
    gpusPerNode: NotRequired[int]
    """GPUs of each node, 1 to 16. Default: as the instance types; with `gpu`, the smallest
    machine of the platform; 1 on own hardware."""
    nodes: NodesArgs
    """How many nodes."""
    intent: NotRequired[IntentWord]
    """One of `training`, `batch`, `inference`, `interactive`. Default inference."""
    provisioner: NotRequired[ProvisionerWord]
    """One of `managed`, `karpenter`, `autoMode`, `clusterAutoscaler`, `computeClass`. Default:
    the fleet's."""
    capacity: NotRequired[Sequence[CapacityDict]]
    """Capacity types, in order of preference. Default: onDemand in a cloud, onPrem on own
    hardware."""
    sharing: NotRequired[SharingDict]
    """Default: `exclusive: {}`, whole GPUs."""
    fabric: NotRequired[FabricWord]
    """One of `none`, `efa`, `tcpx`, `tcpxo`, `rdma`. Default none."""
    ownership: NotRequired[OwnershipWord]
    """One of `managed`, `existing`, `gitops`. Default managed."""
    importId: NotRequired[str]
    """Id of an existing node group to import, only with `ownership: managed`."""
    image: NotRequired[str]
    """Node image key of the catalogue, `al2023-nvidia`, `cos`. Default: the platform's."""
    zones: NotRequired[Sequence[str]]
    """Zones to use. Default: all with subnets in the connection."""
    disk: NotRequired[DiskDict]
    """Root disk of each node. Default 200 GiB."""
    labels: NotRequired[Mapping[str, str]]
    """Labels that every node registers with, in addition to those that gpufleet derives."""
    gpuTaint: NotRequired[bool]
    """Whether nodes have the taint `nvidia.com/gpu=present:NoSchedule`. Default true; use false
    only if all nodes of the cluster have GPUs."""
    change: NotRequired[LayoutChangeDict]
    """A change of `sharing` on nodes that are in use, made in waves. Default: all nodes at
    once."""
    taints: NotRequired[Sequence[TaintArgs]]
    """Taints in addition to `nvidia.com/gpu=present:NoSchedule`, which every GPU pool has."""
    kubelet: NotRequired[KubeletDict]
    """CPU, memory and topology manager of the nodes' kubelet. Default: the platform's."""
    team: NotRequired[str]
    """Team that pays for the pool. Default: shared by all."""
    maintenance: NotRequired[Sequence[MaintenanceWindowArgs]]
    """Times in which nodes are out of service, at most 100. Default: none."""
    commitments: NotRequired[Sequence[TeamCommitmentDict]]
    """GPUs promised to teams for a time, at most 200. Default: none, `team` or the shares of
    `queues` decide."""
    health: NotRequired[HealthPolicyDict]
    """Handling of broken nodes. Default: the fleet's."""
    acceptance: NotRequired[AcceptancePolicyDict]
    """Tests that its nodes must pass before work. Default: the fleet's."""
    idle: NotRequired[IdlePolicyDict]
    """Notebooks that are scaled to zero when their GPUs are idle; only with `intent:
    interactive`. Default: nothing is stopped."""
    neuron: NotRequired[NeuronOptionsArgs]
    """Only with Trainium or Inferentia. Default: whole devices."""
    eks: NotRequired[EksOptionsDict]
    """Only on EKS. Default: none."""
    karpenter: NotRequired[KarpenterPoolOptionsDict]
    """Only with `provisioner: karpenter` and `autoMode`. Default: by intent."""
    gke: NotRequired[GkeOptionsDict]
    """Only on GKE. Default: none."""
    vsphere: NotRequired[VsphereOptionsDict]
    """Only on vSphere, and required there."""
    openshift: NotRequired[OpenShiftOptionsDict]
    """Only on OpenShift on vSphere, and required there for machines that gpufleet creates."""
    existing: NotRequired[ExistingOptionsDict]
    """Only for existing nodes. Default: every node with an NVIDIA GPU."""
    openshiftAws: NotRequired[OpenShiftAwsOptionsDict]
    """Only on OpenShift on AWS. Default: none."""
    openshiftGcp: NotRequired[OpenShiftGcpOptionsDict]
    """Only on OpenShift on Google Cloud. Default: none."""
