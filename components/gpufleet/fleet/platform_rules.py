"""What a platform computes from pools and fleets: the pure half that compile and renderers ask.

The folder of a platform has one instance, `RULES` in its module `platform`. The default of each
method is what holds where a platform has nothing of its own, so a subclass states differences only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpufleet.catalogue import Catalogue, InstanceType, NodeImage
from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding
from gpufleet.fleet.input_differences import InputDifference, differing, plain
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import (
    AddonPlan,
    Fleet,
    Machine,
    NetworkPlan,
    NodeRange,
    NodeTaint,
    OperatorPlan,
    OperatorSubscription,
    Pool,
)
from gpufleet.fleet.rollout import Rollout
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import GpuPool, Provisioner
from gpufleet.spec.sharing import Sharing


@dataclass(frozen=True, slots=True)
class DeclaredMachine:
    """Size of a machine that is not an instance type, as the pool declares it."""

    vcpu: int | None = None
    memory_gib: int | None = None


@dataclass(frozen=True, slots=True)
class OperatorHost:
    """What the GPU Operator must know of the nodes' system."""

    driver_root: str | None = None
    """Folder of a driver that the platform installs. None: the operator's own."""
    toolkit_env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment of the container toolkit."""


@dataclass(frozen=True, slots=True)
class FabricRequest:
    """What a pod asks for to use the pool's fabric."""

    limits: Mapping[str, str] = field(default_factory=dict[str, str])
    requests: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the pod."""
    env: Sequence[Mapping[str, str]] = ()
    mounts: Sequence[Mapping[str, Any]] = ()
    """`volumeMounts` of the job's container."""
    volumes: Sequence[Mapping[str, Any]] = ()
    sidecars: Sequence[Mapping[str, Any]] = ()
    """Containers next to the job's, which start before it and end with it."""


class PlatformRules:
    """One platform. Subclasses hold no state."""

    node_kinds: frozenset[str] = frozenset()
    """Kinds of `registered` that are nodes themselves: one that comes or goes leaves the others."""

    group_kinds: frozenset[str] = frozenset()
    """Kinds of `registered` whose replacement makes a new group of nodes, after the old one."""

    # What a pool is made of

    def offered_machines(self, rows: list[InstanceType], pool: GpuPool) -> list[InstanceType]:
        """Of the instance types that carry the pool's GPU alike, those the pool may consist of."""
        return rows

    def own_machine(self, pool: GpuPool, path: str) -> DeclaredMachine | Finding:
        """Size of a machine on own hardware, or why it is not known."""
        return DeclaredMachine()

    def zones_counted(self, pool: GpuPool) -> int:
        """How many zones `nodes` holds for each of; 1 where it holds for all of them together."""
        return 1

    def paid_nodes(self, pool: GpuPool, nodes: NodeRange) -> NodeRange:
        """Nodes that are paid for while the pool has `nodes`: machines may run beside them."""
        return nodes

    def planned_zones(self, zones: Sequence[str], nodes: int, *, joined: bool) -> Sequence[str]:
        """Of the zones that a plan may use, best first, those that a pool of so many nodes names;
        `joined`: several of its machines work on one job, so that one zone holds them."""
        return zones[:1] if joined else zones

    def published_sharing(self, sharing: Sharing) -> Sharing:
        """The sharing under the names that the platform's own device plugin gives."""
        return sharing

    def serves_devices(self, pool: GpuPool) -> bool:
        """Whether the platform's own device plugin cuts and advertises the pool's GPUs."""
        return False

    def left_of_image(self, image: NodeImage, pool: GpuPool) -> NodeImage:
        """What the image brings for this pool, once parts of the platform that it declares off
        are gone."""
        return image

    def node_labels(self, pool: GpuPool, capacity: Sequence[Capacity]) -> Mapping[str, str]:
        """Labels nodes register with because of the platform."""
        return {}

    def node_taints(
        self,
        taints: tuple[NodeTaint, ...],
        pool: GpuPool,
        machine: Machine,
        capacity: Sequence[Capacity],
    ) -> tuple[NodeTaint, ...]:
        """All taints of the nodes, given those of accelerator and declaration."""
        return taints

    # What the kubelet of nodes takes

    def refused_kubelet_settings(self, pool: Pool) -> Mapping[str, str] | str:
        """Fields of `kubelet` that nodes of the pool do not get -> the reason; a reason alone is
        that of all fields."""
        return {}

    def needed_reservations(self, pool: Pool) -> Sequence[str]:
        """Fields of `kubelet` by which a pool reserves what the platform does not by itself."""
        return ()

    # What is wrong with a declaration

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        """Settings of one pool that need nothing but its machines."""
        return ()

    def validate_capacity(
        self, pool: GpuPool, path: str, provisioner: Provisioner
    ) -> Iterable[Finding]:
        """A list of ways of buying, each of which is legal by itself."""
        return ()

    def validate_sharing(
        self, pool: GpuPool, path: str, machine: InstanceType | None
    ) -> list[Finding]:
        """Sharing that the platform's own device plugin refuses."""
        return []

    def validate_contract(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        """Who taints and advertises, where the platform takes part in it."""
        return ()

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        """The compiled pools together."""
        return ()

    raw_places: Sequence[str] = ()
    """Places in a pool that hold arguments of the provider, which are merged last."""

    def validate_arguments(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        """What the provider refuses of the arguments that each pool is registered with, raw ones
        among them. Pools that are wrong in another way are not here: they cannot be rendered."""
        return ()

    def validate_addons(
        self, spec: FleetSpec, pools: Sequence[Pool], addons: AddonPlan
    ) -> Iterable[Finding]:
        """What exists once per cluster."""
        return ()

    # What exists once per cluster

    def operator_namespace(self, operator: str, usual: str, catalogue: Catalogue) -> str:
        """Namespace of an operator, given the one its chart has."""
        return usual

    def operator_host(self, spec: FleetSpec, operated: Sequence[Pool]) -> OperatorHost:
        """What the GPU Operator must know of the nodes of the pools it serves."""
        return OperatorHost()

    def subscriptions(
        self,
        spec: FleetSpec,
        operator: OperatorPlan,
        network: NetworkPlan,
        discovery: bool,
        catalogue: Catalogue,
    ) -> Iterable[OperatorSubscription]:
        """What Operator Lifecycle Manager installs, in order; `discovery`: Node Feature Discovery
        too."""
        return ()

    # What pods say

    def pod_selector(self, pool: Pool) -> Mapping[str, str]:
        """Node labels that a pod must select next to the pool's own label."""
        return {}

    def whole_nodes(self, pool: Pool) -> bool:
        """Whether the devices of a node only work together, fabric or not."""
        return False

    def nodes_together(self, pool: Pool) -> int:
        """Nodes that a job always takes together. Default 1."""
        return 1

    def fabric_request(self, pool: Pool) -> FabricRequest:
        """What a pod asks for to use the pool's fabric, where interfaces are resources."""
        return FabricRequest()

    def queued_provisioning(self, run_minutes: int) -> Mapping[str, object]:
        """Fields of a ProvisioningRequestConfig for capacity that is queued, for jobs that run so
        long at most."""
        return {}

    def mps_pod(self, pool: Pool) -> Mapping[str, object]:
        """Fields of the spec of a pod that is a client of MPS."""
        return {}

    # What a change does

    def same_node_group(self, old: Pool, new: Pool) -> bool:
        """Whether both declare one node group that exists, whose machines stay as they are."""
        return False

    def cluster_classes(self, pool: Pool) -> Mapping[str, LeafClass]:
        """What a difference in a field outside pools does to nodes of the pool, where no input of
        theirs shows it: path from the root -> class."""
        return {}

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        """Inputs of every resource that the nodes of the pool are made by, as far as they follow
        from the declaration: name of the resource -> inputs. What the engine is told to ignore is
        left out, and sets are in one order. A name is a kind (`nodeGroup`), or a kind, `/` and
        what is apart (`machine/0`)."""
        return {}

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        """What a difference in one input of a resource does to nodes. `path` has no list indexes
        and is empty for the resource itself; a side without the input is None."""
        return LeafClass.UNKNOWN

    def input_differences(
        self, kind: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterable[InputDifference]:
        """Every difference between two sets of inputs of one resource, with its class."""
        for path, one, two in differing(old, new):
            yield InputDifference(path, one, two, self.input_class(kind, plain(path), one, two))

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        """In which order nodes are replaced or restarted; `replaced`: their group is made anew."""
        return Rollout("the engine", None)

    def image_release(self, pool: Pool) -> str | None:
        """The pinned release of the node image, as a date: `20250224`; None where none is."""
        return None

    def node_names(self, fleet: Fleet, pool: str, ordinals: Iterable[int]) -> list[str]:
        """Names of nodes that are known before they are made; none where they are not."""
        return []


def platform_rules(platform: PlatformValue) -> PlatformRules:
    """What the platform computes. Pure: no pulumi, no network."""
    return platform.module("platform").RULES
