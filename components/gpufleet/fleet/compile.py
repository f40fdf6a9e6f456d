"""compile_fleet: FleetSpec + catalogue -> Fleet. Pure: the same input gives the same result."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.model import Gpu, NodeImage
from gpufleet.catalogue.regions import check_region
from gpufleet.contract import owners as contract_owners
from gpufleet.contract.dra import judge_dra
from gpufleet.contract.feature_discovery import decide_discovery
from gpufleet.contract.judge import judge_contract
from gpufleet.contract.rdma import network_operator_present
from gpufleet.contract.vgpu import judge_vgpu
from gpufleet.findings import Finding, error, ordered
from gpufleet.fleet import capacity_rules, machines, pool_rules, spend
from gpufleet.fleet.addon_plan import plan_addons
from gpufleet.fleet.addon_rules import judge_addons
from gpufleet.fleet.autoscaler_rules import judge_autoscalers
from gpufleet.fleet.config_names import POOL_LABEL, birth_labels
from gpufleet.fleet.contract_facts import cluster_facts
from gpufleet.fleet.model import (
    GKE_ARM_TAINT,
    Fleet,
    Machine,
    NodeTaint,
    Pool,
    Previous,
    accelerator_taint,
)
from gpufleet.fleet.neuron import NEURON, hand_out, is_neuron
from gpufleet.fleet.node_images import choose_image
from gpufleet.fleet.node_range import node_range
from gpufleet.fleet.previous_sharing import cut_previous
from gpufleet.fleet.price_place import judge_price_place
from gpufleet.fleet.queue_rules import judge_queue_declaration
from gpufleet.partition import Partition, cut
from gpufleet.platforms.eks.karpenter_rules import judge_karpenter
from gpufleet.platforms.eks.rules import judge_eks
from gpufleet.platforms.gke.rules import judge_gke
from gpufleet.platforms.gke.shape import COMPUTE_CLASS
from gpufleet.platforms.gke.sharing import (
    GKE_PLUGIN_OFF,
    as_gke_publishes,
    judge_gke_sharing,
    served_by_gke,
    without_gke_stack,
)
from gpufleet.platforms.openshift.rules import judge_openshift
from gpufleet.platforms.vsphere.rules import judge_vsphere
from gpufleet.spec.base import Platform
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import GpuPool, Provisioner

_VENDORS = {
    Platform.GKE: ("nvidia", "google"),
    Platform.EKS: ("nvidia", NEURON),
    Platform.SANDBOX: ("nvidia", NEURON),
}
"""Makers of accelerators that pools of a platform may have, where it is not NVIDIA alone."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A pool whose own declaration holds; what the others imply is still to come."""

    spec: GpuPool
    path: str
    provisioner: Provisioner
    gpu: Gpu
    machines: tuple[Machine, ...]
    capacity: tuple[Capacity, ...]
    partition: Partition
    image: NodeImage | None
    served_by_gke: bool
    """GKE's own plugin cuts and advertises: nothing of it concerns the GPU Operator."""
    previous: Partition | None
    """With a layout change under way: what nodes are until their wave comes."""

    @property
    def operated(self) -> bool:
        """Whether the GPU Operator's operands, or the plugin's own chart, serve the nodes."""
        return not self.served_by_gke and not is_neuron(self.gpu)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Everything that nodes of the pool may be at present."""
        return (self.partition,) if self.previous is None else (self.partition, self.previous)


def compile_fleet(
    spec: FleetSpec, catalogue: Catalogue, *, pool_index: Sequence[int] | None = None
) -> Fleet:
    """Everything that follows from a declaration, with every finding about it.

    `pool_index` gives each pool's place in the file when some pools could not be read; findings
    then still name the author's own line. Pools with an error are left out of the result. Never
    raises for a bad declaration.
    """
    index = range(len(spec.pools)) if pool_index is None else pool_index
    paths = [f"pools[{i}]" for i in index]
    findings = pool_rules.judge_fleet(spec, paths)
    where = (spec.platform.value,)
    findings += check_region(spec.cluster.region, where, catalogue, "cluster.region")
    drafts: list[_Draft] = []
    for pool, path in zip(spec.pools, paths, strict=True):
        draft, found = _draft(pool, path, spec, catalogue)
        findings += found
        if draft is not None:
            drafts.append(draft)
    parts, found = contract_owners.decide(
        [(d.spec.name, d.path, d.image) for d in drafts if not is_neuron(d.gpu)],
        spec.addons.gpu_operator,
        plugin_chart=spec.addons.device_plugin.enabled is True,
    )
    findings += found
    strategy, found = _mig_strategy(drafts)
    findings += found
    members = [(d.spec, d.path, d.partition, d.image) for d in drafts]
    findings += [*judge_dra(members, spec), *judge_vgpu(members, spec)]
    pools = tuple(_pool(draft, spec, parts) for draft in drafts)
    findings += judge_price_place(spec, pools)
    findings += judge_contract(cluster_facts(spec, pools, catalogue))
    findings += [*judge_eks(spec, pools), *judge_karpenter(pools), *judge_gke(spec, pools)]
    findings += [*judge_vsphere(pools), *judge_autoscalers(spec)]
    discovery, found = decide_discovery(spec.addons, spec.platform, network_operator_present(spec))
    findings += found
    total = spend.total(pool.spend for pool in pools)
    findings += spend.judge_budget(spec, pools, total)
    addons = plan_addons(spec, pools, parts, strategy, discovery, catalogue)
    findings += judge_addons(spec, pools, addons, catalogue)
    findings += judge_openshift(spec, pools, addons)
    findings += judge_queue_declaration(spec, pools)
    return Fleet(spec, pools, addons, ordered(findings), total)


def _draft(
    pool: GpuPool, path: str, spec: FleetSpec, catalogue: Catalogue
) -> tuple[_Draft | None, list[Finding]]:
    platform = spec.platform
    provisioner = pool.provisioner or spec.provisioner
    chosen, gpu, found = machines.choose(pool, path, platform, catalogue)
    findings = list(found)
    capacity = pool.capacity or capacity_rules.default(platform)
    findings += pool_rules.judge(pool, path, platform, provisioner, chosen)
    judged = pool if pool.capacity else pool.model_copy(update={"capacity": capacity})
    findings += capacity_rules.judge(judged, path, platform, provisioner, chosen)
    if gpu is None or not chosen:
        return None, findings
    if gpu.vendor not in _VENDORS.get(platform, ("nvidia",)):
        findings.append(
            error(
                "accelerator-not-yet-supported",
                path,
                f"{chosen[0].name} carries {gpu.name}; this version compiles NVIDIA pools, TPU "
                "pools on GKE, and Trainium and Inferentia pools on EKS"
                if chosen[0].instance is not None
                else f"{platform.value} compiles NVIDIA pools only, and the pool names {gpu.name}",
                "keep such pools outside the spec until they are supported",
                found=gpu.key,
            )
        )
        return None, findings
    image, found = choose_image(pool, path, platform, chosen[0], gpu, catalogue)
    findings += found
    instance = chosen[0].instance
    served_by_gke_plugin = served_by_gke(pool, platform)
    if image is not None and platform is Platform.GKE and not served_by_gke_plugin:
        image = without_gke_stack(image)
    not_for_gke = judge_gke_sharing(pool, path, platform, instance)
    sharing = pool.sharing
    if served_by_gke_plugin and not not_for_gke:
        sharing = as_gke_publishes(sharing)
    partition, found = cut(
        gpu,
        chosen[0].gpus,
        sharing,
        f"{path}.sharing",
        fraction=chosen[0].fraction,
        device_memory_bytes=None if instance is None else catalogue.device_memory(instance),
    )
    findings += found
    if partition is None:
        return None, findings
    findings += not_for_gke
    partition, found = hand_out(pool, path, gpu, partition)
    findings += found
    previous, found = cut_previous(
        pool,
        path,
        gpu,
        chosen[0],
        None if instance is None else catalogue.device_memory(instance),
        provisioner,
        served_by_gke=served_by_gke_plugin,
        partition=partition,
    )
    findings += found
    return (
        _Draft(
            pool,
            path,
            provisioner,
            gpu,
            chosen,
            capacity,
            partition,
            image,
            served_by_gke_plugin,
            previous,
        ),
        findings,
    )


def _mig_strategy(drafts: Sequence[_Draft]) -> tuple[str, list[Finding]]:
    """One strategy for the cluster: the operator's setting overrides any per-node one."""
    by_strategy: dict[str, list[str]] = {}
    for draft in drafts:
        for strategy in dict.fromkeys(partition.strategy for partition in draft.partitions):
            if strategy != "none" and draft.operated:
                by_strategy.setdefault(strategy, []).append(draft.spec.name)
    if len(by_strategy) > 1:
        single, mixed = by_strategy["single"], by_strategy["mixed"]
        path = next(d.path for d in drafts if d.spec.name == single[0])
        return "mixed", [
            error(
                "mig-strategy-conflict",
                f"{path}.sharing.mig.strategy",
                f"{', '.join(single)} wants single and {', '.join(mixed)} wants mixed; the GPU "
                "Operator has one MIG strategy for the whole cluster",
                f"write `strategy: mixed` on {', '.join(single)}, and let its pods ask for "
                "nvidia.com/mig-<profile>",
                single=single,
                mixed=mixed,
            )
        ]
    return next(iter(by_strategy), "none"), _mps_beside_mixed(drafts, by_strategy.get("mixed", []))


def _mps_beside_mixed(drafts: Sequence[_Draft], mixed: Sequence[str]) -> list[Finding]:
    """The device plugin refuses MPS while its strategy is mixed, MIG on the node or not."""
    if not mixed:
        return []
    return [
        error(
            "mps-beside-mixed-mig",
            f"{draft.path}.sharing.mps",
            f"{', '.join(mixed)} needs the MIG strategy mixed, which holds for the whole cluster, "
            "and the device plugin refuses MPS under it",
            "write `strategy: single` there, or timeSlicing here",
            mixed=list(mixed),
        )
        for draft in drafts
        if any(p.mode == "mps" for p in draft.partitions) and draft.operated
    ]


def _pool(draft: _Draft, spec: FleetSpec, parts: contract_owners.OwnedParts) -> Pool:
    pool = draft.spec
    nodes = node_range(pool)
    gpu_taint = (accelerator_taint(draft.gpu),) if pool.gpu_taint else ()
    taints = (*gpu_taint, *(NodeTaint(t.key, t.value, t.effect) for t in pool.taints))
    if _in_class(draft, spec):
        taints = (*taints, NodeTaint(COMPUTE_CLASS, pool.name, "NoSchedule"))
    if spec.platform is Platform.GKE and draft.machines[0].architecture == "arm64":
        taints = (*(taint for taint in taints if taint != GKE_ARM_TAINT), GKE_ARM_TAINT)
    previous = draft.previous
    return Pool(
        name=pool.name,
        path=draft.path,
        spec=pool,
        platform=spec.platform,
        provisioner=draft.provisioner,
        ownership=pool.ownership,
        intent=pool.intent,
        fabric=pool.fabric,
        gpu=draft.gpu,
        machines=draft.machines,
        nodes=nodes,
        capacity=draft.capacity,
        partition=draft.partition,
        image=draft.image,
        owners=contract_owners.NEURON_OWNERS
        if is_neuron(draft.gpu)
        else contract_owners.owners(draft.image, parts),
        labels=_labels(draft, draft.partition, spec),
        taints=taints,
        hourly_micro_usd=spend.first_choice(draft.machines, draft.capacity),
        spend=spend.pool_spend(
            pool.name,
            draft.machines,
            draft.capacity,
            nodes,
            separately=spec.platform is Platform.GKE,
        ),
        previous=None if previous is None else Previous(previous, _labels(draft, previous, spec)),
    )


def _labels(draft: _Draft, partition: Partition, spec: FleetSpec) -> dict[str, str]:
    pool = draft.spec
    labels = {
        **pool.labels,
        **(
            birth_labels(pool.name, draft.gpu, partition)
            if draft.operated
            else {POOL_LABEL: pool.name}
        ),
        **(GKE_PLUGIN_OFF if spec.platform is Platform.GKE and not draft.served_by_gke else {}),
        **(contract_owners.deploy_labels(draft.image) if draft.operated else {}),
    }
    if pool.team is not None:
        labels["gpufleet.dev/team"] = pool.team
    if _in_class(draft, spec):
        labels[COMPUTE_CLASS] = pool.name
    return dict(sorted(labels.items()))


def _in_class(draft: _Draft, spec: FleetSpec) -> bool:
    """Whether the pool is several node pools under a ComputeClass, one for each way of buying."""
    return spec.platform is Platform.GKE and len(draft.capacity) > 1
