"""One day of a small fleet, as the series that its exporters would have been scraped for.

Three pools: time-sliced L4s that serve, an A100 machine in MIG slices for notebooks, an H100
machine for training. The day has a night, office hours, a job that waits and, in the evening, an
XID. Figures of GPUs are invented; names and labels are those of the DCGM exporter,
kube-state-metrics and Kueue. `promtool tsdb create-blocks-from openmetrics` reads the text.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from tests.engine.dcgm_exporter import line

BEGIN = int(datetime(2026, 11, 26, tzinfo=UTC).timestamp())
END = BEGIN + 24 * 3600
STEP = 240
"""Seconds between two samples: below the five minutes after which Prometheus drops a series."""
SPEC: dict[str, Any] = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1"},
    "pools": [
        {
            "name": "chat",
            "instanceTypes": ["g6.xlarge"],
            "nodes": {"min": 3, "max": 3},
            "sharing": {"timeSlicing": {"replicas": 4}},
        },
        {
            "name": "notebooks",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 1, "max": 1},
            "sharing": {
                "mig": {
                    "strategy": "mixed",
                    "layouts": [
                        {"gpus": 4, "devices": {"1g.10gb": 7}},
                        {"gpus": 4, "devices": {"3g.40gb": 2}},
                    ],
                }
            },
        },
        {"name": "training", "instanceTypes": ["p5.48xlarge"], "nodes": {"min": 1, "max": 1}},
    ],
    "queues": {
        "teams": [
            {"name": "assistants", "share": 0.3},
            {"name": "research", "share": 0.3, "namespaces": ["lab-a", "lab-b"]},
            {"name": "models", "share": 0.4},
        ]
    },
    "monitoring": {},
}
WHOLE, SHARED = "nvidia_com_gpu", "nvidia_com_gpu_shared"
SMALL, LARGE = "nvidia_com_mig_1g_10gb", "nvidia_com_mig_3g_40gb"
NODES = {
    "chat-0": ("chat", {SHARED: 4}),
    "chat-1": ("chat", {SHARED: 4}),
    "chat-2": ("chat", {SHARED: 4}),
    "notebooks-0": ("notebooks", {SMALL: 28, LARGE: 8}),
    "training-0": ("training", {WHOLE: 8}),
}
QUOTA = {
    "assistants": (SHARED, "nvidia.com/gpu.shared", 12),
    "research": (SMALL, "nvidia.com/mig-1g.10gb", 28),
    "models": (WHOLE, "nvidia.com/gpu", 8),
}
"""Team -> resource as kube-state-metrics writes it and as Kueue does, nominal quota."""
Held = tuple[str, str, str, str, int]
"""Namespace, pod, node, resource and units of a pod that runs."""


def hour(time: int) -> float:
    """Hours since the day began."""
    return (time - BEGIN) / 3600


def office(time: int) -> float:
    """Share of the day's peak: about 0 at night, 1 at two in the afternoon."""
    return math.exp(-(((hour(time) - 14) / 4.5) ** 2))


def running(time: int) -> list[Held]:
    """Pods that hold something at this second."""
    servers = round(5 + 6 * office(time))
    found = [
        ("assistants", f"chat-{number}", f"chat-{number % 3}", SHARED, 1)
        for number in range(servers)
    ]
    books = round(4 + 20 * office(time))
    for number in range(books):
        space = "lab-a" if number % 3 else "lab-b"
        found.append((space, f"notebook-{number}", "notebooks-0", SMALL, 1))
    for number in range(round(2 + 4 * office(time))):
        found.append(("lab-b", f"tune-{number}", "notebooks-0", LARGE, 1))
    job = training(time)
    if job:
        found.append(("models", job, "training-0", WHOLE, 8))
    return found


def training(time: int) -> str:
    """The job that has the eight H100s, empty between two jobs."""
    at = hour(time)
    if at < 7.5:
        return "pretrain-41"
    return "pretrain-42" if 9 <= at < 20 else "pretrain-43" if at >= 20.5 else ""


def waiting(time: int) -> int:
    """Jobs in the queue of the team `models`."""
    at = hour(time)
    return 2 if 12 <= at < 16 else 1 if 10 <= at < 20.5 else 0


def devices(time: int) -> Iterator[tuple[dict[str, str], float, float, float]]:
    """Labels of each GPU or slice, its engine's share, and its memory and watts in all.

    The exporter names one pod of a device: the first of those that take turns.
    """
    by_place: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for held in running(time):
        by_place[held[2], held[3]].append(held)
    for number in range(3):
        node = f"chat-{number}"
        owners = by_place[node, SHARED]
        busy = min(1, 0.1 * len(owners) + 0.5 * office(time) + 0.05 * math.sin(hour(time) * 3))
        yield _labels(node, 0, "NVIDIA L4", owners[:1]), max(0.02, busy), 23_034, 72
    for kind, first, each, size in ((SMALL, 0, 7, 9_728), (LARGE, 4, 2, 40_192)):
        owners = by_place["notebooks-0", kind]
        for number in range(4 * each):
            owner = owners[number : number + 1]
            wave = 0.5 + 0.5 * math.sin(hour(time) + number)
            labels = _labels("notebooks-0", first + number // each, "NVIDIA A100-SXM4-80GB", owner)
            profile = kind.removeprefix("nvidia_com_mig_").replace("_", ".")
            labels |= {"GPU_I_ID": str(number % each + 1), "GPU_I_PROFILE": profile}
            yield labels, 0.7 * wave * office(time) if owner else 0, size, 400
    job = by_place["training-0", WHOLE]
    for gpu in range(8):
        busy = 0.93 + 0.04 * math.sin(hour(time) * 11 + gpu) if job else 0
        yield _labels("training-0", gpu, "NVIDIA H100 80GB HBM3", job), busy, 81_559, 700


def _labels(node: str, gpu: int, model: str, owner: list[Held]) -> dict[str, str]:
    pod = {"exported_namespace": owner[0][0], "exported_pod": owner[0][1]} if owner else {}
    named = {"gpu": str(gpu), "UUID": f"GPU-{node}-{gpu}", "modelName": model, "Hostname": node}
    return named | pod


def samples(time: int) -> Iterator[tuple[str, float, dict[str, str]]]:
    """Everything that is scraped at this second."""
    for labels, busy, memory, watts in devices(time):
        held = memory * (0.12 + 0.75 * min(1, busy * 1.1)) if "exported_pod" in labels else 0
        yield "DCGM_FI_PROF_GR_ENGINE_ACTIVE", busy, labels
        yield "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", busy * 0.55, labels
        yield "DCGM_FI_PROF_DRAM_ACTIVE", busy * 0.4, labels
        yield "DCGM_FI_DEV_FB_USED", held, labels
        yield "DCGM_FI_DEV_FB_FREE", memory - held, labels
        yield "DCGM_FI_DEV_FB_RESERVED", 0, labels
        yield "DCGM_FI_DEV_GPU_TEMP", 34 + 38 * busy, labels
        yield "DCGM_FI_DEV_POWER_USAGE", watts * (0.16 + 0.8 * busy), labels
    if hour(time) >= 21:
        broken = _labels("training-0", 5, "NVIDIA H100 80GB HBM3", [])
        yield "DCGM_EXP_XID_ERRORS_COUNT", 1, broken | {"xid": "79"}
    for node, (pool, units) in NODES.items():
        yield "kube_node_labels", 1, {"node": node, "label_gpufleet_dev_pool": pool}
        for resource, amount in units.items():
            yield "kube_node_status_allocatable", amount, {"node": node, "resource": resource}
    pods = [(held, "Running") for held in running(time)]
    if 13 <= hour(time) < 15:
        pods.append((("assistants", "chat-11", "", SHARED, 1), "Pending"))
        pods.append((("assistants", "chat-12", "", SHARED, 1), "Pending"))
    for (namespace, pod, node, resource, amount), phase in pods:
        own = {"namespace": namespace, "pod": pod}
        yield "kube_pod_status_phase", 1, own | {"phase": phase}
        asked = own | {"container": "main", "resource": resource} | ({"node": node} if node else {})
        yield "kube_pod_container_resource_requests", amount, asked
    yield from queues(time)


def queues(time: int) -> Iterator[tuple[str, float, dict[str, str]]]:
    """What Kueue's manager shows of the three teams."""
    used: dict[str, int] = defaultdict(int)
    for _, _, _, resource, amount in running(time):
        used[resource] += amount
    for team, (resource, name, nominal) in QUOTA.items():
        queue = {"cluster_queue": team}
        named = queue | {"resource": name}
        pending = waiting(time) if team == "models" else 0
        yield "kueue_pending_workloads", pending, queue | {"status": "active"}
        yield "kueue_cluster_queue_nominal_quota", nominal, named
        yield "kueue_cluster_queue_resource_usage", used[resource], named
        yield "kueue_cluster_queue_status", 1, queue | {"status": "active"}
        ended = (hour(time) + 3) // 6 if team == "research" else 0
        yield "kueue_evicted_workloads_total", ended, queue | {"reason": "Preempted"}
        admitted = int(hour(time) * 4 * office(time)) + int(hour(time))
        yield "kueue_admitted_workloads_total", admitted, queue
        for bound, share in (("60", 0.5), ("600", 0.9), ("3600", 1.0), ("+Inf", 1.0)):
            count = 20 * hour(time) * share
            yield "kueue_admission_wait_time_seconds_bucket", count, queue | {"le": bound}


def day() -> str:
    """The whole day in OpenMetrics text, grouped by name as that format wants it."""
    found: dict[str, list[str]] = defaultdict(list)
    for time in range(BEGIN, END + STEP, STEP):
        for name, value, labels in samples(time):
            found[name].append(f"{line(name, value, labels)} {time}")
    texts = (f"# TYPE {name} unknown\n" + "\n".join(lines) for name, lines in found.items())
    return "\n".join([*texts, "# EOF", ""])
