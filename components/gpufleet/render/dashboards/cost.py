"""What the fleet costs now, who pays for it, and what no one uses."""

from typing import Any

from gpufleet.fleet.model import Fleet
from gpufleet.render.dashboards.panel import Panel, dashboard, variable

_USD = "currencyUSD"


def cost_dashboard(fleet: Fleet) -> dict[str, Any]:
    """Dashboard of cost; exact bills are `gpufleet cost`'s."""
    budget = None if fleet.spec.budget is None else float(fleet.spec.budget.usd_per_hour)
    total = "sum(gpu:node:usd_per_hour)"
    now = [
        Panel(
            "An hour costs",
            ((f"{total} or vector(0)", ""),),
            "stat",
            _USD,
            6,
            4,
            limits={} if budget is None else {"orange": budget * 0.8, "red": budget},
        ),
        Panel(
            "Of it held by pods",
            ((f"(sum(gpu:pod:usd_per_hour) or vector(0)) / {total}", ""),),
            "stat",
            "percentunit",
            6,
            4,
        ),
        Panel(
            "Idle or stranded an hour",
            (("sum(gpu:idle:usd_per_hour) or vector(0)", ""),),
            "stat",
            _USD,
            6,
            4,
            "Advertised and held by nobody, or cut so that it cannot be given out.",
        ),
        Panel(
            "At this rate, a month",
            ((f"({total} or vector(0)) * 730", ""),),
            "stat",
            _USD,
            6,
            4,
            "730 hours.",
        ),
    ]
    who = [
        Panel(
            "By pool",
            (("sum by (pool) (gpu:node:usd_per_hour)", "{{pool}}"),),
            unit=_USD,
            stacked=True,
        ),
        Panel(
            "Idle, by pool",
            (('sum by (pool) (gpu:idle:usd_per_hour{pool=~"$pool"})', "{{pool}}"),),
            unit=_USD,
            stacked=True,
        ),
    ]
    if fleet.spec.queues is not None:
        who.append(
            Panel(
                "By team",
                (("gpu:team:usd_per_hour", "{{team}}"),),
                unit=_USD,
                stacked=True,
            )
        )
    who.append(
        Panel(
            "By namespace",
            (
                (
                    'sum by (namespace) (gpu:pod:usd_per_hour{pool=~"$pool"})',
                    "{{namespace}}",
                ),
            ),
            unit=_USD,
            stacked=True,
        )
    )
    dear = Panel(
        "Dearest pods",
        (
            (
                'topk(20, sum by (namespace, pod, pool) (gpu:pod:usd_per_hour{pool=~"$pool"}))',
                "",
            ),
        ),
        "table",
        _USD,
        24,
        10,
    )
    pools = variable("pool", "Pool", "label_values(gpu:node:usd_per_hour, pool)")
    return dashboard(
        "gpufleet-cost",
        "GPU cost",
        [("Now", now), ("Who", who), ("Pods", [dear])],
        [pools],
    )
