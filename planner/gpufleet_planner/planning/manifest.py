"""A plan written down: the FleetSpec to commit with the derivation of every pool above it, plain
data, and the manifest of each workload: fields that place its pods, and those for the policies.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

from gpufleet.documents.writing import commented, yaml_text
from gpufleet.fleet import Fleet
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.nic_cluster_policy import rdma_request
from gpufleet.models.ledger import GIB
from gpufleet.models.parameters import count_parameters
from gpufleet.render.kueue_queues import DEFAULT_QUEUE
from gpufleet.render.pod_request import pod_annotations, pod_spec
from gpufleet_planner.explanation.explain import explain_option, lines_as_text
from gpufleet_planner.planning.choice import rejected_as_list
from gpufleet_planner.planning.engine_arguments import engine_container
from gpufleet_planner.planning.layouts import FilledPool
from gpufleet_planner.planning.option import Option, option_as_dict, usd
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.planning.pools import planned_scaled_object
from gpufleet_planner.planning.workloads import Notebooks, PlacedWorkload
from gpufleet_planner.sizing.training import settings_env, settings_text
from gpufleet_planner.tables import texts


def spec_text(plan: PlannedFleet, *, explain: bool = False) -> str:
    """The file; the same plan gives the same bytes. Empty without a spec. `explain` adds every
    number's formula and source to the comments of each pool."""
    if plan.spec is None:
        return ""
    head = {key: value for key, value in plan.spec.items() if key != "pools"}
    before = ("catalogue", "platform", "environment", "cluster", "provisioner")
    text = commented("\n".join(_summary(plan)))
    text += yaml_text({key: head.pop(key) for key in before if key in head})
    text += "pools:\n"
    for (name, pool), data in zip(plan.pools, plan.spec["pools"], strict=True):
        members = plan.on(name)
        lines = "\n".join(derivation(pool, members))
        if explain:
            for work in members:
                numbers = lines_as_text(explain_option(work.need, work.option), "  ")
                lines += f"\n{work.entry.name}, every number:\n{numbers}"
        text += "".join(f"  {line}\n" for line in commented(lines).splitlines())
        text += "".join(f"  {line}\n" for line in yaml_text({"pools": [data]}).splitlines()[1:])
    return text + (yaml_text(head) if head else "")


def derivation(pool: FilledPool, members: list[PlacedWorkload]) -> Iterator[str]:
    """Why a pool is what it is: each workload's need, speed, price, and what it was chosen over."""
    for work in members:
        yield from _why(work)
    machine, zones = pool.key.machine, pool.key.zones
    first = zones if pool.joined and len(zones) > 1 else ()
    facts = {"pool": pool, "machine": machine, "zones": first, "all_zones": ", ".join(zones)}
    facts |= {"cut": 0 if pool.layout is None else pool.layout.gpus_cut}
    facts |= {"spare": float(pool.spare_gpus), "gpus": pool.nodes * machine.gpus}
    yield from texts("plan/pool", facts)


def _summary(plan: PlannedFleet) -> Iterator[str]:
    yield "Planned by `gpufleet plan`. Change the workloads and plan again rather than this file."
    yield cost_line(plan)
    if plan.fleets:
        both = "; ".join(fleet.text for fleet in plan.fleets)
        yield f"{both}. This is the {plan.confidence} one."
        yield from separates(plan)
    yield "Every figure is marked measured, modelled or assumed."


def separates(plan: PlannedFleet) -> list[str]:
    """The difference between the two fleets of a plan, and the measurement that decides it."""
    works = plan.workloads if plan.fleets else ()
    facts = ({"work": work, "need": work.need, "reached": work.option.reached} for work in works)
    return [text for one in facts for text in texts("plan/doubt", one)]


def cost_line(plan: PlannedFleet) -> str:
    """Cost of the plan with all its nodes, and its gap to the lower bound."""
    spent, bound = plan.usd_per_hour, plan.bound_usd_per_hour
    facts = {"spent": spent, "bound": bound, "gpus": plan.gpu_hours}
    facts["gap"] = 100 * (spent - bound) / bound if spent is not None and bound else 0
    return next(texts("plan/cost", facts | {"known": None not in (spent, bound)}))


def _why(work: PlacedWorkload) -> Iterator[str]:
    option, reached, model = work.option, work.option.reached, ""
    if work.need is not None:
        model = f" {work.need.model.name}, {work.entry.workload},"
    facts = {"work": work, "option": option, "reached": reached, "share": option.share}
    facts |= {"model": model, "part": usd(option.part_micro_usd)}
    facts["groups"] = f" ({', '.join(reached.groups)})" if reached.groups else ""
    job, split = reached.training, reached.parallel
    facts["settings"] = "" if job is None else settings_text(job, split)
    yield from texts("plan/workload", facts)
    for note in filter(None, (*option.notes, reached.range_note)):
        yield f"  {note}"
    other = work.runner_up
    if other is not None:
        yield f"  instead of {other.label}: {_against(other, option)}"


def _against(other: Option, chosen: Option) -> str:
    mine, theirs = usd(chosen.billed_micro_usd), usd(other.billed_micro_usd)
    if other.usd_per_run is not None and chosen.usd_per_run is not None:
        return f"{other.usd_per_run:,.2f} USD a run against {chosen.usd_per_run:,.2f}"
    if mine is None or theirs is None:
        return "no price is known"
    return f"{theirs:,.4f} USD/h alone against {mine:,.4f}"


def plan_as_dict(plan: PlannedFleet, hints: Mapping[str, Any]) -> dict[str, Any]:
    """Spec, pools with their derivation, workloads with option, runner-up and why others lost."""
    spent, bound = plan.usd_per_hour, plan.bound_usd_per_hour
    return {
        "spec": plan.spec,
        "cost": {
            "usdPerHour": None if spent is None else f"{spent:.6f}",
            "lowerBoundUsdPerHour": None if bound is None else f"{bound:.6f}",
            "gap": None if not spent or not bound else round(float((spent - bound) / bound), 6),
            "gpuHoursPerHour": plan.gpu_hours,
        },
        "confidence": {
            "chosen": plan.confidence.value,
            **{fleet.confidence.value: fleet.as_dict() for fleet in plan.fleets},
            "separates": separates(plan),
        },
        "pools": [
            {
                "name": name,
                "machine": pool.key.machine.name,
                "nodes": pool.nodes,
                "sharing": pool.key.sharing,
                "workloads": [member for member, _ in pool.members],
                "spareGpus": round(float(pool.spare_gpus), 6),
                "derivation": list(derivation(pool, plan.on(name))),
            }
            for name, pool in plan.pools
        ],
        "workloads": [
            {
                "name": work.entry.name,
                "path": work.path,
                "pool": work.pools[0],
                "pools": list(work.pools),
                "option": option_as_dict(work.option),
                "runnerUp": None if work.runner_up is None else work.runner_up.label,
                "autoscaling": hints.get(work.entry.name),
                "rejected": rejected_as_list(work.choice),
            }
            for work in plan.workloads
        ],
    }


_DEADLINE_MARGIN = 1.5
"""A job is ended after its modelled time, half as much again."""


def manifests(plan: PlannedFleet) -> tuple[dict[str, Any], ...]:
    """One Deployment, Job or StatefulSet for each workload; a Job on several machines is indexed.
    Empty without a fleet."""
    if plan.fleet is None:
        return ()
    return tuple(_manifest(work, plan.fleet) for work in plan.workloads)


def planned_objects(plan: PlannedFleet) -> Iterator[dict[str, Any]]:
    """The manifests with the objects that they need: the Service by which pods of a job over
    several machines find each other, the ScaledObject of a service whose replicas vary."""
    for work, document in zip(plan.workloads, manifests(plan), strict=False):
        service = rendezvous_service(document)
        scaled = None if plan.fleet is None else planned_scaled_object(work, plan.fleet)
        yield from [one for one in (service, document, scaled) if one is not None]


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
        body: dict[str, Any] = {"completions": pods, "parallelism": pods, "backoffLimit": 3}
        if pods > 1:
            body["completionMode"] = "Indexed"
            spec["subdomain"] = entry.name
        if option.reached.run_hours is not None:
            body["activeDeadlineSeconds"] = ceil(3600 * option.reached.run_hours * _DEADLINE_MARGIN)
        if entry.team is not None:
            queues = fleet.spec.queues
            default = queues is not None and queues.default_queue
            queue = DEFAULT_QUEUE if default else entry.team
            head["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
            body["suspend"] = True
        api, kind = "batch/v1", "Job"
    else:
        api, kind = "apps/v1", "StatefulSet" if work.need is None else "Deployment"
        # Notebooks do not wait for each other.
        more: dict[str, Any] = {"serviceName": entry.name, "podManagementPolicy": "Parallel"}
        if work.need is not None:
            # The plan buys no GPU for a second pod during an update: the old one ends before.
            more = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
        body = {"replicas": pods, **more, "selector": {"matchLabels": labels}}
    return {"apiVersion": api, "kind": kind, **head, "spec": {**body, "template": template}}


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
