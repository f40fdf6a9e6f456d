"""Scaling of workloads: servers that never shrink, useless signals, sizes without a limit."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import Autoscaler, Locator, PodGroup, ScalingFacts, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.cluster.fact import Fact
from gpufleet.findings import Finding
from gpufleet.findings.money import Money
from gpufleet.findings.remediation import add, replace
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.raw_pods import total_of
from gpufleet_policies.rules.hardware import waste, whole_gpu
from gpufleet_policies.rules.placement import gpu_requests
from gpufleet_policies.rules.pool_room import room_for
from gpufleet_policies.rules.pools import gpu_workloads
from gpufleet_policies.rules.purpose import serving
from gpufleet_policies.rules.queues import quota_of
from gpufleet_policies.rules.written import written_rule

_OFF_HOURS = Fraction(65, 100)
"""Part of a month outside office hours: 110 of 168 h a week."""

SLOW_SECONDS = 1800
"""An idle replica should be gone after half an hour."""


def target_of(context: RuleContext, autoscaler: Autoscaler) -> WorkloadFacts | None:
    """The GPU workload an autoscaler is for; None where it is not declared here."""
    named = context.memo.get("autoscaled")
    if named is None:
        found = [(_name_of(workload.locator), workload) for workload in gpu_workloads(context)]
        named = context.memo["autoscaled"] = dict(reversed(found))  # of two the first counts
    where = autoscaler.locator
    kind, name = autoscaler.target_kind.found, autoscaler.target_name.found
    if kind is None or name is None:
        return None
    return named.get((kind, name, where.namespace))


def _name_of(locator: Locator) -> tuple[str, str, str]:
    return locator.kind, locator.name, locator.namespace


def _autoscalers(context: RuleContext, workload: WorkloadFacts) -> list[Autoscaler] | None:
    """Those for a workload; None where some target cannot be read."""
    found: list[Autoscaler] = []
    own = _name_of(workload.locator)
    for one in context.anywhere(Autoscaler):
        if one.target_name.is_unknown or one.target_kind.is_unknown:
            return None
        if (one.target_kind.found, one.target_name.found, one.locator.namespace) == own:
            found.append(one)
    return found


def _gpu_groups(workload: WorkloadFacts) -> Iterator[PodGroup]:
    return (one for one in workload.running_groups() if one.pod_gpus(GPU).found)


def _money(
    context: RuleContext, workload: WorkloadFacts, group: PodGroup, pods: Fact[int], part: Fraction
) -> Money | None:
    hardware = whole_gpu(context, group)
    price = None if hardware is None else hardware.micro_usd_per_gpu_hour
    asked = group.pod_gpus(GPU)
    gpus = (Fraction(asked.value) if asked.is_known else Fraction(0)) * part
    basis = "" if hardware is None else f"{hardware.because}; "
    return waste(workload, pods, gpus, price, f"{basis}{float(part):.0%} of the time, assumed")


@written_rule("gpu-serving-without-autoscaler")
def without_autoscaler(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """It serves, has two replicas or more, no HPA or ScaledObject, and no scaling of its own kind.

    A server: the mode inference, a kind for servers, or a known model server by its program.
    """
    evidence = serving(workload)
    if evidence is None or workload.scaling or workload.node_agent:
        return
    if workload.ray is not None and workload.ray.autoscaling.found is not False:
        return
    scalers = _autoscalers(context, workload)
    if scalers is None or scalers:
        return
    for group in _gpu_groups(workload):
        copies = _copies(workload, group)
        if copies is None or copies < 2:
            continue
        if any(one.launch.nodes.found == group.pods.value for one in group.containers):
            continue  # `--nnodes` of its server shows it
        yield without_autoscaler.say(group=group, copies=copies, provenance=evidence)
        if group.together.found != 1:
            return  # a leader and its workers are one replica


def _copies(workload: WorkloadFacts, group: PodGroup) -> int | None:
    """Replicas of a server, each of which may be several pods, of several groups."""
    width = group.together.found or 1
    alike = [one for one in workload.pod_groups if one is group or width > 1]
    pods = total_of([one.pods for one in alike])
    return pods.value // width if pods.is_known else None


@written_rule("nonprod-serving-never-zero")
def never_zero(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """The smallest size its kind, its autoscaler and their defaults give, is one or more.

    KEDA without minReplicaCount goes to zero. Shares and slices are ignored: they cost little.
    """
    evidence = serving(workload)
    if not context.is_nonproduction(workload) or evidence is None:
        return
    scalers = _autoscalers(context, workload)
    if scalers is None:
        return
    own = {one.group: one for one in workload.scaling}
    for group in _gpu_groups(workload):
        scaling = scalers[0].scaling if scalers else own.get(group.name)
        smallest = group.pods if scaling is None else scaling.minimum
        if scaling is not None and scaling.idle_replicas.found == 0:
            continue
        if not smallest.is_known or smallest.value < 1:
            continue
        yield never_zero.say(
            smallest.place or group.place,
            smallest=smallest,
            environment=context.environment_of(workload).value,
            money=_money(context, workload, group, smallest, _OFF_HOURS),
            provenance=evidence,
            remediation=(add(0, smallest.place),)
            if not scalers and workload.locator.kind == "InferenceService"
            else (),
        )


def _scalings(
    context: RuleContext, subject: Autoscaler | WorkloadFacts
) -> Iterator[tuple[ScalingFacts, str, WorkloadFacts | None]]:
    """Sizes with GPUs behind them: scaling, what it is of, and the workload."""
    if isinstance(subject, Autoscaler):
        target = target_of(context, subject)
        if target is not None:
            yield subject.scaling, str(target.locator), target
        return
    groups = {group.name for group in subject.pod_groups if group.gpu_resources}
    for scaling in subject.scaling:
        if scaling.enabled.found is False or scaling.enabled.is_unknown:
            continue
        if not scaling.group or scaling.group in groups:
            yield scaling, scaling.group or str(subject.locator), subject


@written_rule("scale-down-too-slow", (Autoscaler, WorkloadFacts))
def too_slow(context: RuleContext, subject: Autoscaler | WorkloadFacts) -> Iterator[Finding]:
    """The cooldown of an autoscaler whose target requests GPUs, or of the object's own scaling."""
    for scaling, what, _ in _scalings(context, subject):
        wait = scaling.cooldown_seconds
        if not wait.is_known or wait.value <= SLOW_SECONDS:
            continue
        place = scaling.cooldown_place
        yield too_slow.say(
            place,
            what=what,
            wait=wait,
            slow_seconds=SLOW_SECONDS,
            key=place.rpartition(".")[2],
            remediation=(replace(SLOW_SECONDS, place),) if place else (),
        )
    if isinstance(subject, WorkloadFacts):
        yield from _serve_too_slow(subject)


def _serve_too_slow(workload: WorkloadFacts) -> Iterator[Finding]:
    """Ray Serve decides about replicas before Ray decides about nodes: its delay comes on top."""
    if workload.ray is None or not workload.uses_gpus:
        return
    delay = workload.ray.downscale_delay_seconds
    if delay.is_known and delay.value > SLOW_SECONDS:
        yield too_slow.say(
            case="ray-serve", delay=delay, workload=workload, slow_seconds=SLOW_SECONDS
        )


@written_rule("autoscaler-min-equals-max", (Autoscaler, WorkloadFacts))
def min_equals_max(context: RuleContext, subject: Autoscaler | WorkloadFacts) -> Iterator[Finding]:
    """Smallest and largest size are the same and at least 2."""
    for scaling, what, _ in _scalings(context, subject):
        low, high = scaling.minimum, scaling.maximum
        if low.is_known and high.is_known and low.value == high.value >= 2:
            yield min_equals_max.say(low.place or scaling.place, what=what, low=low)


@written_rule("ray-group-maximum-unset")
def ray_unbounded(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """In-tree autoscaling is on and `maxReplicas` is not written."""
    if workload.ray is None or workload.ray.autoscaling.found is not True:
        return
    for scaling, what, _ in _scalings(context, workload):
        if scaling.maximum.is_absent:
            yield ray_unbounded.say(scaling.place, what=what)


@written_rule("gpu-autoscaler-exceeds-pool", (Autoscaler, WorkloadFacts))
def exceeds(context: RuleContext, subject: Autoscaler | WorkloadFacts) -> Iterator[Finding]:
    """Advice only: the pool may be meant as the limit. For declared pools only those that the pods
    name."""
    if isinstance(subject, Autoscaler):
        target = target_of(context, subject)
        if target is None or len(target.pod_groups) != 1:
            return
        yield from _validated(context, subject.scaling, target, target.pod_groups[0])
        return
    for scaling in subject.scaling:
        if scaling.enabled.is_unknown or scaling.enabled.found is False:
            continue
        for group in subject.pod_groups:
            if group.name == scaling.group:
                yield from _validated(context, scaling, subject, group)


def _validated(
    context: RuleContext, scaling: ScalingFacts, workload: WorkloadFacts, group: PodGroup
) -> Iterator[Finding]:
    if not scaling.maximum.is_known or not group.together.is_known:
        return
    room = room_for(context, group) or _room_of_quota(context, workload, group)
    if room is None:
        return
    resource, pods, pools = room
    most = scaling.maximum.value * (group.together.value if workload.ray is None else 1)
    if most <= pods:
        return
    yield exceeds.say(
        scaling.maximum.place or scaling.place,
        workload=workload,
        most=most,
        pools=pools,
        pods=pods,
        resource=resource,
    )


def _room_of_quota(
    context: RuleContext, workload: WorkloadFacts, group: PodGroup
) -> tuple[str, int, str] | None:
    space = workload.locator.namespace
    for resource, asked in gpu_requests(group):
        most = quota_of(context, space, resource)
        if most is not None and most >= asked:
            return resource, most // asked, f"the quota of namespace {space}, {most},"
    return None
