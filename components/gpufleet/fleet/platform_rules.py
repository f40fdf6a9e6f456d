"""Pure computations of a platform about pools and fleets, for compile and renderers.

The folder of a platform has one instance, `RULES` in its module `platform`. Each method's default
applies to platforms without a rule of their own, so a subclass contains only differences.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import getfile
from pathlib import Path
from typing import Any

from gpufleet.catalogue import Catalogue, InstanceType, NodeImage
from gpufleet.catalogue.edition import read_rows
from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding
from gpufleet.fleet.input_differences import InputDifference, differing, plain, replaces, within
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
    """Facts about the nodes' system that the GPU Operator needs."""

    driver_root: str | None = None
    """Directory of a driver that the platform installs. None: the operator's own."""
    toolkit_env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment of the container toolkit."""


@dataclass(frozen=True, slots=True)
class FabricRequest:
    """Requests of a pod for the pool's fabric."""

    limits: Mapping[str, str] = field(default_factory=dict[str, str])
    requests: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the pod."""
    env: Sequence[Mapping[str, str]] = ()
    mounts: Sequence[Mapping[str, Any]] = ()
    """`volumeMounts` of the job's container."""
    volumes: Sequence[Mapping[str, Any]] = ()
    sidecars: Sequence[Mapping[str, Any]] = ()
    """Sidecar containers, which start before the job's container and end with it."""


class PlatformRules:
    """One platform. Subclasses hold no state."""

    node_kinds: frozenset[str] = frozenset()
    """Kinds of `registered` that are single nodes: adding or removing one leaves the others."""

    group_kinds: frozenset[str] = frozenset()
    """Kinds of `registered` whose replacement creates a new group of nodes, after the old one."""

    # What a pool is made of

    def offered_machines(self, rows: list[InstanceType], pool: GpuPool) -> list[InstanceType]:
        """The instance types that the pool may use, of those with the pool's GPU."""
        return rows

    def own_machine(self, pool: GpuPool, path: str) -> DeclaredMachine | Finding:
        """Size of an on-premises machine, or why it is not known."""
        return DeclaredMachine()

    def zones_counted(self, pool: GpuPool) -> int:
        """Number of zones to each of which `nodes` applies; 1 if it applies to all together."""
        return 1

    def paid_nodes(self, pool: GpuPool, nodes: NodeRange) -> NodeRange:
        """Nodes that are paid for while the pool has `nodes`: it may have additional machines."""
        return nodes

    def planned_zones(self, zones: Sequence[str], nodes: int, *, joined: bool) -> Sequence[str]:
        """The zones that a pool of this number of nodes names, from those of a plan, best first;
        `joined`: several of its machines work on one job, so that one zone holds them."""
        return zones[:1] if joined else zones

    def published_sharing(self, sharing: Sharing) -> Sharing:
        """The sharing under the names of the platform's own device plugin."""
        return sharing

    def serves_devices(self, pool: GpuPool) -> bool:
        """Whether the platform's own device plugin partitions and advertises the pool's GPUs."""
        return False

    def left_of_image(self, image: NodeImage, pool: GpuPool) -> NodeImage:
        """The parts of the image for this pool, without parts of the platform that the pool
        switches off."""
        return image

    def node_labels(self, pool: GpuPool, capacity: Sequence[Capacity]) -> Mapping[str, str]:
        """Labels that the platform sets when nodes register."""
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

    # Settings that the nodes' kubelet accepts

    def refused_kubelet_settings(self, pool: Pool) -> Mapping[str, str] | str:
        """Fields of `kubelet` that nodes of the pool do not get -> the reason; a single reason
        applies to all fields."""
        return {}

    def needed_reservations(self, pool: Pool) -> Sequence[str]:
        """Fields of `kubelet` in which a pool reserves resources that the platform does not."""
        return ()

    # Errors of a declaration

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        """Errors in settings of one pool, from its machines alone."""
        return ()

    def validate_capacity(
        self, pool: GpuPool, path: str, provisioner: Provisioner
    ) -> Iterable[Finding]:
        """Errors in a list of capacity types, each of which is valid by itself."""
        return ()

    def validate_sharing(
        self, pool: GpuPool, path: str, machine: InstanceType | None
    ) -> list[Finding]:
        """Sharing that the platform's own device plugin refuses."""
        return []

    def validate_contract(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        """Errors about taints and advertisers, if the platform sets any."""
        return ()

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        """Errors of the compiled pools together."""
        return ()

    raw_places: Sequence[str] = ()
    """Fields of a pool with raw arguments of the provider, which are merged last."""

    def validate_arguments(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        """Arguments of each registered pool that the provider refuses, including raw arguments.
        Pools with other errors are not checked: they cannot be rendered."""
        return ()

    def validate_addons(
        self, spec: FleetSpec, pools: Sequence[Pool], addons: AddonPlan
    ) -> Iterable[Finding]:
        """Errors in cluster-wide add-ons."""
        return ()

    # Cluster-wide parts

    def operator_namespace(self, operator: str, usual: str, catalogue: Catalogue) -> str:
        """Namespace of an operator, given the one of its chart."""
        return usual

    def operator_host(self, spec: FleetSpec, operated: Sequence[Pool]) -> OperatorHost:
        """Facts that the GPU Operator needs about the nodes of the pools that it serves."""
        return OperatorHost()

    def subscriptions(
        self,
        spec: FleetSpec,
        operator: OperatorPlan,
        network: NetworkPlan,
        discovery: bool,
        catalogue: Catalogue,
    ) -> Iterable[OperatorSubscription]:
        """Operators that Operator Lifecycle Manager installs, in order; `discovery`: including Node
        Feature Discovery."""
        return ()

    # Fields of pods

    def pod_selector(self, pool: Pool) -> Mapping[str, str]:
        """Node labels that a pod must select in addition to the pool's own label."""
        return {}

    def whole_nodes(self, pool: Pool) -> bool:
        """Whether the devices of a node only work together, with or without a fabric."""
        return False

    def nodes_together(self, pool: Pool) -> int:
        """Number of nodes that a job always takes together. Default 1."""
        return 1

    def fabric_request(self, pool: Pool) -> FabricRequest:
        """Requests of a pod for the pool's fabric, if interfaces are resources."""
        return FabricRequest()

    def queued_provisioning(self, run_minutes: int) -> Mapping[str, object]:
        """Fields of a ProvisioningRequestConfig for queued capacity, with the maximum run time of
        its jobs in minutes."""
        return {}

    def mps_pod(self, pool: Pool) -> Mapping[str, object]:
        """Fields of the spec of a pod that is a client of MPS."""
        return {}

    # Effects of a change

    def same_node_group(self, old: Pool, new: Pool) -> bool:
        """Whether both declare one existing node group whose machines stay unchanged."""
        return False

    def cluster_classes(self, pool: Pool) -> Mapping[str, LeafClass]:
        """Effect on nodes of the pool of a difference in a field outside pools, if no input of
        theirs shows it: path from the root -> class."""
        return {}

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        """Inputs of every resource that creates nodes of the pool, as far as the declaration
        determines them: name of the resource -> inputs. Inputs that the engine ignores are left
        out, and sets are sorted. A name is a kind (`nodeGroup`), or a kind, `/` and a
        distinguishing part (`machine/0`)."""
        return {}

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        """Effect on nodes of a difference in one input of a resource. `path` has no list indexes
        and is empty for the resource itself; a side without the input is None.

        The class is that of the first of the platform's `input_classes.jsonl` that applies: it has
        the `kinds` (default: every one), and one of `paths` is the path or above it (default: every
        path; an empty one is the resource itself), or the provider `replaces` a resource of that
        type for it."""
        for row in _input_classes(Path(getfile(type(self))).parent):
            by_path = "paths" not in row and "replaces" not in row
            by_path = by_path or path in row.get("paths", ()) or within(path, row.get("paths", ()))
            replaced = "replaces" in row and path and replaces(row["replaces"], path, old, new)
            if kind in row.get("kinds", (kind,)) and (by_path or replaced):
                return LeafClass(row["class"])
        return LeafClass.UNKNOWN

    def input_differences(
        self, kind: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterable[InputDifference]:
        """Every difference between two sets of inputs of one resource, with its class."""
        for path, one, two in differing(old, new):
            yield InputDifference(path, one, two, self.input_class(kind, plain(path), one, two))

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        """Order in which nodes restart or are replaced; `replaced`: in a new group."""
        return Rollout("the engine", None)

    def image_release(self, pool: Pool) -> str | None:
        """The pinned release of the node image, as a date: `20250224`; None if none is pinned."""
        return None

    def node_names(self, fleet: Fleet, pool: str, ordinals: Iterable[int]) -> list[str]:
        """Names of nodes that are known before they are created; empty if they are not."""
        return []


@cache
def _input_classes(folder: Path) -> Sequence[Mapping[str, Any]]:
    exist = (folder / "input_classes.jsonl").exists()
    return read_rows(folder, "input_classes") if exist else ()


def platform_rules(platform: PlatformValue) -> PlatformRules:
    """The rules of the platform. Pure: no pulumi, no network."""
    return platform.module("platform").RULES
