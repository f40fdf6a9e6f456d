"""Recording rules: one shape of every measure, whatever exporter, version and setting is under it.

* `Hostname` up to exporter 4.8.2 is `hostname` after it; both become `node`.
* The workload's labels are `exported_pod` or `pod`, as `honorLabels` decides; both become
  `workload_pod` and `workload_namespace`.
* `GPU_I_ID` and `GPU_I_PROFILE` identify a MIG slice. Whole GPUs do not have them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpufleet.fleet.kube_state_names import label_name, sanitised
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.neuron import is_neuron
from gpufleet.partition.neuron import CORE
from gpufleet.partition.shares import RESOURCES
from gpufleet.render.unit_prices import unit_prices
from gpufleet.spec.monitoring import Monitoring

DEVICE = "node, gpu, UUID, GPU_I_ID, GPU_I_PROFILE, modelName, workload_namespace, workload_pod"
"""Labels of every recorded measure of a GPU or slice."""
GPU_RESOURCES = "nvidia_com_.*|aws_amazon_com_neuron.*|google_com_tpu"
"""Accelerators as kube-state-metrics spells their resources."""


@dataclass(frozen=True, slots=True)
class RecordingRule:
    """One recorded series."""

    record: str
    expression: str
    labels: dict[str, str] = field(default_factory=dict[str, str])

    def as_dict(self) -> dict[str, Any]:
        """As rule files write it."""
        return {
            "record": self.record,
            "expr": self.expression,
            **({"labels": self.labels} if self.labels else {}),
        }


def recording_rules(fleet: Fleet, monitoring: Monitoring) -> list[RecordingRule]:
    """Every recorded series of a fleet, in an order in which each finds those it needs."""
    return [
        *_devices(monitoring),
        *_allocation(fleet),
        *_teams(fleet),
        *_money(fleet),
    ]


def normalised(series: str, monitoring: Monitoring) -> str:
    """The series with `node`, `workload_namespace` and `workload_pod`."""
    prefix = "" if monitoring.honor_labels else "exported_"
    told = series
    for source in ("Hostname", "hostname"):
        told = _copied(told, source, "node")
    for label in ("namespace", "pod"):
        told = _copied(told, f"{prefix}{label}", f"workload_{label}")
    return told


def _copied(series: str, source: str, target: str) -> str:
    return f'label_replace({series}, "{target}", "$1", "{source}", "(.+)")'


def _measure(record: str, series: str, monitoring: Monitoring, factor: str = "") -> RecordingRule:
    return RecordingRule(record, f"max by ({DEVICE}) ({normalised(series, monitoring)}){factor}")


def _devices(monitoring: Monitoring) -> list[RecordingRule]:
    used, free, reserved = (
        f"max by ({DEVICE}) ({normalised(f'DCGM_FI_DEV_FB_{name}', monitoring)})"
        for name in ("USED", "FREE", "RESERVED")
    )
    active = (
        [
            _measure("gpu:engine_active:ratio", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", monitoring),
            _measure("gpu:tensor_active:ratio", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", monitoring),
            _measure("gpu:memory_active:ratio", "DCGM_FI_PROF_DRAM_ACTIVE", monitoring),
        ]
        if monitoring.profiling
        # On MIG it is 0 or missing and says nothing: slices then have no measure of use.
        else [
            _measure(
                "gpu:engine_active:ratio",
                'DCGM_FI_DEV_GPU_UTIL{GPU_I_ID=""}',
                monitoring,
                " / 100",
            )
        ]
    )
    return [
        *active,
        RecordingRule("gpu:memory_used:ratio", f"{used} / ({used} + {free} + {reserved})"),
        _measure("gpu:temperature:celsius", "DCGM_FI_DEV_GPU_TEMP", monitoring),
        _measure("gpu:power:watts", "DCGM_FI_DEV_POWER_USAGE", monitoring),
    ]


def _allocation(fleet: Fleet) -> list[RecordingRule]:
    pool_label = label_name("gpufleet.dev/pool")
    kinds = f'resource=~"{GPU_RESOURCES}"'
    holding = 'max by (namespace, pod) (kube_pod_status_phase{phase=~"Pending|Running"} == 1)'
    return [
        RecordingRule(
            "gpu:node:pool",
            f'label_replace(max by (node, {pool_label}) (kube_node_labels{{{pool_label}!=""}}), '
            f'"pool", "$1", "{pool_label}", "(.+)")',
        ),
        RecordingRule(
            "gpu:allocatable:count",
            f"sum by (node, resource) (kube_node_status_allocatable{{{kinds}}}) > 0"
            + _counted_otherwise(fleet),
        ),
        RecordingRule(
            "gpu:requested:count",
            # Without a node a pod holds nothing yet.
            "sum by (namespace, pod, node, resource) "
            f'(kube_pod_container_resource_requests{{{kinds}, node!=""}} '
            f"* on (namespace, pod) group_left () {holding})",
        ),
        RecordingRule(
            "gpu:pending:count",
            f"sum by (namespace, pod, resource) (kube_pod_container_resource_requests{{{kinds}}} "
            "* on (namespace, pod) group_left () "
            'max by (namespace, pod) (kube_pod_status_phase{phase="Pending"} == 1))',
        ),
    ]


def _counted_otherwise(fleet: Fleet) -> str:
    """Takes out what Neuron nodes publish next to their pool's unit: it is the same hardware."""
    text = ""
    for resource in (RESOURCES["aws"], CORE):
        pools = [
            pool.name
            for pool in fleet.pools
            if is_neuron(pool.gpu) and resource not in pool.advertised
        ]
        if pools:
            text += (
                " unless on (node, resource) label_replace("
                f'gpu:node:pool{{pool=~"{"|".join(pools)}"}}, '
                f'"resource", "{sanitised(resource)}", "", "")'
            )
    return text


def _teams(fleet: Fleet) -> list[RecordingRule]:
    """Which team a namespace is of: what a dashboard of a team needs."""
    return [
        RecordingRule("gpu:team:info", "vector(1)", {"namespace": namespace, "team": team})
        for namespace, team in fleet.team_of_namespaces().items()
    ]


def _money(fleet: Fleet) -> Iterator[RecordingRule]:
    """What nodes and pods cost an hour, from the prices the fleet was compiled with."""
    priced = [pool for pool in fleet.pools if pool.hourly_micro_usd is not None]
    for pool in priced:
        yield RecordingRule(
            "gpu:pool_node:usd_per_hour", _constant(pool.hourly_usd), {"pool": pool.name}
        )
        for resource, price in unit_prices(pool).items():
            yield RecordingRule(
                "gpu:unit:usd_per_hour",
                _constant(price),
                {"pool": pool.name, "resource": resource},
            )
    if not priced:
        return
    yield RecordingRule(
        "gpu:node:usd_per_hour",
        "gpu:node:pool * on (pool) group_left () gpu:pool_node:usd_per_hour",
    )
    yield RecordingRule(
        "gpu:pod:usd_per_hour",
        "gpu:requested:count * on (node) group_left (pool) gpu:node:pool "
        "* on (pool, resource) group_left () gpu:unit:usd_per_hour",
    )
    yield RecordingRule(
        "gpu:idle:usd_per_hour",
        "sum by (node, pool) (gpu:node:usd_per_hour) - "
        "(sum by (node, pool) (gpu:pod:usd_per_hour) "
        "or sum by (node, pool) (gpu:node:usd_per_hour) * 0)",
    )
    if fleet.spec.queues is not None:
        yield RecordingRule(
            "gpu:team:usd_per_hour",
            "sum by (team) (gpu:pod:usd_per_hour * on (namespace) group_left (team) gpu:team:info)",
        )


def _constant(value: object) -> str:
    return f"vector({value})"
