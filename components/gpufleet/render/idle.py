"""Idle to zero: a ScaledObject for each notebook, and metrics of leases for kube-state-metrics.

A notebook is in use while its lease holds, or while it has a pod that is not seen to be idle: one
that has run for the whole time with a figure of each minute, none above the limit. Missing data
stops nothing: without figures of its GPU a pod is in use, and without the series of the lease the
query has no answer, which is an error for KEDA, that then changes nothing (kedacore/keda v2.20.2
`pkg/scalers/prometheus_scaler.go`, `pkg/scaling/executor/scale_scaledobjects.go`). Therefore these
objects have no fallback. Series: kubernetes/kube-state-metrics v2.18.0
`pkg/customresourcestate/registry_factory.go`.
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.scaling_rules import stoppable
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.data_files import OBJECTS, data_file, data_part
from gpufleet.render.scaled_object import API_VERSION, SOURCES, pod_pattern
from gpufleet.spec.idle import IdleNotebook, IdlePolicy
from gpufleet.spec.scaling import Signal

_file = files_in(__file__)

LEASE = "gpufleet.dev/lease-until"
"""Annotation of a notebook's ScaledObject: a time as RFC 3339 writes it."""
LEASE_SERIES = "gpufleet_lease_until"
"""Seconds since 1970 until which a notebook is leased; 0 without the annotation; absent if the
annotation is unreadable."""


def idle_objects(fleet: Fleet) -> list[dict[str, Any]]:
    """ScaledObjects of every notebook that may be stopped, called like it."""
    monitoring = fleet.spec.monitoring
    if monitoring is None or monitoring.query_url is None:
        return []
    return [
        _scaled_object(idle, one, monitoring.query_url) for _, idle, one in stoppable(fleet.pools)
    ]


def idle_files(fleet: Fleet) -> Iterator[Artefact]:
    """The objects, and the configuration without which nothing is ever stopped."""
    if objects := idle_objects(fleet):
        yield from _file("manifests/idle.yaml", objects)
        yield from _file("config/kube-state-metrics.yaml", lease_metrics())


def lease_metrics() -> dict[str, Any]:
    """`CustomResourceStateMetrics`: the lease of each ScaledObject as `LEASE_SERIES`."""
    prefix, name = LEASE_SERIES.split("_", 1)
    names = {"prefix": prefix, "name": name, "lease": LEASE}
    return data_file("lease_metrics", names, OBJECTS) or {}


def in_use(idle: IdlePolicy, notebook: IdleNotebook) -> str:
    """PromQL: more than 0 while the notebook is leased or not seen to be idle, 0 when it may stop;
    no result if the lease is unknown."""
    pattern = pod_pattern(notebook.target)
    source, minutes = SOURCES[Signal.GPU_UTILISATION], idle.after_minutes
    pods = f'namespace="{notebook.namespace}", pod=~"{pattern}"'
    device = (
        f"{source.series}{{{source.namespace_label}="
        f'"{notebook.namespace}", {source.pod_label}=~"{pattern}"}}'
    )
    by = f"by ({source.pod_label})"
    quiet = (
        f"max {by} (max_over_time({device}[{minutes}m])) < {idle.below_percent / 100:g} "
        f"and min {by} (count_over_time({device}[{minutes}m:1m])) >= {minutes}"
    )
    idle_pods = (
        f'label_replace({quiet}, "pod", "$1", "{source.pod_label}", "(.+)") '
        f"and on (pod) (time() - max by (pod) (kube_pod_created{{{pods}}}) >= {60 * minutes})"
    )
    there = f'max by (pod) (kube_pod_status_phase{{{pods}, phase=~"Pending|Running"}} == 1)'
    lease = f'{LEASE_SERIES}{{namespace="{notebook.namespace}", scaledobject="{notebook.name}"}}'
    return (
        f"(max({lease}) > bool time()) + "
        f"(count({there} unless on (pod) ({idle_pods})) or vector(0))"
    )


def _scaled_object(idle: IdlePolicy, notebook: IdleNotebook, server: str) -> dict[str, Any]:
    by = {"kind": "ClusterTriggerAuthentication", "name": idle.authentication}
    trigger = data_part(
        "keda",
        "trigger",
        name="in-use",
        server=server,
        query=in_use(idle, notebook),
        threshold="1",
        activation="0",
        ignored="false",
        modes=None if idle.authentication is None else "bearer",
        authentication=None if idle.authentication is None else by,
    )
    spec = data_part("keda", "notebook", kind=notebook.kind, name=notebook.name, trigger=trigger)
    return manifest(API_VERSION, "ScaledObject", notebook.name, notebook.namespace, spec=spec)
