"""GPUs requested and GPUs used: processes and parallel sizes of the command line."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.cluster import Container, PodGroup, Provenance, WorkloadFacts, known
from gpufleet.cluster.container import GPU
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.findings.remediation import replace
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.gpu_requests import written_amounts
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.written import written_rule


@dataclass(frozen=True, slots=True)
class _Compared:
    """GPUs that one container requests, for itself or for its group, and GPUs that it opens."""

    group: PodGroup
    container: Container
    pods: int
    """Pods both numbers are of."""
    asked: int
    opened: int
    provenance: Provenance

    @property
    def source(self) -> str:
        return self.container.source(GPU)

    def write(self, gpus: int) -> str:
        if self.container.claimed:
            return f"write `count: {gpus}` in the claim"
        return f"write `limits: {{{GPU}: {gpus}}}`"

    @property
    def of(self) -> str:
        return "" if self.pods == 1 else f" in the {self.pods} pods of a group"


def _compared(workload: WorkloadFacts) -> Iterator[_Compared]:
    """Groups with one GPU container whose processes are counted; Ray counts for itself.

    The roles of one program over several pods (leader and workers) are one comparison.
    """
    if workload.ray is not None:
        return
    seen: set[tuple[int, int, int]] = set()
    for group in workload.pod_groups:
        containers = [c for c in group.containers if GPU in c.gpu_resources]
        if len(containers) != 1 or len(group.gpu_resources) != 1:
            continue
        container = containers[0]
        opened, asked = container.launch.gpus, group.pod_gpus(GPU)
        if opened.is_absent and container.launch.one_by_default and group.together.found == 1:
            opened = known(1, Provenance.INFERRED, container.place)
        if not opened.is_known or not asked.is_known or asked.value < 1:
            continue
        pods = 1
        if container.launch.processes.is_absent:  # those count per pod, sizes per model
            if group.together.is_unknown:
                continue
            pods = group.together.value
            if pods == 1 and container.launch.spreads:
                pods = container.launch.nodes.found or 1
                if pods < 2 or group.pods.found != pods:
                    continue  # its other pods are other objects
            sizes = (pods, asked.value, opened.value)
            if pods > 1 and (sizes in seen or not _is_even(workload, group, asked.value)):
                continue
            seen.add(sizes)
        yield _Compared(group, container, pods, asked.value * pods, opened.value, opened.provenance)


def _is_even(workload: WorkloadFacts, group: PodGroup, gpus: int) -> bool:
    """Whether all pods of a replica certainly have as many GPUs as those of the group."""
    roles = [one for one in workload.pod_groups if one.together == group.together]
    return all(one.pod_gpus(GPU).found == gpus for one in roles)


@written_rule("gpu-count-exceeds-parallelism")
def exceeds(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Where both numbers are written, and for vLLM, which uses one GPU by default: there a user
    decides which number is wrong. `auto` and `gpu` prove nothing.

    Data-parallel copies count, and over several pods the sizes count for the whole group.
    """
    for found in _compared(workload):
        if found.opened >= found.asked:
            continue
        idle = Fraction(found.asked - found.opened, found.asked)
        fewer = -(-found.opened // found.pods)
        places = written_amounts(found.container, (GPU,))
        sure = found.container.launch.gpus.is_known
        yield exceeds.say(
            found.container.where,
            found=found,
            idle=found.asked - found.opened,
            less=found.write(fewer),
            money=held(context, workload, found.group, idle),
            provenance=found.provenance,
            remediation=tuple(replace(str(fewer), *one) for one in places) if sure else (),
        )
    yield from _serving(context, workload)


def _standing(workload: WorkloadFacts) -> tuple[int, PodGroup | None]:
    """GPUs of all pods of a Ray cluster, and a group that has some; none where not all is known."""
    total, holding = 0, None
    for group in workload.pod_groups:
        asked = group.pod_gpus(GPU)
        if asked.is_absent:
            continue
        if not asked.is_known or not group.pods.is_known or len(group.gpu_resources) != 1:
            return 0, None
        holding = group if asked.value else holding
        total += asked.value * group.pods.value
    return total, holding


def _serving(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Ray Serve: all replicas of all applications against the GPUs of the cluster."""
    ray = workload.ray
    if ray is None or not ray.serving_gpus.is_known:
        return
    if not ray.autoscaling.is_known or ray.autoscaling.value:
        return
    total, holding = _standing(workload)
    used = ray.serving_gpus.value
    if holding is None or used >= total:
        return
    yield exceeds.say(
        ray.serving_gpus.place,
        case="ray-serve",
        used=used,
        total=total,
        idle=total - used,
        money=held(context, workload, holding, Fraction(total - used, total)),
    )


@written_rule("gpu-count-below-parallelism")
def below(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Explicit sizes only; over several pods the GPUs of the whole group count. Ray's `num-gpus`
    above those of the container stops each task that is given one of the others (ray-project/ray
    python/ray/_private/accelerators/nvidia_gpu.py: CUDA_VISIBLE_DEVICES by index)."""
    for group in workload.pod_groups:
        asked = group.pod_gpus(GPU)
        if asked.is_known and 0 < asked.value < group.promised_gpus:
            yield below.say(group.place, case="ray", group=group, asked=asked)
    for found in _compared(workload):
        if found.opened <= found.asked:
            continue
        needed = -(-found.opened // found.pods)
        yield below.say(
            found.container.where,
            found=found,
            more=found.write(needed),
            money=held(context, workload, found.group, kind=AmountKind.STANDING),
            provenance=found.provenance,
        )


@written_rule("ray-serve-exceeds-cluster")
def serve_exceeds(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """All replicas of all applications against all pods, where Ray's autoscaler is off."""
    ray = workload.ray
    if ray is None or not ray.serving_gpus.is_known or ray.autoscaling.found is not False:
        return
    total, holding = _standing(workload)
    if holding is None or ray.serving_gpus.value <= total:
        return
    yield serve_exceeds.say(ray.serving_gpus.place, ray=ray, total=total)
