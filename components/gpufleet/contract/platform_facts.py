"""Plain facts of a platform, which rules, renderers, planner and policies ask for.

Each platform folder has one `PlatformFacts`, `FACTS` in its module `facts`. What has to be
computed from a pool or a fleet is a method of `PlatformRules` (`gpufleet.fleet.platform_rules`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpufleet.catalogue import InstanceType
from gpufleet.contract.health import Repairer
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric, Provisioner

HOST_ROOT = "/"
"""Driver root of a node whose image installs the driver as any distribution does."""


@dataclass(frozen=True, slots=True)
class PlatformPlugin:
    """A device plugin that the platform itself runs on GPU nodes, unless a pool declares it off."""

    owner: str
    """Who runs it, `GKE`."""
    setting: str
    """Field of a pool that chooses it, `gke.driver`."""
    chosen_by: str
    """What that field says for the platform's own, `gke`."""
    switched_off_by: str
    """What to write for NVIDIA's plugin instead, `gke: {driver: gpuOperator}`."""

    @property
    def title(self) -> str:
        """As findings name it."""
        return f"{self.owner}'s device plugin"


@dataclass(frozen=True, slots=True)
class Relabelling:
    """How a node gets the label that names its new configuration, in a change of sharing."""

    who: str
    """`you` or `pulumi up`."""
    text: str
    waits: str
    """Who waits until the node offers the new resources."""


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
    """First minor version on which the platform offers them, `1.32`."""
    switch: str
    """What must be switched on for them; empty where the platform has done so."""
    source: str


OWN_CONTROL_PLANE = BetaClaims(
    "1.32",
    "start kube-apiserver, kube-controller-manager, kube-scheduler and every kubelet with "
    "`--feature-gates=DynamicResourceAllocation=true`, and kube-apiserver with "
    "`--runtime-config=resource.k8s.io/v1beta1=true`",
    "kubernetes/website `set-up-dra-cluster.md` of 1.33",
)
"""Where the owner of the cluster starts its control plane."""


def no_fabric(_: InstanceType) -> Fabric:
    """Where pods reach no network between machines but the plain one."""
    return Fabric.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFacts:
    """What is so on one platform, whatever the fleet."""

    platform: Platform
    title: str
    """As sentences name it, `GKE`."""
    capacity: tuple[str, ...]
    """Ways of buying, the default first."""
    default_image: str
    """Node image of a pool that names none (`catalogue/data/<edition>/images`)."""
    images_of: Platform | None = None
    """Platform whose node images it has. Default: images of its own."""
    default_neuron_image: str | None = None
    """The same for Trainium and Inferentia. Default: `default_image`."""
    provisioner_images: Mapping[Provisioner, str] = field(default_factory=dict[Provisioner, str])
    """The same of provisioners that choose the image themselves."""
    clouds: tuple[str, ...] = ()
    """Clouds whose instance types it runs on; none on own hardware."""
    any_seller: bool = False
    """Whether `instanceTypes` may name machines of any seller that the catalogue knows, instead of
    a GPU."""
    nodes_exist: bool = False
    """Whether somebody else makes the nodes of every pool."""
    example_region: str | None = None
    """A region, for the text of a finding. Set where a cluster must name its region."""
    cluster_fields: tuple[str, ...] = ()
    """Fields of `cluster` that it reads, of those that some platforms do not read."""
    vendors: tuple[str, ...] = ("nvidia",)
    """Makers of the accelerators its pools may have."""
    provisioners: tuple[Provisioner, ...] = (Provisioner.MANAGED,)
    """Who can add nodes."""
    fabrics: tuple[Fabric, ...] = (Fabric.NONE,)
    """Networks between GPU nodes."""
    fabric_of: Callable[[InstanceType], Fabric] = no_fabric
    """The fastest network between machines of a type that pods can use."""
    topology_levels: tuple[str, ...] = ()
    """Node labels that say where in the network a node is, the widest first."""
    spot_takes_a_price: bool = True
    """Whether spot capacity has a highest price."""
    sells_as_listed: bool = True
    """Whether only what the catalogue lists as sold can be bought."""
    scales_each_purchase: bool = False
    """Whether each way of buying is a group of its own that may reach the pool's largest size."""
    importable: bool = True
    """Whether node groups that exist can be adopted by `importId`."""
    plugin: PlatformPlugin | None = None
    """Its own device plugin, where it has one."""
    driver_root: str = HOST_ROOT
    """Where a driver that the image or the platform installs is on a node."""
    reset_may_be_forbidden: bool = True
    """Whether nodes are virtual machines on a hypervisor that may forbid to reset a GPU."""
    rdma_by_network_operator: bool = False
    """Whether `fabric: rdma` is served by the Network Operator. Default: by the platform."""
    network_parts: frozenset[str] = frozenset()
    """Parts of secondary networks that each cluster has by itself: `multus`, `cniPlugins`, and
    kinds of address management such as `whereabouts`. Installed again, two would write the same
    folder. Default: none."""
    vgpu: bool = False
    """Whether a machine can get a vGPU profile."""
    simulated: bool = False
    """Whether nodes are objects without machines: nothing scales them, drivers are not needed."""
    lifecycle_manager: bool = False
    """Whether operators come by Operator Lifecycle Manager instead of Helm charts."""
    quota_for_critical_pods: bool = False
    """Whether pods of the system priority classes are admitted only where a quota counts them."""
    console_dashboards: bool = False
    """Whether its console draws dashboards of its own."""
    own_charts: bool = False
    """Whether it brings the charts, where no source is declared. Default: the vendors'
    repositories."""
    planned_provisioner: Provisioner = Provisioner.MANAGED
    """Who adds nodes in a plan that names no one."""
    managed_pools_scale: bool = False
    """Whether managed pools grow by themselves when pods wait."""
    kubelet_sets_labels: bool = False
    """Whether the kubelet of a managed node sets the pool's labels. Default: a controller does."""
    job_capacity: tuple[str, ...] = ()
    """Ways of buying that a plan considers for jobs only: they wait until there is capacity."""
    mixes_machine_types: bool = False
    """Whether one pool may hold several machine types with the same GPUs."""
    one_mig_profile: bool = False
    """Whether all MIG instances of a pool have the same profile."""
    relabelling: Relabelling = LABELLED_BY_HAND
    repairers: Mapping[Provisioner, Repairer] = field(default_factory=dict[Provisioner, Repairer])
    """Who repairs nodes that a provisioner made. Default: there is no repair."""
    repair_options: tuple[str, ...] = ()
    """Fields of a pool that say the same as `health`, as Python spells them: `eks.node_repair`."""
    janitor: str = "generic"
    """What NVSentinel calls the place of the machines (`janitor-provider.csp.provider`). Default:
    machines without a cloud, which it can only restart."""
    beta_claims: BetaClaims = OWN_CONTROL_PLANE

    @property
    def image_platform(self) -> str:
        """The platform that rows of its node images name."""
        return (self.images_of or self.platform).value

    @property
    def cloud(self) -> str | None:
        """The one cloud in whose regions it buys; None on own hardware and where several are
        simulated."""
        return self.clouds[0] if len(self.clouds) == 1 else None
