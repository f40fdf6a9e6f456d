"""The manifest of each workload: the fields that place its pods, and those that policies read."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from gpufleet.documents.writing import yaml_text
from gpufleet.fleet import Fleet
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.rdma_request import rdma_request
from gpufleet.models.ledger import GIB
from gpufleet.models.parameters import count_parameters
from gpufleet.render.kueue_queues import DEFAULT_QUEUE
from gpufleet.render.pod_request import pod_annotations, pod_spec
from gpufleet_planner.planning.engine_arguments import engine_container
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.planning.scaling import planned_scaled_object
from gpufleet_planner.planning.workloads import Notebooks, PlacedWorkload
from gpufleet_planner.sizing.training import settings_env

_DEADLINE_MARGIN = 1.5
"""A job is ended after its modelled time, half as much again."""


def manifests(plan: PlannedFleet) -> tuple[dict[str, Any], ...]:
    """One Deployment, Job or StatefulSet for each workload; a Job on several machines is indexed.
    Empty without a fleet."""
    if plan.fleet is None:
        return ()
    return tuple(_manifest(work, plan.fleet) for work in plan.workloads)


def planned_objects(plan: PlannedFleet) -> tuple[dict[str, Any], ...]:
    """The manifests with the objects that they need: the Service by which pods of a job over
    several machines find each other, the ScaledObject of a service whose replicas vary."""
    found: list[dict[str, Any]] = []
    for work, document in zip(plan.workloads, manifests(plan), strict=False):
        service = rendezvous_service(document)
        scaled = None if plan.fleet is None else planned_scaled_object(work, plan.fleet)
        found += [one for one in (service, document, scaled) if one is not None]
    return tuple(found)


def manifest_text(plan: PlannedFleet) -> str:
    """The same as a file."""
    return "---\n".join(yaml_text(document) for document in planned_objects(plan))


def _manifest(work: PlacedWorkload, fleet: Fleet) -> dict[str, Any]:
    entry, option = work.entry, work.option
    pool = fleet.pool(work.pools[0])
    asked = rdma_request(pool, fleet.spec, fleet.addons.network_operator)
    shares, images = pool.partition.shares, fleet.spec.addons.images
    share = next(share for share in shares if share.profile == option.share.profile)
    spec = pod_spec(pool, share, asked.resources, images)
    if len(work.pools) > 1:
        _let_choose(spec, work.pools)
    container = spec["containers"][0]
    machine, each = option.machine, work.pod_gpus
    if each > 1:
        _add_shared_memory(spec)
    container["name"] = entry.name
    container["image"] = entry.image or f"example.invalid/{entry.name}"
    container |= engine_container(work)
    training = option.reached.training
    if training is not None:
        environment = container.setdefault("env", [])
        environment += settings_env(training, option.reached.parallel)
        if option.reached.gpus_each > 1:
            environment += rendezvous_env(entry.name, option.devices // each, each)
    resources = container["resources"]
    resource = next(iter(resources["limits"]))
    if option.share.kind.value == "whole":
        resources["limits"][resource] = str(each)
    part = option.share.part * each / machine.gpus
    resources["requests"] = {
        **resources.get("requests", {}),
        **resources["limits"],
        **_host_requests(machine.vcpu, machine.memory_bytes, float(part)),
    }
    pods = option.devices // each
    labels = {"app": entry.name}
    marks = {**pod_annotations(pool, None), **asked.annotations, **annotations(work)}
    template = {"metadata": {"labels": labels, "annotations": marks}, "spec": spec}
    head: dict[str, dict[str, Any]] = {
        "metadata": {"name": entry.name, "namespace": work.namespace}
    }
    if work.need is not None and work.need.trains:
        spec["restartPolicy"] = "OnFailure" if entry.interruptible else "Never"
        job: dict[str, Any] = {"completions": pods, "parallelism": pods, "backoffLimit": 3}
        if pods > 1:
            job["completionMode"] = "Indexed"
            spec["subdomain"] = entry.name
        if option.reached.run_hours is not None:
            job["activeDeadlineSeconds"] = ceil(3600 * option.reached.run_hours * _DEADLINE_MARGIN)
        if entry.team is not None:
            queues = fleet.spec.queues
            default = queues is not None and queues.default_queue
            queue = DEFAULT_QUEUE if default else entry.team
            head["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
            job["suspend"] = True
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            **head,
            "spec": {**job, "template": template},
        }
    kind = "StatefulSet" if work.need is None else "Deployment"
    # Notebooks do not wait for each other.
    more: dict[str, Any] = {"serviceName": entry.name, "podManagementPolicy": "Parallel"}
    if work.need is not None:
        # The plan buys no GPU for a second pod during an update: the old one ends before.
        more = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
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


def _let_choose(spec: dict[str, Any], pools: tuple[str, ...]) -> None:
    """Nodes of several pools offer the same slice: any of them will do."""
    del spec["nodeSelector"][POOL_LABEL]
    named = {"key": POOL_LABEL, "operator": "In", "values": list(pools)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [named]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    spec["affinity"] = {"nodeAffinity": required}


_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - where NCCL and workers of data loaders meet


def _add_shared_memory(spec: dict[str, Any]) -> None:
    """A memory volume for processes that share a pod: a container's own has 64 MiB, too
    little for tensor parallel inference (docs.vllm.ai, Deploying with Docker)."""
    container = spec["containers"][0]
    mounts = container.setdefault("volumeMounts", [])
    if any(mount["mountPath"] == _SHARED_MEMORY for mount in mounts):
        return
    mounts.append({"name": "shared-memory", "mountPath": _SHARED_MEMORY})
    spec.setdefault("volumes", []).append(
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}}
    )


def annotations(work: PlacedWorkload) -> dict[str, str]:
    """Annotations for the policies: size, precision, need, promises."""
    # What one pod needs over all of its GPUs, as the policies read it.
    memory = work.option.reached.need_bytes * work.pod_gpus
    found = {"gpufleet.dev/min-gpu-memory-gib": f"{memory / GIB:.2f}"}
    found["gpufleet.dev/sized-by"] = "gpufleet plan"
    if work.need is None:
        found["gpufleet.dev/mode"] = "interactive"
        if isinstance(work.entry, Notebooks) and work.entry.culled_after_hours is not None:
            seconds = ceil(3600 * work.entry.culled_after_hours)
            found["gpufleet.dev/culled-after-seconds"] = str(seconds)
        return found
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


def _host_requests(vcpu: int | None, memory: int | None, part: float) -> Mapping[str, str]:
    """The pod's part of the machine, a quarter left to the system and its daemons (assumed)."""
    found: dict[str, str] = {}
    if vcpu:
        found["cpu"] = f"{max(int(1000 * vcpu * part * 0.75), 100)}m"
    if memory:
        found["memory"] = f"{max(int(memory / (1 << 20) * part * 0.75), 256)}Mi"
    return found


_PORT = 29_500
"""Default of torchrun."""
_INDEX = "batch.kubernetes.io/job-completion-index"


def rendezvous_env(name: str, pods: int, gpus: int) -> list[dict[str, Any]]:
    """Variables of the container: one process for each GPU, the first pod leads.

    An indexed Job gives each pod a rank and, with a headless Service, its own name (Kubernetes,
    Jobs, "Completion mode"; "Indexed Job for Parallel Processing"). `torchrun` reads
    each of its options from a variable `PET_<OPTION>` (pytorch
    torch/distributed/argparse_util.py); Kubeflow's trainer sets the same ones.
    """
    found: list[dict[str, Any]] = [
        {"name": "PET_NNODES", "value": str(pods)},
        {"name": "PET_NPROC_PER_NODE", "value": str(gpus)},
    ]
    if pods == 1:
        return found
    leader = f"{name}-0.{name}"
    field = {"fieldRef": {"fieldPath": f"metadata.annotations['{_INDEX}']"}}
    return [
        *found,
        {"name": "PET_NODE_RANK", "valueFrom": field},
        {"name": "PET_MASTER_ADDR", "value": leader},
        {"name": "PET_MASTER_PORT", "value": str(_PORT)},
        {"name": "MASTER_ADDR", "value": leader},
        {"name": "MASTER_PORT", "value": str(_PORT)},
    ]


def rendezvous_service(job: dict[str, Any]) -> dict[str, Any] | None:
    """The headless Service of a job of several pods; None where it needs none.

    It names pods before they are ready: they wait for each other.
    """
    if job["kind"] != "Job" or job["spec"].get("completionMode") != "Indexed":
        return None
    metadata = job["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"batch.kubernetes.io/job-name": metadata["name"]},
            "ports": [{"name": "rendezvous", "port": _PORT}],
        },
    }
