"""Whether a Google project's quotas allow all pools at their largest size.

Metrics: `Quota.Metric` of the Compute API (google-cloud-compute 1.48.0) and SkyPilot's
`accelerator_quota_mapping.csv` (2c3d7ea). GPUs from H100 on are counted by GPU family in Cloud
Quotas instead, which the Compute API does not show.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpufleet.catalogue.edition import read_rows
from gpufleet.components_base.answers import Answers
from gpufleet.findings import findings_in, rules_in
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.google_client import GoogleClient

_finding, _rules = findings_in(__file__), rules_in(__file__)

_FOLDER = Path(__file__).parent
METRICS = {row["accelerator"]: row["metric"] for row in read_rows(_FOLDER, "gpu_quotas")}
"""Accelerator type -> regional quota of on-demand GPUs."""

PREEMPTIBLE = "PREEMPTIBLE_"
"""Prefix of the quota for spot, flex start and queued capacity."""

ALL_REGIONS = "GPUS_ALL_REGIONS"


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """Demand of some pools on one quota."""

    metric: str | None
    """None: no metric of the Compute API counts the GPUs."""
    accelerator: str
    pools: tuple[Pool, ...]
    gpus: int
    """Sum at their largest size."""


Purchase = tuple[Pool, Sequence[bool]]
"""A pool, and for each capacity type with a quota for GPUs: whether it is preemptible."""


def needs(purchases: Iterable[Purchase]) -> list[GpuNeed]:
    """Demand of the pools on each quota."""
    found: dict[tuple[str | None, str], tuple[list[Pool], int]] = {}
    for pool, steps in purchases:
        row = pool.machines[0].instance
        kind = "" if row is None else row.gke_accelerator_type or ""
        for preemptible in steps:
            metric = METRICS.get(kind)
            if metric is not None and preemptible:
                metric = PREEMPTIBLE + metric
            members, gpus = found.get((metric, kind), ([], 0))
            if pool not in members:
                members.append(pool)
            found[metric, kind] = members, gpus + pool.nodes.maximum * pool.gpus_per_node
    return [
        GpuNeed(metric, kind, tuple(members), gpus)
        for (metric, kind), (members, gpus) in found.items()
    ]


def ask_quotas(
    google: GoogleClient, fleet: Fleet, purchases: Sequence[Purchase], answers: Answers
) -> None:
    """Whether GPU quotas allow all pools at their largest size."""
    needed = needs(purchases)
    for need in needed:
        if need.metric is None:
            answers.could_not_check(
                _place(need),
                f"the quota of {need.accelerator}",
                "it is counted by GPU family in Cloud Quotas, which the Compute API does not show",
                f"look for {need.gpus} GPUs under `GPUS-PER-GPU-FAMILY-per-project-region`",
            )
    wanted = [need for need in needed if need.metric is not None]
    if not wanted:
        return
    region = str(fleet.spec.cluster.region)
    missing = _finding("region-unknown", found=region)
    answer: Any = google.answer("region", missing, region=region)
    if answer is None:
        return
    for need in wanted:
        _compare(need, str(need.metric), answer.quotas, f"{region} has", answers)
    _everywhere(google, wanted, answers)


def _everywhere(google: GoogleClient, needed: Sequence[GpuNeed], answers: Answers) -> None:
    """The quota for all regions together."""
    answer: Any = google.answer("project", quota=ALL_REGIONS)
    if answer is None:
        return
    # Preemptible GPUs are not counted there.
    on_demand = [need for need in needed if not str(need.metric).startswith("PREEMPTIBLE")]
    if not on_demand:
        return
    together = GpuNeed(
        ALL_REGIONS,
        "GPUs",
        tuple(pool for need in on_demand for pool in need.pools),
        sum(need.gpus for need in on_demand),
    )
    _compare(together, ALL_REGIONS, answer.quotas, "the project has", answers)


def _compare(need: GpuNeed, metric: str, quotas: Any, who: str, answers: Answers) -> None:
    found = next((one for one in quotas if one.metric == metric), None)
    names = list(dict.fromkeys(pool.name for pool in need.pools))
    place, gpus = _place(need), need.gpus
    if found is None:
        reason = f"{who} none of that name"
        fix = "look for it in Cloud Quotas"
        answers.could_not_check(place, f"the quota {metric}", reason, fix)
        return
    limit, used = int(found.limit), int(found.usage)
    known = {"limit": limit, "used": used, "room": limit - used, "together": gpus + used}
    answers.findings += _rules(
        "gpu-quota", place, pools=names, metric=metric, who=who, gpus=gpus, **known
    )


def _place(need: GpuNeed) -> str:
    paths = list(dict.fromkeys(pool.path for pool in need.pools))
    return f"{paths[0]}.nodes.max" if len(paths) == 1 else "pools"
