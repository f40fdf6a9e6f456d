"""The fleet at a glance: what there is, what is held, what works, what is wrong."""

from typing import Any

from gpufleet.fleet.model import Fleet
from gpufleet.render.dashboards.panel import Panel, dashboard, variable

_ON_NODE = 'node=~"$node"'


def _of_devices(series: str, which: str = "") -> str:
    """A series once for each GPU or slice: pods that share one have a series each."""
    selector = f"{{{which}}}" if which else ""
    return f"max by (node, UUID, GPU_I_ID) ({series}{selector})"


def fleet_dashboard(fleet: Fleet) -> dict[str, Any]:
    """Dashboard of the whole fleet."""
    total = "sum(gpu:allocatable:count)"
    held = "(sum(gpu:requested:count) or vector(0))"
    rows: list[tuple[str, list[Panel]]] = [
        (
            "Now",
            [
                Panel(
                    "GPU nodes",
                    (("count(count by (node) (gpu:allocatable:count)) or vector(0)", ""),),
                    "stat",
                    width=4,
                    height=4,
                ),
                Panel(
                    "Units held",
                    ((f"{held} / {total}", ""),),
                    "stat",
                    "percentunit",
                    4,
                    4,
                    "Units of every kind (GPUs, slices, shares) that pods hold.",
                ),
                Panel(
                    "Engines busy",
                    ((f"avg({_of_devices('gpu:engine_active:ratio')}) or vector(0)", ""),),
                    "stat",
                    "percentunit",
                    4,
                    4,
                ),
                Panel(
                    "Pods waiting",
                    (("count(gpu:pending:count) or vector(0)", ""),),
                    "stat",
                    width=4,
                    height=4,
                    limits={"orange": 1, "red": 10},
                ),
                Panel(
                    "Alerts firing",
                    (('count(ALERTS{alertstate="firing", alertname=~"Gpu.*"}) or vector(0)', ""),),
                    "stat",
                    width=4,
                    height=4,
                    limits={"orange": 1},
                ),
                Panel(
                    "Power",
                    (("sum(max by (UUID) (gpu:power:watts)) or vector(0)", ""),),
                    "stat",
                    "watt",
                    4,
                    4,
                ),
            ],
        ),
        (
            "What is held",
            [
                Panel(
                    "Held, by resource",
                    (
                        (
                            (
                                "sum by (resource) (gpu:requested:count) "
                                "/ on (resource) sum by (resource) (gpu:allocatable:count)"
                            ),
                            "{{resource}}",
                        ),
                    ),
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Waiting, by resource",
                    (("sum by (resource) (gpu:pending:count)", "{{resource}}"),),
                    stacked=True,
                ),
            ],
        ),
        (
            "What works",
            [
                Panel(
                    "Engine",
                    (
                        (
                            f"avg by (node) ({_of_devices('gpu:engine_active:ratio', _ON_NODE)})",
                            "{{node}}",
                        ),
                    ),
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Memory used",
                    (
                        (
                            f"avg by (node) ({_of_devices('gpu:memory_used:ratio', _ON_NODE)})",
                            "{{node}}",
                        ),
                    ),
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Temperature",
                    (
                        (
                            f"max by (node, gpu) (gpu:temperature:celsius{{{_ON_NODE}}})",
                            "{{node}} {{gpu}}",
                        ),
                    ),
                    unit="celsius",
                ),
                Panel(
                    "Power",
                    (
                        (
                            f"sum by (node) (max by (node, UUID) (gpu:power:watts{{{_ON_NODE}}}))",
                            "{{node}}",
                        ),
                    ),
                    unit="watt",
                    stacked=True,
                ),
            ],
        ),
    ]
    if fleet.spec.queues is not None:
        rows.append(
            (
                "Queues",
                [
                    Panel(
                        "Jobs waiting",
                        (
                            (
                                "sum by (cluster_queue) (kueue_pending_workloads)",
                                "{{cluster_queue}}",
                            ),
                        ),
                        stacked=True,
                    ),
                    Panel(
                        "Wait until admission, 95 %",
                        (
                            (
                                (
                                    "histogram_quantile(0.95, sum by (cluster_queue, le) "
                                    "(rate(kueue_admission_wait_time_seconds_bucket[30m])))"
                                ),
                                "{{cluster_queue}}",
                            ),
                        ),
                        unit="s",
                    ),
                ],
            )
        )
    rows.append(
        (
            "Trouble",
            [
                Panel(
                    "Alerts",
                    (('ALERTS{alertstate="firing", alertname=~"Gpu.*"}', ""),),
                    "table",
                    width=24,
                )
            ],
        )
    )
    nodes = variable("node", "Node", "label_values(gpu:allocatable:count, node)")
    return dashboard("gpufleet-fleet", "GPU fleet", rows, [nodes])
