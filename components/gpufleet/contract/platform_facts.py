"""Plain facts of a platform for rules, renderers, planner and policies.

Each platform folder has one `PlatformFacts`, from its file `facts.json`, whose `notes` have remarks
and sources by key; where functions compute some of them, it is `FACTS` in a module `facts`. Values
that are computed from a pool or a fleet are methods of `PlatformRules`
(`gpufleet.fleet.platform_rules`).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufleet.catalogue import InstanceType
from gpufleet.contract.health import Repairer
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric, Provisioner

HOST_ROOT = "/"
"""Driver root of a node whose image installs the driver in the standard directories."""


@dataclass(frozen=True, slots=True)
class PlatformPlugin:
    """A device plugin that the platform runs on GPU nodes, unless a pool switches it off."""

    owner: str
    """Who runs it, `GKE`."""
    setting: str
    """Field of a pool that selects it, `gke.driver`."""
    chosen_by: str
    """Value of that field for the platform's own plugin, `gke`."""
    switched_off_by: str
    """Setting for NVIDIA's plugin instead, `gke: {driver: gpuOperator}`."""

    @property
    def title(self) -> str:
        """Its name in findings."""
        return f"{self.owner}'s device plugin"


@dataclass(frozen=True, slots=True)
class Relabelling:
    """How a node gets the label of its new configuration, in a change of sharing."""

    who: str
    """`you` or `pulumi up`."""
    text: str
    waits: str
    """What waits until the node offers the new resources."""


LABELLED_BY_HAND = Relabelling(
    "you",
    "kubectl label node, with the labels below; a cloud would put them on every node of the "
    "group at once, so the group keeps the old ones until `change` is removed",
    "you",
)


@dataclass(frozen=True, slots=True)
class BetaClaims:
    """Claims on Kubernetes before 1.34, where resource.k8s.io is a beta API."""

    since: str
    """First minor version with claims on the platform, `1.32`."""
    switch: str
    """What must be switched on for them; empty if the platform has done so."""
    source: str


OWN_CONTROL_PLANE = BetaClaims(
    "1.32",
    "start kube-apiserver, kube-controller-manager, kube-scheduler and every kubelet with "
    "`--feature-gates=DynamicResourceAllocation=true`, and kube-apiserver with "
    "`--runtime-config=resource.k8s.io/v1beta1=true`",
    "kubernetes/website `set-up-dra-cluster.md` of 1.33",
)
"""For a control plane that the cluster's owner starts."""


def no_fabric(_: InstanceType) -> Fabric:
    """For platforms without a fast network between machines for pods."""
    return Fabric.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFacts:
    """Facts of one platform, for every fleet."""

    platform: Platform
    title: str
    """Its name in messages, `GKE`."""
    capacity: tuple[str, ...]
    """Capacity types, the default first."""
    default_image: str
    """Node image of a pool without `image` (`catalogue/data/<edition>/images`)."""
    images_of: Platform | None = None
    """Platform whose node images it uses. Default: its own images."""
    default_neuron_image: str | None = None
    """The same for Trainium and Inferentia. Default: `default_image`."""
    provisioner_images: Mapping[Provisioner, str] = field(default_factory=dict[Provisioner, str])
    """The same for provisioners that choose the image themselves."""
    clouds: tuple[str, ...] = ()
    """Clouds whose instance types it uses; none on own hardware."""
    any_seller: bool = False
    """Whether `instanceTypes` may name machines of every cloud in the catalogue, instead of a
    GPU."""
    nodes_exist: bool = False
    """Whether the nodes of every pool already exist."""
    example_region: str | None = None
    """A region, for the text of a finding. Set where a cluster must name its region."""
    cluster_fields: tuple[str, ...] = ()
    """Fields of `cluster` that it reads and that some platforms do not read."""
    vendors: tuple[str, ...] = ("nvidia",)
    """Vendors of the accelerators of its pools."""
    provisioners: tuple[Provisioner, ...] = (Provisioner.MANAGED,)
    """Who can add nodes."""
    fabrics: tuple[Fabric, ...] = (Fabric.NONE,)
    """Networks between GPU nodes."""
    fabric_of: Callable[[InstanceType], Fabric] = no_fabric
    """The fastest network between machines of a type for pods."""
    topology_levels: tuple[str, ...] = ()
    """Node labels that describe the position of a node in the network, the widest first."""
    spot_takes_a_price: bool = True
    """Whether spot capacity has a maximum price."""
    sells_as_listed: bool = True
    """Whether only capacity types in the catalogue are for sale."""
    scales_each_purchase: bool = False
    """Whether each capacity type is a separate group that may reach the pool's largest size."""
    importable: bool = True
    """Whether existing node groups can be imported by `importId`."""
    plugin: PlatformPlugin | None = None
    """Its own device plugin, if it has one."""
    driver_root: str = HOST_ROOT
    """Directory of the driver on a node, if the image or the platform installs it."""
    reset_may_be_forbidden: bool = True
    """Whether nodes are virtual machines on a hypervisor that may forbid a reset of a GPU."""
    rdma_by_network_operator: bool = False
    """Whether the Network Operator serves `fabric: rdma`. Default: the platform does."""
    network_parts: frozenset[str] = frozenset()
    """Parts of secondary networks that each cluster already has: `multus`, `cniPlugins`, and kinds
    of address management such as `whereabouts`. A second installation would write the same
    directory. Default: none."""
    vgpu: bool = False
    """Whether a machine can get a vGPU profile."""
    simulated: bool = False
    """Whether nodes are objects without machines: they are not scaled and need no drivers."""
    lifecycle_manager: bool = False
    """Whether Operator Lifecycle Manager installs operators instead of Helm charts."""
    quota_for_critical_pods: bool = False
    """Whether pods of the system priority classes are admitted only with a quota for them."""
    own_charts: bool = False
    """Whether it includes the charts, if no source is declared. Default: the vendors'
    repositories."""
    planned_provisioner: Provisioner = Provisioner.MANAGED
    """Provisioner of a plan that names none."""
    managed_pools_scale: bool = False
    """Whether managed pools grow automatically when pods wait."""
    kubelet_sets_labels: bool = False
    """Whether the kubelet of a managed node sets the pool's labels. Default: a controller does."""
    job_capacity: tuple[str, ...] = ()
    """Capacity types that a plan considers for jobs only: they wait for capacity."""
    mixes_machine_types: bool = False
    """Whether one pool may hold several machine types with the same GPUs."""
    one_mig_profile: bool = False
    """Whether all MIG instances of a pool have the same profile."""
    relabelling: Relabelling = LABELLED_BY_HAND
    repairers: Mapping[Provisioner, Repairer] = field(default_factory=dict[Provisioner, Repairer])
    """Repair program of the nodes of a provisioner. Default: there is no repair."""
    repair_options: tuple[str, ...] = ()
    """Fields of a pool equivalent to `health`, in Python's spelling: `eks.node_repair`."""
    janitor: str = "generic"
    """NVSentinel's name of the infrastructure (`janitor-provider.csp.provider`). Default: machines
    without a cloud, which it can only restart."""
    beta_claims: BetaClaims = OWN_CONTROL_PLANE

    @property
    def image_platform(self) -> str:
        """The platform in the rows of its node images."""
        return (self.images_of or self.platform).value

    @property
    def cloud(self) -> str | None:
        """The cloud in whose regions it buys; None on own hardware and if several are simulated."""
        return self.clouds[0] if len(self.clouds) == 1 else None


_READ: Mapping[str, Callable[[Any], Any]] = {
    "platform": Platform,
    "images_of": Platform,
    "planned_provisioner": Provisioner,
    "provisioners": lambda words: tuple(map(Provisioner, words)),
    "fabrics": lambda words: tuple(map(Fabric, words)),
    "provisioner_images": lambda images: {Provisioner(k): v for k, v in images.items()},
    "repairers": lambda rows: {Provisioner(k): Repairer(**v) for k, v in rows.items()},
    "plugin": lambda row: PlatformPlugin(**row),
    "relabelling": lambda row: Relabelling(**row),
    "beta_claims": lambda row: BetaClaims(**row),
    "network_parts": frozenset,
}
"""Facts that are not plain text, truth values or lists of text -> how they are read."""


def platform_facts(module: str, **computed: Any) -> PlatformFacts:
    """The facts in the file `facts.json` of a folder, and functions that compute some of them.
    A folder inside another platform's folder has the facts of that platform, unless it writes
    others."""
    own = Path(module).with_name("facts.json")
    written: dict[str, Any] = {}
    for file in (own.parents[1] / own.name, own):
        written |= json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    del written["notes"]
    for key, value in written.items():
        if key in _READ or isinstance(value, list):
            written[key] = _READ.get(key, tuple)(value)
    return PlatformFacts(**written, **computed)
