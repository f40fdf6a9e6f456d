"""Rules of prometheus-adapter (chart 5.3.0): the signals as metrics of pods.

Only custom metrics: rules under `external` would take the API service over that KEDA needs, those
under `resource` the one of metrics-server. The chart's default rules list every series of every
namespace and are off.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import Fleet
from gpufleet.render.scaling_signals import SOURCES, PodMetric
from gpufleet.spec.scaling import Signal

CHART = "prometheus-adapter"


def adapter_rules(signals: Iterable[Signal]) -> list[dict[str, Any]]:
    """A rule for each signal that pods give, in the order of `Signal`."""
    wanted = set(signals)
    return [
        {
            "seriesQuery": _listed(source),
            "resources": {
                "overrides": {
                    source.namespace_label: {"resource": "namespace"},
                    source.pod_label: {"resource": "pod"},
                }
            },
            "name": {"as": source.metric},
            # Without the matchers every autoscaler would get the value of the whole cluster.
            "metricsQuery": "avg by (<<.GroupBy>>) (<<.Series>>{<<.LabelMatchers>>})",
        }
        for signal, source in SOURCES.items()
        if signal in wanted
    ]


def adapter_values(address: str, interval_seconds: int) -> dict[str, Any]:
    """Values of the chart.

    Args:
        address: Where Prometheus answers: `http://prometheus.monitoring.svc:9090/path`.
        interval_seconds: How often it scrapes: names are not listed again sooner.
    """
    parts = urlsplit(address)
    usual = 443 if parts.scheme == "https" else 80
    return {
        "prometheus": {
            "url": f"{parts.scheme}://{parts.hostname}",
            "port": parts.port or usual,
            "path": parts.path.rstrip("/"),
        },
        "metricsRelistInterval": f"{max(60, interval_seconds)}s",
        "rules": {"default": False, "custom": adapter_rules(SOURCES), "external": []},
    }


def adapter_release_values(fleet: Fleet, address: str) -> dict[str, Any]:
    """Values for a fleet that is monitored."""
    assert fleet.spec.monitoring is not None, "only a monitored fleet has signals"
    values = adapter_values(address, fleet.spec.monitoring.interval_seconds)
    return with_images(fleet, CHART, values)


def _listed(source: PodMetric) -> str:
    """Which series are looked at: those of a pod."""
    return f'{source.series}{{{source.namespace_label}!="",{source.pod_label}!=""}}'
