"""What each workload's pods must say to land on their pool, and what the policies read of them."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from gpufleet.fleet import Fleet
from gpufleet.partition import Share
from gpufleet.planner.plan import PlacedWorkload, Plan
from gpufleet.render.pod_request import pod_spec
from gpufleet.sizing.parameters import count_parameters

_GIB = 1 << 30
_DEADLINE_MARGIN = 1.5
"""A job is ended after its modelled time, half as much again."""


def manifests(plan: Plan) -> tuple[dict[str, Any], ...]:
    """One Deployment, Job or StatefulSet for each workload; one Job of several pods where a job
    takes several machines. Empty when there is no fleet."""
    if plan.fleet is None:
        return ()
    return tuple(_manifest(work, plan.fleet) for work in plan.workloads)


def autoscaling_hint(work: PlacedWorkload) -> dict[str, Any] | None:
    """How a service scales: by the requests it has in flight, never by GPU utilisation, which is
    high as soon as one sequence runs."""
    if work.need is None or work.need.trains:
        return None
    most = work.option.reached.copies
    return {
        "minReplicas": min(work.need.replicas, most),
        "maxReplicas": most,
        "metric": "vllm:num_requests_running",
        "target": max(int(work.option.reached.batch * 0.8), 1),
    }


def _manifest(work: PlacedWorkload, fleet: Fleet) -> dict[str, Any]:
    entry, option = work.entry, work.option
    pool = fleet.pool(work.pool)
    spec = pod_spec(pool, _share(work, pool.partition.shares))
    container = spec["containers"][0]
    container["name"] = entry.name
    container["image"] = entry.image or f"example.invalid/{entry.name}"
    machine = option.machine
    each = _gpus_of_pod(work)
    resources = container["resources"]
    resource = next(iter(resources["limits"]))
    if option.share.kind.value == "whole":
        resources["limits"][resource] = str(each)
    part = option.share.part * each / machine.gpus
    resources["requests"] = {
        **resources["limits"],
        **_host_requests(machine.vcpu, machine.memory_bytes, float(part)),
    }
    pods = option.devices // each
    labels = {"app": entry.name}
    template = {"metadata": {"labels": labels, "annotations": annotations(work)}, "spec": spec}
    head = {"metadata": {"name": entry.name, "namespace": entry.team or "default"}}
    if work.need is not None and work.need.trains:
        spec["restartPolicy"] = "OnFailure" if entry.interruptible else "Never"
        job: dict[str, Any] = {"completions": pods, "parallelism": pods, "backoffLimit": 3}
        if option.reached.run_hours is not None:
            job["activeDeadlineSeconds"] = ceil(3600 * option.reached.run_hours * _DEADLINE_MARGIN)
        if entry.team is not None:
            head["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": entry.team}  # type: ignore[index]
            job["suspend"] = True
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            **head,
            "spec": {**job, "template": template},
        }
    kind = "StatefulSet" if work.need is None else "Deployment"
    more = {"serviceName": entry.name} if work.need is None else {}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        **head,
        "spec": {
            "replicas": pods,
            **more,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }


def annotations(work: PlacedWorkload) -> dict[str, str]:
    """What the policies read: size, precision, need, promises."""
    found = {"gpufleet.dev/min-gpu-memory-gib": f"{work.option.reached.need_bytes / _GIB:.2f}"}
    if work.need is None:
        return {**found, "gpufleet.dev/mode": "interactive"}
    parameters = count_parameters(work.need.model).total / 1e9
    found["gpufleet.dev/model-params-b"] = f"{parameters:.3g}"
    found["gpufleet.dev/mode"] = "training" if work.need.trains else "inference"
    if not work.need.trains:
        found["gpufleet.dev/precision"] = work.option.reached.precision
    target = work.need.target
    latency = [ms for ms in (target.first_token_ms, target.token_ms) if ms is not None]
    if latency:
        found["gpufleet.dev/latency-slo-ms"] = f"{min(latency):g}"
    rate = work.option.reached.asked_tokens_per_second
    if rate:
        found["gpufleet.dev/throughput-slo"] = f"{rate:g}"
    return found


def _share(work: PlacedWorkload, shares: tuple[Share, ...]) -> Share:
    profile = work.option.share.profile
    return next(share for share in shares if share.profile == profile)


def _gpus_of_pod(work: PlacedWorkload) -> int:
    """GPUs of one pod: a whole copy, at most those of a machine."""
    return min(work.option.reached.gpus_each, work.option.machine.gpus)


def _host_requests(vcpu: int | None, memory: int | None, part: float) -> Mapping[str, str]:
    """The pod's part of the machine, a quarter left to the system and its daemons (assumed)."""
    found: dict[str, str] = {}
    if vcpu:
        found["cpu"] = f"{max(int(1000 * vcpu * part * 0.75), 100)}m"
    if memory:
        found["memory"] = f"{max(int(memory / (1 << 20) * part * 0.75), 256)}Mi"
    return found
