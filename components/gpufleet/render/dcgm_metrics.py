"""Metrics of the DCGM exporter: one complete list, written for the alerts of this library.

Names, kinds and which of them the exporter's own list has on: NVIDIA/dcgm-exporter 4.8.2
`etc/default-counters.csv` (read 2026-11-21). A custom list replaces the exporter's list; it is not
added to it. The fields of throttling, ECC and NVLink errors, and the exporter's own counts, are off
by default: an alert on them could never fire.
"""

from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue.edition import read_rows
from gpufleet.contract.tolerations import GPU_TOLERATION, needed
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet
from gpufleet.render.data_files import FOLDER, data_part
from gpufleet.render.scrape_objects import exporter_pools, runs_operator_exporter
from gpufleet.spec.monitoring import Monitoring

CSV_KEY = "dcgm-metrics.csv"
"""Key of the operator's ConfigMap."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One line of the exporter's list."""

    field: str
    """DCGM's name, which is the series' name too."""
    kind: str
    """`gauge`, `counter`, or `label` for a label of every series."""
    meaning: str
    on_by_default: bool = True

    @property
    def profiling(self) -> bool:
        """Whether it needs DCGM's profiling module: Volta or newer, `SYS_ADMIN` for the pod."""
        return self.field.startswith("DCGM_FI_PROF_")


COUNTERS = tuple(Counter(**row) for row in read_rows(FOLDER, "dcgm_counters"))
"""All requested metrics, in the order of the file."""


def exported(monitoring: Monitoring) -> tuple[Counter, ...]:
    """The counters of a declaration."""
    return tuple(c for c in COUNTERS if monitoring.profiling or not c.profiling)


def exporter_csv(monitoring: Monitoring) -> str:
    """The list as the exporter reads it: field, kind, help."""
    lines = [f"{c.field}, {c.kind}, {c.meaning.replace(',', ';')}" for c in exported(monitoring)]
    return "\n".join(["# DCGM field, Prometheus metric type, help", *lines, ""])


def exporter_settings(monitoring: Monitoring, config_map: str | None) -> dict[str, Any]:
    """The GPU Operator's settings of its exporter, as the section of a declaration.

    Its own ServiceMonitor is off: ours, of the declared backend, scrapes it.
    """
    return {
        "serviceMonitor": {"enabled": False},
        "env": {"DCGM_EXPORTER_INTERVAL": str(monitoring.interval_seconds * 1000)},
        **({"podLabels": True} if monitoring.pod_labels else {}),
        **({"metrics": config_map} if config_map is not None else {}),
    }


def exporter_chart_values(fleet: Fleet, monitoring: Monitoring) -> dict[str, Any]:
    """Values of the exporter's own chart (dcgm-exporter 4.8.2), where no GPU Operator brings it.

    It runs on all NVIDIA nodes without the operator's exporter, so it tolerates the taints of these
    nodes (`objects/dcgm_exporter.yaml`).
    """
    watched = exporter_pools(fleet)
    tolerated = [
        GPU_TOLERATION,
        *needed((t.key, t.effect) for pool in watched for t in pool.taints),
    ]
    chosen: dict[str, Any] = {"key": POOL_LABEL, "operator": "Exists"}
    if runs_operator_exporter(fleet):
        names = sorted(pool.name for pool in watched)
        chosen = {"key": POOL_LABEL, "operator": "In", "values": names}
    images = [pool.image for pool in watched]
    own_plugin = any(image is not None and image.device_plugin for image in images)
    interval = {"name": "DCGM_EXPORTER_INTERVAL", "value": str(monitoring.interval_seconds * 1000)}
    values = data_part(
        "dcgm_exporter",
        "values",
        metrics=exporter_csv(monitoring),
        labelled=bool(monitoring.pod_labels),
        labels=list(monitoring.pod_labels),
        interval=interval,
        capabilities=["SYS_ADMIN"] if monitoring.profiling or own_plugin else [],
        nodes=chosen,
        tolerations=[
            {"key": one.key, "operator": "Exists", "effect": one.effect} for one in tolerated
        ],
    )
    facts = fleet.platform.facts
    # A plugin of the platform's own comes with a driver of its own; one of an image does not.
    if facts.plugin is not None and any(pool.served_by_platform for pool in watched):
        folder = facts.driver_root
        values |= data_part("dcgm_exporter", "driver", folder=folder, interval=interval)
    return values
