"""Configuration of Kueue's controller, and the values of its chart."""

from typing import Any

from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.kueue_quota import class_mappings, memory_selector, pool_units, quota_pools
from gpufleet.fleet.model import Fleet
from gpufleet.partition.dra_offers import DRIVER
from gpufleet.render.data_files import data_part
from gpufleet.render.scrape_objects import kueue_monitors_itself

CHART = "kueue"
FRAMEWORKS = ("batch/job", "pod")
"""Kinds that every cluster has. Services stay unmanaged: they scale by their own signal."""


def kueue_configuration(fleet: Fleet) -> dict[str, Any]:
    """The `Configuration` of the controller (`objects/kueue.yaml`)."""
    queues = fleet.spec.queues
    assert queues is not None, "a fleet without queues needs no Kueue"
    hours = None if queues.fair_sharing is None else queues.fair_sharing.usage_half_life_hours
    return data_part(
        "kueue",
        "configuration",
        frameworks=list(dict.fromkeys((*FRAMEWORKS, *queues.frameworks))),
        minutes=queues.pods_ready.timeout_minutes,
        one_at_a_time=queues.pods_ready.one_at_a_time,
        retries=queues.pods_ready.retries,
        mappings=_class_mappings(fleet) or None,
        fair=queues.fair_sharing is not None,
        half_life=None if hours is None else f"{round(hours * 3600)}s",
        weights=None if hours is None else _weights(fleet),
    )


def kueue_values(fleet: Fleet) -> dict[str, Any]:
    """Values of the chart kueue."""
    monitoring = fleet.spec.monitoring
    watched = monitoring is not None and kueue_monitors_itself(monitoring)
    text = yaml_text(kueue_configuration(fleet))
    return data_part("kueue", "values", watched=watched, configuration=text)


def kueue_release_values(fleet: Fleet) -> dict[str, Any]:
    """Values of a fleet's release, the declared `values` merged last."""
    values = merged(kueue_values(fleet), fleet.spec.addons.kueue.values)
    return with_images(fleet, CHART, values)


def _class_mappings(fleet: Fleet) -> list[dict[str, Any]]:
    mappings: list[dict[str, Any]] = []
    for one in class_mappings(fleet):
        counted = {"counter": one.counter, "driver": DRIVER, "expression": memory_selector()}
        sources = None if one.counter is None else data_part("kueue", "sources", **counted)
        known = {"name": one.resource, "classes": list(one.classes), "sources": sources}
        mappings.append(data_part("kueue", "mapping", **known))
    return mappings


def _weights(fleet: Fleet) -> dict[str, float]:
    """Weights of resources: only GPUs count as use, each unit by its part of a node."""
    weights: dict[str, float] = {"cpu": 0.0, "memory": 0.0}
    for pool in quota_pools(fleet):
        for resource, amount in pool_units(pool, fleet).items():
            part = round(pool.gpus_per_node / amount, 6)
            weights[resource] = max(weights.get(resource, 0.0), part)
    return weights
