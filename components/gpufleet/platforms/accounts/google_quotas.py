"""Whether a Google project's quotas admit all pools at their largest size."""

from collections.abc import Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.accounts.google_client import GoogleClient
from gpufleet.platforms.accounts.gpu_quotas import ALL_REGIONS, GpuNeed, Purchase, needs


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
    question = f"GPU quotas of {region}"
    try:
        answer = google.ask(
            "regions",
            "get",
            "cluster.region",
            question,
            "compute.regions.get",
            project=google.project,
            region=region,
        )
    except NotAnsweredError:
        return
    except MissingError:
        answers.error(
            "region-unknown",
            "cluster.region",
            f"there is no region {region}",
            "correct it",
            found=region,
        )
        return
    for need in wanted:
        _compare(need, str(need.metric), answer.quotas, f"{region} has", answers)
    _everywhere(google, wanted, answers)


def _everywhere(google: GoogleClient, needed: Sequence[GpuNeed], answers: Answers) -> None:
    """The one quota over all regions."""
    try:
        answer = google.ask(
            "projects",
            "get",
            "pools",
            f"the quota {ALL_REGIONS}",
            "compute.projects.get",
            project=google.project,
        )
    except (NotAnsweredError, MissingError):
        return
    # Preemptible GPUs are not counted there.
    on_demand = [need for need in needed if not str(need.metric).startswith("PREEMPTIBLE")]
    if not on_demand:
        return
    pools = tuple(dict.fromkeys(pool.name for need in on_demand for pool in need.pools))
    together = GpuNeed(
        ALL_REGIONS,
        "GPUs",
        tuple(pool for need in on_demand for pool in need.pools),
        sum(need.gpus for need in on_demand),
    )
    if pools:
        _compare(together, ALL_REGIONS, answer.quotas, "the project has", answers)


def _compare(need: GpuNeed, metric: str, quotas: Any, who: str, answers: Answers) -> None:
    found = next((one for one in quotas if one.metric == metric), None)
    names = ", ".join(dict.fromkeys(pool.name for pool in need.pools))
    if found is None:
        answers.could_not_check(
            _place(need),
            f"the quota {metric}",
            f"{who} none of that name",
            "look for it in Cloud Quotas",
        )
        return
    limit, used = int(found.limit), int(found.usage)
    if need.gpus > limit:
        answers.error(
            "gpu-quota-short",
            _place(need),
            f"{names} may need {need.gpus} GPUs of {metric}, and {who} {limit}",
            f"ask for {need.gpus} or more, or lower nodes.max",
            found=need.gpus,
            limit=limit,
            used=used,
        )
    elif need.gpus > limit - used:
        answers.warning(
            "gpu-quota-tight",
            _place(need),
            f"{names} may need {need.gpus} GPUs of {metric}; {who} {limit}, {used} of them "
            "used, perhaps by these very pools",
            f"ask for {need.gpus + used} where others use them",
            found=need.gpus,
            limit=limit,
            used=used,
        )


def _place(need: GpuNeed) -> str:
    paths = list(dict.fromkeys(pool.path for pool in need.pools))
    return f"{paths[0]}.nodes.max" if len(paths) == 1 else "pools"
