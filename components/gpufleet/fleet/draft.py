"""One pool by itself: the result of its own declaration, before other pools are considered."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gpufleet.catalogue import Catalogue, Gpu, NodeImage, UnknownKeyError
from gpufleet.contract import owners as contract_owners
from gpufleet.contract.health import MANAGED_LABEL
from gpufleet.contract.machine_images import image_mismatch
from gpufleet.contract.operator_values import switch
from gpufleet.contract.platform import PlatformValue
from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet import capacity_rules, machines, pool_rules, spend, windows
from gpufleet.fleet.config_names import POOL_LABEL, registration_labels
from gpufleet.fleet.cut_over import cut_previous
from gpufleet.fleet.model import (
    NOT_ACCEPTED,
    Machine,
    NodeRange,
    NodeTaint,
    Pool,
    Previous,
    accelerator_taint,
)
from gpufleet.fleet.neuron import NEURON, assign_devices, is_neuron
from gpufleet.fleet.platform_rules import PlatformRules, platform_rules
from gpufleet.partition.partition import Partition, cut
from gpufleet.partition.presets import resolve_presets
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import GpuPool, Provisioner


@dataclass(frozen=True, slots=True)
class PoolDraft:
    """A pool whose own declaration is valid; effects of other pools are added later."""

    spec: GpuPool
    path: str
    provisioner: Provisioner
    gpu: Gpu
    machines: tuple[Machine, ...]
    capacity: tuple[Capacity, ...]
    partition: Partition
    image: NodeImage | None
    served_by_platform: bool
    """The platform's own plugin partitions and advertises: the GPU Operator is not involved."""
    previous: Partition | None
    """During a layout change: the partition of nodes whose wave has not come."""

    @property
    def operated(self) -> bool:
        """Whether the GPU Operator's operands, or the plugin's own chart, serve the nodes."""
        return not self.served_by_platform and not is_neuron(self.gpu)

    @property
    def claimed(self) -> Partition | None:
        """The partition that nodes offer as claims, now or until their wave comes."""
        return next((one for one in self.partitions if one.dra is not None), None)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """All partitions that nodes of the pool may have at present."""
        return (self.partition,) if self.previous is None else (self.partition, self.previous)


def draft_pool(
    pool: GpuPool, path: str, spec: FleetSpec, platform: PlatformValue, catalogue: Catalogue
) -> tuple[PoolDraft | None, list[Finding]]:
    """The draft of one pool and its errors; None if nothing can be derived from it."""
    facts, rules = platform.facts, platform_rules(platform)
    provisioner = pool.provisioner or spec.provisioner
    chosen, gpu, found = machines.choose(pool, path, platform, catalogue)
    findings = list(found)
    if provisioner is Provisioner.AUTO_MODE:
        chosen = tuple(machines.managed(one, catalogue) for one in chosen)
    capacity = pool.capacity or capacity_rules.default(facts)
    findings += pool_rules.validate(pool, path, platform, provisioner, chosen)
    if provisioner is not Provisioner.MANAGED:
        pool = pool.model_copy(update={"provisioner": provisioner})  # it may be the fleet's
    validated = pool if pool.capacity else pool.model_copy(update={"capacity": capacity})
    findings += capacity_rules.validate(validated, path, platform, provisioner, chosen)
    if gpu is None or not chosen:
        return None, findings
    if gpu.vendor not in facts.vendors:
        findings.append(_not_supported(path, gpu, chosen[0], spec))
        return None, findings
    if spec.addons.images.profile is not None:
        pool = in_fips_mode(pool, facts.image_platform, chosen[0], gpu, catalogue)
    image, found = choose_image(pool, path, facts, chosen[0], gpu, catalogue)
    findings += found
    if image is not None:
        image = rules.left_of_image(image, pool)
    instance = chosen[0].instance
    served_by_platform = rules.serves_devices(pool)
    sharing, unresolved = resolve_presets(gpu, pool.sharing, f"{path}.sharing")
    if unresolved:
        return None, [*findings, *unresolved]
    pool = pool.model_copy(update={"sharing": sharing})
    refused = rules.validate_sharing(pool, path, instance)
    if served_by_platform and not refused:
        sharing = rules.published_sharing(sharing)
    partition, found = cut(
        gpu,
        chosen[0].gpus,
        sharing,
        f"{path}.sharing",
        fraction=chosen[0].fraction,
        device_memory_bytes=None if instance is None else catalogue.device_memory(instance),
        find_gpu=catalogue.find_gpu,
    )
    findings += _followable(found, facts) if served_by_platform else found
    if partition is None:
        return None, findings
    findings += refused
    findings += pool_rules.validate_intent(pool, path, spec.environment, partition)
    partition, found = assign_devices(pool, path, gpu, partition)
    findings += found
    previous, found = cut_previous(
        pool,
        path,
        gpu,
        chosen[0],
        None if instance is None else catalogue.device_memory(instance),
        provisioner,
        plugin_owner=facts.plugin.owner if facts.plugin and served_by_platform else None,
        partition=partition,
        find_gpu=catalogue.find_gpu,
    )
    findings += found
    draft = PoolDraft(
        spec=pool,
        path=path,
        provisioner=provisioner,
        gpu=gpu,
        machines=chosen,
        capacity=capacity,
        partition=partition,
        image=image,
        served_by_platform=served_by_platform,
        previous=previous,
    )
    return draft, findings


def _followable(found: Sequence[Finding], facts: PlatformFacts) -> list[Finding]:
    """The findings with advice that is valid if one size fills each GPU."""
    plugin = facts.plugin
    fix = "choose a size that fills the GPU" + (
        "" if plugin is None else f", or write `{plugin.switched_off_by}` to mix sizes"
    )
    return [
        replace(
            one,
            fix=fix,
            evidence={k: v for k, v in one.evidence.items() if not k.startswith("better")},
        )
        if one.code in _WASTED
        else one
        for one in found
    ]


_WASTED = frozenset({"mig-layout-unfinished", "mig-layout-wasteful"})
"""Findings that advise to mix profiles on one GPU."""


def _not_supported(path: str, gpu: Gpu, machine: Machine, spec: FleetSpec) -> Finding:
    name, key = gpu.name, gpu.key
    if machine.instance is None:
        own = spec.platform.value
        return _finding(
            "accelerator-not-yet-supported/own", path, platform=own, gpu=name, found=key
        )
    sold = machine.name
    return _finding("accelerator-not-yet-supported", path, machine=sold, gpu=name, found=key)


def compiled_pool(
    draft: PoolDraft,
    spec: FleetSpec,
    platform: PlatformValue,
    parts: contract_owners.OwnedParts,
    at: datetime | None = None,
    *,
    operator: bool,
) -> Pool:
    """The pool, given the parts that the GPU Operator installs and whether the cluster has an
    operator. `at` is the time of the evaluation: capacity for another time costs nothing
    then."""
    facts, rules = platform.facts, platform_rules(platform)
    pool = draft.spec
    nodes = node_range(pool, platform)
    gpu_taint = (accelerator_taint(draft.gpu),) if pool.gpu_taint else ()
    taints = (*gpu_taint, *(NodeTaint(t.key, t.value, t.effect) for t in pool.taints))
    acceptance = pool.acceptance or spec.acceptance
    if acceptance is not None:
        taints = (*taints, NOT_ACCEPTED)
    previous = draft.previous
    owners = (
        contract_owners.NEURON_OWNERS
        if is_neuron(draft.gpu) and not draft.served_by_platform
        else contract_owners.owners(draft.image, parts)
    )
    cuts = switch(spec.addons.gpu_operator, "mig_manager", "migManager")[0] is not False
    return Pool(
        name=pool.name,
        path=draft.path,
        spec=pool,
        platform=platform,
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
        owners=owners,
        labels=_labels(draft, draft.partition, rules, spec, operator=operator),
        taints=rules.node_taints(taints, pool, draft.machines[0], draft.capacity),
        hourly_micro_usd=spend.first_choice(draft.machines, draft.capacity),
        spend=spend.pool_spend(
            pool.name,
            draft.machines,
            windows.open_capacity(draft.capacity, draft.machines[0].name, at),
            rules.paid_nodes(pool, nodes),
            separately=facts.scales_each_purchase,
        ),
        served_by_platform=draft.served_by_platform,
        plugin_waits=operator
        and cuts
        and owners.device_plugin is contract_owners.Owner.GPU_OPERATOR,
        previous=None
        if previous is None
        else Previous(previous, _labels(draft, previous, rules, spec, operator=operator)),
        at=at,
        health=pool.health or spec.health,
        acceptance=acceptance,
    )


def _labels(
    draft: PoolDraft,
    partition: Partition,
    rules: PlatformRules,
    spec: FleetSpec,
    *,
    operator: bool,
) -> dict[str, str]:
    pool = draft.spec
    labels = {
        **pool.labels,
        **(
            registration_labels(pool.name, draft.gpu, partition)
            if draft.operated
            else {POOL_LABEL: pool.name}
        ),
        **rules.node_labels(pool, draft.capacity),
        **_operand_labels(draft, operator=operator),
    }
    policy = pool.health or spec.health
    if spec.nvsentinel_acts and (policy is None or not policy.nvsentinel_acts):
        labels[MANAGED_LABEL] = "false"
    if pool.team is not None:
        labels["gpufleet.dev/team"] = pool.team
    return dict(sorted(labels.items()))


def _operand_labels(draft: PoolDraft, *, operator: bool) -> dict[str, str]:
    """Labels that keep operands of the GPU Operator off the nodes.

    The operator serves every node with an NVIDIA GPU in its cluster, including nodes that the
    platform serves (NVIDIA/gpu-operator 04751ec `controllers/state_manager.go`).
    """
    if draft.operated:
        return contract_owners.deploy_labels(draft.image)
    kept_off = operator and draft.gpu.vendor == "nvidia"
    return dict(contract_owners.NO_OPERANDS) if kept_off else {}


def node_range(pool: GpuPool, platform: PlatformValue) -> NodeRange:
    """Bounds of the pool's nodes; `expected` is the middle if it is not declared."""
    zones = platform_rules(platform).zones_counted(pool)
    low, high, expected = pool.nodes.min, pool.nodes.max, pool.nodes.expected
    usual = expected if expected is not None else (low + high + 1) // 2
    return NodeRange(low * zones, usual * zones, high * zones)


# Node image of a pool: from its platform, for its machines, with its accelerator's driver.

_finding = findings_in(__file__)


def _fitting(catalogue: Catalogue, platform: str, machine: Machine, gpu: Gpu) -> list[str]:
    """Images of the platform for the machine and its accelerator."""
    return [
        image.key
        for image in catalogue.images.values()
        if image.platform == platform
        and machine.architecture in image.architectures
        and (gpu.vendor not in {"nvidia", NEURON} or gpu.vendor in image.vendors)
    ]


def in_fips_mode(
    pool: GpuPool, platform: str, machine: Machine, gpu: Gpu, catalogue: Catalogue
) -> GpuPool:
    """The pool with the image in FIPS mode, if it names none and there is one."""
    fitting = _fitting(catalogue, platform, machine, gpu)
    key = next((one for one in fitting if catalogue.image(one).fips), None)
    return pool if pool.image or key is None else pool.model_copy(update={"image": key})


def choose_image(
    pool: GpuPool,
    path: str,
    facts: PlatformFacts,
    machine: Machine,
    gpu: Gpu,
    catalogue: Catalogue,
) -> tuple[NodeImage | None, list[Finding]]:
    """The image that a pool names, or the platform's own; None exactly if a finding is an error."""
    platform = facts.image_platform
    neuron = facts.default_neuron_image if is_neuron(gpu) else None
    chosen = None if pool.provisioner is None else facts.provisioner_images.get(pool.provisioner)
    key = pool.image or chosen or neuron or facts.default_image
    on_platform = [i.key for i in catalogue.images.values() if i.platform == platform]
    try:
        image = catalogue.image(key)
    except UnknownKeyError:
        image = None
    if image is None or image.platform != platform:
        return None, [
            _finding(
                "image-not-on-platform", path, found=key, platform=platform, allowed=on_platform
            )
        ]
    other = image_mismatch(key, image.architectures, {machine.name: machine.architecture})
    if other is not None:
        return None, [
            _finding(
                "image-architecture",
                path,
                mismatch=other.found,
                fitting=_fitting(catalogue, platform, machine, gpu),
                found=machine.architecture,
                allowed=image.architectures,
            )
        ]
    if gpu.vendor in {"nvidia", NEURON} and gpu.vendor not in image.vendors:
        fitting = [
            i.key
            for i in catalogue.images.values()
            if i.platform == platform and gpu.vendor in i.vendors
        ]
        return None, [
            _finding("image-not-for-accelerator", path, found=key, gpu=gpu.name, allowed=fitting)
        ]
    return image, []
