"""ChangePlan: what it takes to get from one fleet to another. Plain frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from gpufleet.findings import Finding, has_errors
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.rollout import Rollout


class NodeChangeKind(StrEnum):
    """What happens to the nodes of a pool."""

    ADDED = "added"
    REMOVED = "removed"
    UNTOUCHED = "untouched"
    """Nothing that is rendered or registered for it differs."""
    LIVE = "live"
    """Its nodes stay; only settings differ that change while they run."""
    UNKNOWN = "unknown"
    """Something differs of which it is not known what it does to nodes."""
    RESTART = "restart"
    """Each machine is powered off and on."""
    PLUGIN = "plugin"
    """The device plugin restarts with another configuration; running pods keep their GPUs."""
    RECUT = "recut"
    """The GPUs get another partition or sharing: every pod on the node has to leave first."""
    CUT_OVER = "cutOver"
    """The GPUs are advertised by the DRA driver instead of the device plugin, or the reverse: every
    pod on the node has to leave first, and each node is changed by itself."""
    NEW_NODES = "newNodes"
    """Nodes are replaced by others, in the order of the one who provisions them."""
    NEW_POOL = "newPool"
    """The platform makes a new pool and deletes the old one."""


class Act(StrEnum):
    """One thing that is done to a node."""

    CORDON = "cordon"
    DRAIN = "drain"
    LABEL = "label"
    RESET = "reset"
    REBOOT = "reboot"
    WAIT = "wait"
    UNCORDON = "uncordon"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a node's change."""

    act: Act
    who: str
    """Who does it: `you`, `pulumi up`, `mig-manager`, `the device plugin`."""
    text: str
    """What is done, and why it must be."""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """What is written differently."""

    field: str
    old: str
    new: str
    leaf_class: LeafClass | None = None
    """What it does; None for a difference that `kind` explains."""
    refusal: str = ""
    """Why the provider refuses it, and what lets it; empty: it does not, or no reason is known."""


class ResourceOperation(StrEnum):
    """What the engine does to one resource."""

    CREATE = "create"
    DELETE = "delete"
    REPLACE = "replace"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """One resource that a pool's nodes are made by, and that differs."""

    resource: str
    """Its kind, and what is apart: `nodeGroup`, `machine/0`."""
    operation: ResourceOperation


@dataclass(frozen=True, slots=True)
class ChangeCapacity:
    """How much of one thing all nodes of a pool offer together, over the change."""

    name: str
    before: int
    lowest: int
    """The least that is offered at any time."""
    after: int


@dataclass(frozen=True, slots=True)
class PoolChange:
    """What happens to one pool."""

    name: str
    path: str
    kind: NodeChangeKind
    differences: tuple[FieldDifference, ...]
    nodes: int
    """Nodes the plan counts on."""
    waves: tuple[tuple[int, ...], ...]
    """Ordinals that change together, wave by wave."""
    steps: tuple[Step, ...]
    """For each node, in order."""
    labels: Mapping[str, str]
    """What each node's labels become. Empty where no node changes in place."""
    gpus: ChangeCapacity
    """Physical GPUs in service."""
    resources: tuple[ChangeCapacity, ...]
    """Extended resources, by name."""
    gpu_hours: Decimal
    """GPU-hours out of service if each node takes as long as expected."""
    gpu_hours_at_most: Decimal
    """The same if each node takes as long as it may before the change stops."""
    rollout: Rollout | None = None
    """Who replaces or restarts the nodes, and in which order, where the waves are not declared."""
    seconds: int = 0
    """Until the last node is back, if all goes well; 0 where no node leaves service."""
    usd: Decimal | None = None
    """What the GPU-hours out of service cost; None without a price."""
    back: str = ""
    """How to go back."""
    inputs: tuple[FieldDifference, ...] = ()
    """What differs in the inputs of the resources that its nodes are made by."""
    engine: tuple[ResourceChange, ...] = ()
    """What `pulumi up` does to those resources."""


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The way from one fleet to another."""

    pools: tuple[PoolChange, ...]
    stops: tuple[str, ...]
    """When to stop: a condition and what it means, in the order in which they show."""
    findings: tuple[Finding, ...]
    cluster: tuple[FieldDifference, ...] = ()
    """What differs outside pools."""

    @property
    def safe(self) -> bool:
        """Whether nothing speaks against it with the severity of an error."""
        return not has_errors(self.findings)

    def pool(self, name: str) -> PoolChange:
        """The change of that pool; KeyError when there is none."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)
