"""ChangePlan: the change from one fleet to another. Plain frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from gpufleet.catalogue.edition import RawRow, read_rows
from gpufleet.findings import Finding, has_errors
from gpufleet.findings.row_rules import holds
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.rollout import Rollout

_STEPS = read_rows(Path(__file__).parent, "steps")
_KINDS = {row["kind"]: row for row in read_rows(Path(__file__).parent, "kinds")}


class NodeChangeKind(StrEnum):
    """Kind of change of a pool's nodes. Those from `untouched` on are in ascending order of effect;
    an unknown field does not hide that nodes are drained anyway."""

    ADDED = "added"
    REMOVED = "removed"
    UNTOUCHED = "untouched"
    """Its rendered and registered resources are equal."""
    LIVE = "live"
    """Its nodes stay; only settings that change in place differ."""
    UNKNOWN = "unknown"
    """A difference has an unknown effect on nodes."""
    RESTART = "restart"
    """Each machine is powered off and on."""
    PLUGIN = "plugin"
    """The device plugin restarts with another configuration; running pods keep their GPUs."""
    RECUT = "recut"
    """The GPUs get another partition or sharing: every pod must leave the node first."""
    CUT_OVER = "cutOver"
    """The DRA driver advertises the GPUs instead of the device plugin, or the reverse: every pod
    must leave the node first, and nodes are changed one by one."""
    NEW_NODES = "newNodes"
    """Nodes are replaced, in the order of the provisioner."""
    NEW_POOL = "newPool"
    """The platform creates a new pool and deletes the old one."""

    @property
    def facts(self) -> RawRow:
        """Its row of `kinds.jsonl`: `title`, and how to go `back`; whether all nodes `serve` during
        the change, each pod leaves (`empties`), nodes change one by one `in_place`, or another
        program decides their order (`outside`)."""
        return _KINDS[self]


class Act(StrEnum):
    """One operation on a node."""

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
    """Actor: `you`, `pulumi up`, `mig-manager`, `the device plugin`."""
    text: str
    """The operation, and its reason."""


def steps_of(of: str, **known: object) -> tuple[Step, ...]:
    """Steps of a kind of change, in order: the rows of `steps.jsonl` whose conditions hold, with
    these facts in their texts."""
    return tuple(
        Step(Act(row["act"]), row["who"].format(**known), row["text"].format(**known))
        for row in _STEPS
        if row["of"] == of and holds(row.get("when", {}), known)
    )


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A changed field."""

    field: str
    old: str
    new: str
    leaf_class: LeafClass | None = None
    """Its effect; None for a difference that `kind` explains."""
    refusal: str = ""
    """Why the provider refuses it, and the setting that allows it; empty if allowed or unknown."""


class ResourceOperation(StrEnum):
    """The engine's operation on one resource."""

    CREATE = "create"
    DELETE = "delete"
    REPLACE = "replace"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """One different resource that creates a pool's nodes."""

    resource: str
    """Its kind, and a distinguishing part: `nodeGroup`, `machine/0`."""
    operation: ResourceOperation


@dataclass(frozen=True, slots=True)
class ChangeCapacity:
    """Amount of one resource that all nodes of a pool offer together, over the change."""

    name: str
    before: int
    lowest: int
    """The minimum at any time."""
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChange:
    """The change of one pool."""

    name: str
    path: str
    kind: NodeChangeKind
    differences: tuple[FieldDifference, ...] = ()
    nodes: int
    """Number of nodes in the plan."""
    waves: tuple[tuple[int, ...], ...] = ()
    """Ordinals that change together, wave by wave."""
    steps: tuple[Step, ...] = ()
    """For each node, in order."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """The new labels of each node. Empty if no node changes in place."""
    gpus: ChangeCapacity
    """Physical GPUs in service."""
    resources: tuple[ChangeCapacity, ...] = ()
    """Extended resources, by name."""
    gpu_hours: Decimal = Decimal("0.00")
    """GPU-hours out of service if each node takes as long as expected."""
    gpu_hours_at_most: Decimal = Decimal("0.00")
    """The same if each node takes as long as it may before the change stops."""
    rollout: Rollout | None = None
    """Order of replacements or restarts, and its actor, if the waves are not declared."""
    seconds: int = 0
    """Until the last node is back, if all goes well; 0 if no node leaves service."""
    usd: Decimal | None = None
    """Cost of the GPU-hours out of service; None without a price."""
    back: str = ""
    """How to go back."""
    inputs: tuple[FieldDifference, ...] = ()
    """Differences in the inputs of the resources that create its nodes."""
    engine: tuple[ResourceChange, ...] = ()
    """Operations of `pulumi up` on those resources."""


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The change from one fleet to another."""

    pools: tuple[PoolChange, ...]
    stops: tuple[str, ...]
    """Conditions to stop, each with its meaning, in the order in which they can occur."""
    findings: tuple[Finding, ...]
    cluster: tuple[FieldDifference, ...] = ()
    """Differences outside pools."""

    @property
    def safe(self) -> bool:
        """Whether no finding against it is an error."""
        return not has_errors(self.findings)

    def pool(self, name: str) -> PoolChange:
        """The change of that pool; KeyError when there is none."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)
