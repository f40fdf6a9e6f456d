"""What one team has, uses and waits for."""

from typing import Any

from gpufleet.render.dashboards.panel import Panel, dashboard, variable

_OF_TEAM = '* on (namespace) group_left (team) gpu:team:info{team=~"$team"}'
_QUEUE = 'cluster_queue=~"$team"'


def team_dashboard() -> dict[str, Any]:
    """Dashboard of a team; queues are called like their teams."""
    rows = [
        (
            "Quota",
            [
                Panel(
                    "Nominal quota",
                    (
                        (
                            (
                                "sum by (cluster_queue, resource) "
                                f"(kueue_cluster_queue_nominal_quota{{{_QUEUE}}})"
                            ),
                            "{{cluster_queue}} {{resource}}",
                        ),
                    ),
                    "bargauge",
                    width=8,
                ),
                Panel(
                    "In use",
                    (
                        (
                            (
                                "sum by (cluster_queue, resource) "
                                f"(kueue_cluster_queue_resource_usage{{{_QUEUE}}})"
                            ),
                            "{{cluster_queue}} {{resource}}",
                        ),
                    ),
                    width=8,
                    description="More than the quota is borrowed from other teams.",
                ),
                Panel(
                    "Borrowed",
                    (
                        (
                            (
                                "clamp_min(sum by (cluster_queue, resource) "
                                f"(kueue_cluster_queue_resource_usage{{{_QUEUE}}}) - "
                                "sum by (cluster_queue, resource) "
                                f"(kueue_cluster_queue_nominal_quota{{{_QUEUE}}}), 0)"
                            ),
                            "{{cluster_queue}} {{resource}}",
                        ),
                    ),
                    width=8,
                ),
            ],
        ),
        (
            "Jobs",
            [
                Panel(
                    "Waiting",
                    (
                        (
                            f"sum by (cluster_queue, status) (kueue_pending_workloads{{{_QUEUE}}})",
                            "{{cluster_queue}} {{status}}",
                        ),
                    ),
                    stacked=True,
                ),
                Panel(
                    "Ended by others an hour",
                    (
                        (
                            (
                                "sum by (cluster_queue, reason) "
                                f"(increase(kueue_evicted_workloads_total{{{_QUEUE}}}[1h]))"
                            ),
                            "{{cluster_queue}} {{reason}}",
                        ),
                    ),
                ),
            ],
        ),
        (
            "Pods",
            [
                Panel(
                    "Held",
                    (
                        (
                            f"sum by (team, resource) (gpu:requested:count {_OF_TEAM})",
                            "{{team}} {{resource}}",
                        ),
                    ),
                    stacked=True,
                ),
                Panel(
                    "Engine, by pod",
                    (
                        (
                            (
                                "avg by (team, workload_pod) "
                                f"({_of_team('gpu:engine_active:ratio')})"
                            ),
                            "{{workload_pod}}",
                        ),
                    ),
                    unit="percentunit",
                    most=1,
                    description="Pods that share a GPU by turns show the use of the whole GPU.",
                ),
                Panel(
                    "Memory used, by pod",
                    (
                        (
                            (f"max by (team, workload_pod) ({_of_team('gpu:memory_used:ratio')})"),
                            "{{workload_pod}}",
                        ),
                    ),
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Waiting for a node",
                    (
                        (
                            f"sum by (team, pod, resource) (gpu:pending:count {_OF_TEAM})",
                            "{{pod}} {{resource}}",
                        ),
                    ),
                ),
            ],
        ),
    ]
    teams = variable("team", "Team", "label_values(gpu:team:info, team)")
    return dashboard("gpufleet-team", "GPU team", rows, [teams])


def _of_team(series: str) -> str:
    """A measure of devices, of those that pods of the team hold."""
    return f'label_replace({series}, "namespace", "$1", "workload_namespace", "(.+)") {_OF_TEAM}'
