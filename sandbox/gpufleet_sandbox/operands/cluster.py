"""State of the cluster at one moment: the plain data on which every operand decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet_sandbox.operands.cluster_policy import ClusterPolicy
from gpufleet_sandbox.operands.dra_driver import SimulatedDraDriver
from gpufleet_sandbox.operands.neuron import NeuronPlugin
from gpufleet_sandbox.operands.plugin_chart import PluginChart
from gpufleet_sandbox.operands.rdma_plugin import RdmaPlugin


@dataclass(frozen=True, slots=True)
class NodeView:
    """One Node object, reduced to what matters."""

    name: str
    uid: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Settings of all nodes."""

    policy: ClusterPolicy | None
    operator_namespace: str | None
    """Namespace of the operator's Deployment; None: no operator, nothing acts on the policy."""
    feature_discovery: bool
    """Whether Node Feature Discovery is deployed."""
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """ConfigMaps of the operator's namespace: name -> data."""
    dra: SimulatedDraDriver | None = None
    """The DRA driver, where its chart is installed and serves GPUs."""
    plugin_chart: PluginChart | None = None
    """The device plugin's own chart, where it is installed."""
    rdma: RdmaPlugin | None = None
    """The RDMA shared device plugin, where the Network Operator deploys it."""
    neuron: NeuronPlugin | None = None
    """Neuron's device plugin, where its chart is installed."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell: an Event on the Node and a line in the log."""

    reason: str
    message: str
    warning: bool = False


@dataclass(slots=True)
class Decision:
    """Changes for one node. A value of None removes the key."""

    labels: dict[str, str | None] = field(default_factory=dict)
    annotations: dict[str, str | None] = field(default_factory=dict)
    resources: dict[str, str | None] = field(default_factory=dict)
    """For capacity and allocatable."""
    notices: list[Notice] = field(default_factory=list)
    again_after: float | None = None
    """Seconds until the node must be looked at again."""
    healthy: bool = True
    """False: an operand that should run on the node does not."""
