"""GPUs of pods that only control others, and pods without GPUs on GPU nodes."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import Container, PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money
from gpufleet.findings.remediation import JsonPatch, remove
from gpufleet.rules.context import RuleContext
from gpufleet_policies.names import names
from gpufleet_policies.rules.gpu_requests import FRACTIONS, written_amounts
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.placement import GPU_LABELS, POOL_LABEL, candidates
from gpufleet_policies.rules.written import written_rule

_HELPERS = names("sidecar")
"""Names of sidecar containers, which never compute on a GPU."""

_GPU_NODE_LABELS = (
    *GPU_LABELS,
    "nvidia.com/gpu.present",
    "nvidia.com/gpu.count",
    "karpenter.k8s.aws/instance-gpu-count",
    "karpenter.k8s.aws/instance-gpu-manufacturer",
)
"""Labels that only GPU nodes carry."""


@written_rule("gpu-on-control-process")
def on_control(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Mandatory only for a Ray head with num-gpus 0. A single head with GPUs is allowed."""
    holders = [g for g in workload.pod_groups if g.gpu_resources]
    for group in holders:
        if workload.ray is not None and group.name == "head":
            yield from _head(context, workload, group, others=len(holders) > 1)
        elif group.name == "Launcher" and len(holders) > 1:
            yield on_control.say(group=group, money=held(context, workload, group))
        yield from _alongside(context, workload, group)


def _head(
    context: RuleContext, workload: WorkloadFacts, group: PodGroup, *, others: bool
) -> Iterator[Finding]:
    ray = workload.ray
    assert ray is not None
    declared = ray.head_gpu_count
    if declared.is_known and declared.value.strip("\"'") in ("0", "0.0"):
        yield on_control.say(
            case="ray-counts-none",
            group=group,
            declared=declared,
            money=held(context, workload, group),
            remediation=tuple(
                remove(*place)
                for one in group.containers
                for place in written_amounts(one, one.gpu_resources)
            ),
        )
    elif others and not declared.is_unknown and _scales(workload):
        # In a cluster of fixed size the head is one node of several, as vLLM over Ray needs it.
        yield on_control.say(case="head", group=group)


def _scales(workload: WorkloadFacts) -> bool:
    """Whether workers of a Ray cluster come and go: not known counts as a fixed size."""
    return any(
        one.minimum.is_known and one.maximum.is_known and one.minimum.value < one.maximum.value
        for one in workload.scaling
    )


def _alongside(context: RuleContext, workload: WorkloadFacts, group: PodGroup) -> Iterator[Finding]:
    """Sidecars, and init containers that make the pod hold more GPUs than it computes on."""
    holders = [c for c in group.containers if GPU in c.gpu_resources]
    main = [c for c in holders if not c.init]
    counts = {id(c): a.value.number for c in holders if (a := c.gpus(GPU)).is_known}
    if not main or len(counts) < len(holders):
        return
    computing = [c for c in main if not _is_helper(c)]
    together = sum(counts[id(c)] for c in computing)
    total = group.pod_gpus(GPU)
    for container in holders:
        extra = counts[id(container)]
        if container.init and not container.restartable:
            extra -= together
        elif not container.restartable and (not _is_helper(container) or not computing):
            continue
        if extra <= 0 or not total.is_known or total.value < 1:
            continue
        what = "a sidecar" if not container.init or container.restartable else "an init container"
        yield on_control.say(
            container.where,
            case="sidecar",
            what=what,
            requested=counts[id(container)],
            container=container,
            gpus=int(counts[id(container)]),
            money=held(context, workload, group, Fraction(extra) / total.value),
        )


def _is_helper(container: Container) -> bool:
    image = (container.image.found or "").rsplit("/", 1)[-1].partition(":")[0]
    return any(name in _HELPERS or name.endswith("-exporter") for name in (container.name, image))


@written_rule("non-gpu-pod-on-gpu-pool")
def without_gpu(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Refuses pods that labels pin to GPU nodes, warns about a toleration of everything.

    Excluded: DaemonSets, operators' namespaces, claims, and runtimes that assign GPUs otherwise.
    """
    if workload.node_agent or workload.uses_gpus or workload.uses_claims or workload.is_idle_now:
        return
    if workload.may_say(*FRACTIONS):
        return
    for group in workload.running_groups():
        if not group.pods.is_known or not group.runtime_class.is_absent:
            continue
        if not group.containers_known:
            continue
        if not all(c.resources_known for c in group.containers) or _has_devices(group):
            continue
        pin = next((key for key in group.node_labels if _is_pin(context, group, key)), None)
        if pin is not None and group.promised_gpus:
            yield without_gpu.say(group.place, pin=pin)
            continue
        if pin is not None:
            yield without_gpu.say(
                group.place,
                case="label",
                pin=pin,
                alternative=without_gpu.instead(label=pin),
                money=_node(context, group),
                remediation=_without_pin(group, pin),
            )
            continue
        own = group.tolerations.found or ()
        everything = any(one.tolerates_everything for one in own)
        served = workload.locator.kind in ("Deployment", "StatefulSet")
        if everything or (served and any(one.key == GPU for one in own)):
            yield without_gpu.say(
                case="taint",
                group=group,
                taints="every taint" if everything else GPU,
                tolerates="everything" if everything else GPU,
                alternative="name the taints it must tolerate"
                if everything
                else f"remove the toleration, or write `limits: {{{GPU}: 1}}`",
            )


def _node(context: RuleContext, group: PodGroup) -> Money | None:
    """One node of the cheapest pool it is sent to."""
    if context.fleet is None:
        return None
    pools = [pool for pool in candidates(context, group) if pool.hourly_micro_usd.is_known]
    if not pools:
        return None
    pool = min(pools, key=lambda p: (p.hourly_micro_usd.value, p.name))
    price = Fraction(pool.hourly_micro_usd.value)
    gpus = pool.gpus_per_node * pool.gpu_fraction
    return Money(AmountKind.STANDING, price, Fraction(gpus), f"one node of pool {pool.name}")


def _has_devices(group: PodGroup) -> bool:
    """Whether it requests any device at all: other accelerators have nodes with GPUs as well."""
    plain = ("cpu", "memory", "ephemeral-storage")
    return any(
        name not in plain and not name.startswith("hugepages-")
        for container in group.containers
        for name in (*container.limits, *container.requests)
    )


def _is_pin(context: RuleContext, group: PodGroup, label: str) -> bool:
    values = group.node_labels[label]
    if label in _GPU_NODE_LABELS:
        return "false" not in values
    if label != POOL_LABEL or context.fleet is None:
        return False
    return any(pool.name in values for pool in context.fleet.pools)


def _without_pin(group: PodGroup, label: str) -> JsonPatch:
    return (remove(group.place, "nodeSelector", label),) if label in group.selector else ()
