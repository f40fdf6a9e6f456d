"""Whether a Google project's quotas admit all pools at their largest size."""

from collections.abc import Sequence
from typing import Any

from gpufleet.components_base.answers import Answers
from gpufleet.findings import findings_in
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.accounts.google_client import GoogleClient
from gpufleet.platforms.accounts.gpu_quotas import ALL_REGIONS, GpuNeed, Purchase, needs

_finding = findings_in(__file__)


def ask_quotas(
    google: GoogleClient, fleet: Fleet, purchases: Sequence[Purchase], answers: Answers
) -> None:
    """Whether GPU quotas admit all pools at their largest size."""
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
    answer: Any = answers.answer(
        _finding("region-unknown", found=region),
        google.ask,
        "regions",
        "get",
        "cluster.region",
        f"GPU quotas of {region}",
        "compute.regions.get",
        project=google.project,
        region=region,
    )
    if answer is None:
        return
    for need in wanted:
        _compare(need, str(need.metric), answer.quotas, f"{region} has", answers)
    _everywhere(google, wanted, answers)


def _everywhere(google: GoogleClient, needed: Sequence[GpuNeed], answers: Answers) -> None:
    """The one quota over all regions."""
    answer: Any = answers.answer(
        None,
        google.ask,
        "projects",
        "get",
        "pools",
        f"the quota {ALL_REGIONS}",
        "compute.projects.get",
        project=google.project,
    )
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
    if gpus > limit:
        answers.findings.append(
            _finding(
                "gpu-quota-short",
                place,
                pools=names,
                metric=metric,
                who=who,
                found=gpus,
                limit=limit,
                used=used,
            )
        )
    elif gpus > limit - used:
        answers.findings.append(
            _finding(
                "gpu-quota-tight",
                place,
                pools=names,
                metric=metric,
                who=who,
                found=gpus,
                limit=limit,
                used=used,
                together=gpus + used,
            )
        )


def _place(need: GpuNeed) -> str:
    paths = list(dict.fromkeys(pool.path for pool in need.pools))
    return f"{paths[0]}.nodes.max" if len(paths) == 1 else "pools"
