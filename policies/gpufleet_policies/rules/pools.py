"""The node pools a rule looks at: of one subject, or of everything declared together."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from gpufleet.cluster import FleetFacts, PoolFacts, Provenance, Surroundings, WorkloadFacts
from gpufleet.cluster.capacity import LaunchTemplate, PoolAutoscaler, ScheduledSize
from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.cluster.intent import PREFIX
from gpufleet.cluster.pool import Maker, NodePool, PoolTaint, SharedGpus, Size
from gpufleet.rules.context import RuleContext, once

POOLS = (NodePool, FleetFacts)
"""Subjects of every rule about pools: the same checks for every maker of pools."""


@once
def validated_pools(context: RuleContext, subject: NodePool | FleetFacts) -> tuple[NodePool, ...]:
    """The pools of a subject, completed by other declarations. GpuFleet reports its own pools."""
    if isinstance(subject, FleetFacts):
        return tuple(_compiled(pool, subject, context) for pool in subject.pools)
    return () if subject.in_fleet else (completed(subject, context.surroundings),)


def gpu_pools(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[NodePool]:
    """Those of the subject's pools that certainly carry GPUs."""
    return (pool for pool in validated_pools(context, subject) if pool.is_certainly_gpu)


@once
def all_pools(context: RuleContext) -> tuple[NodePool, ...]:
    """All declared pools, and those of a referenced fleet."""
    subjects = [*context.declared(FleetFacts), *context.declared(NodePool)]
    if context.fleet is not None and context.fleet not in subjects:
        subjects.append(context.fleet)
    return tuple(pool for one in subjects for pool in validated_pools(context, one))


@once
def gpu_workloads(context: RuleContext) -> tuple[WorkloadFacts, ...]:
    """All declared workloads that request GPUs and are not suspended."""
    return tuple(w for w in context.declared(WorkloadFacts) if w.uses_gpus or w.uses_claims)


def completed(pool: NodePool, surroundings: Surroundings | None) -> NodePool:
    """A pool with what its launch template, node class or autoscaler adds."""
    if surroundings is None:
        return pool
    if pool.launch_template:
        template = template_of(pool, surroundings)
        if template is not None:
            pool = _templated(pool, template)
    for scaler in surroundings.of(PoolAutoscaler):
        if scaler.target.found == pool.name:
            size = replace(
                pool.size,
                minimum=scaler.minimum,
                maximum=scaler.maximum,
                minimum_place=f"spec.minReplicas of {scaler.locator}",
                maximum_place=f"spec.maxReplicas of {scaler.locator}",
                fixed=False,
            )
            pool = replace(pool, size=size)
    return pool


def template_seen(pool: NodePool, surroundings: Surroundings | None) -> bool:
    """Whether the launch template or node class a pool names is declared here, or it names none."""
    return not pool.launch_template or template_of(pool, surroundings) is not None


def template_of(pool: NodePool, surroundings: Surroundings | None) -> LaunchTemplate | None:
    """The launch template or node class that a pool names; None: none is declared here."""
    templates = () if surroundings is None else surroundings.of(LaunchTemplate)
    for template in templates:
        if pool.launch_template in template.names:
            return template
    # A template that is made in the same program has no id yet: the only one there is, is meant.
    if pool.launch_template == "?" and len(templates) == 1:
        return templates[0]
    return None


def _templated(pool: NodePool, template: LaunchTemplate) -> NodePool:
    changes: dict[str, Any] = {"tags": {**template.annotations, **pool.tags}}
    if not pool.is_gpu_pool.is_known or pool.instance_types.is_absent:
        if not template.carries_gpus.is_absent:
            changes["is_gpu_pool"] = template.carries_gpus
        changes["gpu"] = template.gpu
        changes["gpus_per_node"] = template.gpus_per_node
        if template.instance_type.is_known:
            changes["instance_types"] = known(
                (template.instance_type.value,), place=f"{template.locator}"
            )
    if template.capacity.is_known or (pool.capacity.is_absent and template.capacity.is_unknown):
        changes["capacity"] = template.capacity
    elif pool.capacity.is_absent:
        changes["capacity"] = known(frozenset({"onDemand"}))
    if template.reservations:
        changes["reservations"] = (*pool.reservations, *template.reservations)
    if pool.maker is not Maker.KARPENTER or template.has_efa.is_unknown:
        changes["fabric"] = _fabric(template)
    elif template.has_efa.is_known:
        changes["fabric"] = known("efa", place=str(template.locator))
    if not pool.placement_group.is_known:
        changes["placement_group"] = template.placement_group
    if not pool.image.is_known or pool.image.value == "CUSTOM":
        changes["image"] = template.image
    if template.taints_gpus and not pool.taints.is_unknown:
        own = pool.taints.value if pool.taints.is_known else ()
        changes["taints"] = known((*own, PoolTaint("nvidia.com/gpu", "NoSchedule")))
    if not template.vgpu_profile.is_absent:
        changes["vgpu_profile"] = template.vgpu_profile
    return replace(pool, **changes)


def _fabric(template: LaunchTemplate) -> Fact[str]:
    if not template.has_efa.is_known:
        return Fact(template.has_efa.state, place=template.has_efa.place)
    if template.has_efa.value:
        return known("efa", place=str(template.locator))
    return absent(template.has_efa.place)


def _compiled(pool: PoolFacts, fleet: FleetFacts, context: RuleContext) -> NodePool:
    """A pool of a compiled fleet: everything about it is declared."""
    declared = Provenance.DECLARED
    one = Size(
        minimum=known(pool.minimum_nodes, declared),
        maximum=known(pool.maximum_nodes, declared),
        current=known(pool.expected_nodes, declared),
        minimum_place=f"{pool.path}.nodes.min",
        maximum_place=f"{pool.path}.nodes.max",
    )
    shares = [share.replicas for share in pool.shares]
    return NodePool(
        locator=fleet.locator,
        environment=fleet.environment,
        name=pool.name,
        maker=Maker.FLEET,
        instance_types=known(pool.machines, declared) if pool.machines else absent("machines"),
        instance_types_place=f"{pool.path}.instanceTypes",
        # Another edition of the catalogue may have GPUs that this one does not have.
        gpu=known(pool.gpu, declared)
        if pool.gpu in context.catalogue.gpus
        else unknown("gpu", declared),
        gpus_per_node=known(pool.gpus_per_node, declared),
        is_gpu_pool=known(True, declared),
        size=one,
        capacity=known(frozenset(pool.capacity), declared),
        capacity_place=f"{pool.path}.capacity",
        taints=known((PoolTaint("nvidia.com/gpu", "NoSchedule"),), declared),
        labels=pool.labels,
        shared=SharedGpus(
            strategy=known(pool.sharing, declared) if pool.sharing else absent("sharing"),
            replicas=known(max(shares), declared) if shares else absent("sharing"),
            place=f"{pool.path}.sharing",
        ),
        hourly_micro_usd=pool.hourly_micro_usd,
        intent=known(pool.intent, declared) if pool.intent else absent("intent"),
        image=known(pool.image, declared) if pool.image else absent("image"),
        compiled=pool,
        vgpu_profile=_vgpu_profile(pool, context),
    )


def _vgpu_profile(pool: PoolFacts, context: RuleContext) -> Fact[str]:
    """The time-sliced vGPU type of a fleet's pool; MIG-backed types are omitted."""
    gpu = context.catalogue.gpus.get(pool.gpu)
    share = pool.shares[0] if pool.shares else None
    if pool.sharing != "vgpu" or gpu is None or gpu.vgpu is None or share is None:
        return absent("sharing.vgpu")
    if share.profile is not None or share.device_bytes is None:
        return absent("sharing.vgpu")
    gigabytes = share.device_bytes >> 30
    if gigabytes not in gpu.vgpu.time_sliced:
        return absent("sharing.vgpu")
    return known(f"grid_{gpu.vgpu.names[0]}-{gigabytes}c".lower(), Provenance.DECLARED)


_TOGETHER = (
    frozenset({Maker.EKS, Maker.AWS, Maker.KARPENTER, Maker.CLUSTER_API}),
    frozenset({Maker.GKE, Maker.KARPENTER, Maker.CLUSTER_API}),
    frozenset({Maker.OPENSHIFT}),
    frozenset({Maker.VSPHERE, Maker.CLUSTER_API}),
    frozenset({Maker.FLEET}),
)
"""Makers whose pools can be in one cluster."""


def same_cluster(*pools: NodePool) -> bool:
    """Whether no declaration shows that these pools are in different clusters.

    A folder may hold the declarations of several clusters.
    """
    makers = {pool.maker for pool in pools}
    if not any(makers <= group for group in _TOGETHER):
        return False
    if makers == {Maker.FLEET}:
        return len({pool.locator for pool in pools}) == 1
    return len({pool.cluster.value for pool in pools if pool.cluster.is_known}) <= 1


def named(pool: NodePool) -> str:
    """A pool in words."""
    return f"pool {pool.name}" if pool.maker is Maker.FLEET else f"{pool.locator}"


def place(pool: NodePool, field: str) -> str:
    """A field of a pool in words; fields of a fleet's pools name the pool too."""
    return f"{field} of {pool.name}" if pool.maker is Maker.FLEET else field


def gpus(pool: NodePool, nodes: int) -> Fraction:
    """Physical GPUs of a number of nodes; 0 where the count is not known."""
    count = pool.gpus_per_node.value if pool.gpus_per_node.is_known else 0
    part = pool.compiled.gpu_fraction if pool.compiled is not None else Fraction(1)
    return nodes * count * part


_EXPIRY_KEYS = frozenset({"expires", "expiry", "ttl", "delete-after", f"{PREFIX}expires"})


def expires(context: RuleContext, pool: NodePool) -> bool:
    """Whether a tag, a schedule or a longest run ends its nodes."""
    there = {key.lower() for key in (*pool.tags, *pool.labels, *pool.annotations)}
    if there & _EXPIRY_KEYS or not pool.longest_run_seconds.is_absent:
        return True
    return any(
        not action.target.is_known or action.target.value == pool.name
        for action in context.anywhere(ScheduledSize)
    )
