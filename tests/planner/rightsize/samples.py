"""Synthetic measurements of workloads whose needs are known."""

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

START = 1_790_000_000
STEP = 1800
DAYS = 8


@dataclass(frozen=True)
class Truth:
    """A workload as it really is."""

    name: str
    model: str
    """DCGM's name of the GPU."""
    peak_gib: float
    compute: float
    """Part of the present device's compute that it keeps busy at its peak."""
    bandwidth: float
    devices: int = 1
    working: int = 1
    """Devices of each pod that do something."""
    pods: int = 1
    profile: str = ""
    kind: str = "Deployment"
    days: int = DAYS
    series: tuple[str, ...] = field(
        default=("DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_DEV_FB_USED")
    )
    shared_with: str = ""
    steady: bool = False
    """Memory that never changes."""


def answer(truths: Iterable[Truth], seed: int = 1) -> str:
    """The result of a range query over all of them."""
    rng = random.Random(seed)
    result: list[dict[str, Any]] = []
    for truth in truths:
        for number in range(truth.pods):
            result += _pod(truth, number, rng)
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def _pod(truth: Truth, number: int, rng: random.Random) -> Iterable[dict[str, Any]]:
    pod = f"{truth.name}-5d9c-{number}"
    if truth.kind == "Deployment":
        owner = {"namespace": "ml", "pod": pod, "owner_kind": "ReplicaSet"}
        yield _one("kube_pod_owner", {**owner, "owner_name": f"{truth.name}-5d9c"}, [1.0] * 2)
        above = {"namespace": "ml", "replicaset": f"{truth.name}-5d9c", "owner_kind": "Deployment"}
        yield _one("kube_replicaset_owner", {**above, "owner_name": truth.name}, [1.0] * 2)
    count = truth.days * 86_400 // STEP
    peak_at = rng.randrange(count)
    for device in range(truth.devices):
        works = device < truth.working
        name = truth.shared_with or truth.name
        labels = {
            "UUID": f"GPU-{name}-{0 if truth.shared_with else number}-{device}",
            "modelName": truth.model,
            "namespace": "ml",
            "pod": pod,
            "container": "server",
            "Hostname": "node-1",
            **({"GPU_I_PROFILE": truth.profile, "GPU_I_ID": "1"} if truth.profile else {}),
        }
        most = truth.peak_gib * 1024 if works else 450.0
        for series in truth.series:
            values: list[float] = []
            for at in range(count):
                load = 1.0 if abs(at - peak_at) < count // 20 else rng.uniform(0.2, 0.95)
                if series == "DCGM_FI_DEV_FB_USED":
                    values.append(most if truth.steady or not works else most * (0.7 + 0.3 * load))
                else:
                    part = truth.bandwidth if "DRAM" in series else truth.compute
                    scale = 100 if series == "DCGM_FI_DEV_GPU_UTIL" else 1
                    values.append(part * load * scale if works else 0.0)
            yield _one(series, labels, values, rng)


def _one(
    name: str, labels: dict[str, str], values: list[float], rng: random.Random | None = None
) -> dict[str, Any]:
    """A series; one sample of fifty is missing."""
    kept = [
        [START + STEP * at, f"{value:.4f}"]
        for at, value in enumerate(values)
        if rng is None or rng.random() > 0.02
    ]
    return {"metric": {"__name__": name, **labels}, "values": kept}
