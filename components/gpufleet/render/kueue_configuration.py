"""Configuration of Kueue's controller, and the values of its chart.

The chart takes the whole configuration as one text and does not merge it with its default (chart
kueue 0.19.2, `managerConfig.controllerManagerConfigYaml`), so the default is repeated here.
"""

from typing import Any

from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.kueue_quota import class_mappings, memory_selector, pool_units, quota_pools
from gpufleet.fleet.model import Fleet
from gpufleet.partition.dra_offers import DRIVER
from gpufleet.render.scrape_objects import kueue_monitors_itself

CHART = "kueue"
CONFIG_API = "config.kueue.x-k8s.io/v1beta2"
FRAMEWORKS = ("batch/job", "pod")
"""Kinds that every cluster has. Services stay unmanaged: they scale by their own signal."""
SAMPLING = "5m0s"
"""Interval of the count of past use (Kueue's default)."""
_CONCURRENCY = {
    "ClusterQueue.kueue.x-k8s.io": 5,
    "Job.batch": 5,
    "LocalQueue.kueue.x-k8s.io": 5,
    "Pod": 5,
    "ResourceFlavor.kueue.x-k8s.io": 1,
    "Workload.kueue.x-k8s.io": 10,
}


def kueue_configuration(fleet: Fleet) -> dict[str, Any]:
    """The `Configuration` of the controller.

    Quotas cover GPUs only. Without `IgnoreUndeclared`, Kueue admits no job that requests a resource
    without quota, such as processors or memory.
    """
    queues = fleet.spec.queues
    assert queues is not None, "a fleet without queues needs no Kueue"
    configuration: dict[str, Any] = {
        "apiVersion": CONFIG_API,
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {"groupKindConcurrency": dict(_CONCURRENCY)},
        "clientConnection": {"qps": 300, "burst": 500},
        "integrations": {
            "frameworks": list(dict.fromkeys((*FRAMEWORKS, *queues.frameworks))),
        },
        "waitForPodsReady": {
            "timeout": f"{queues.pods_ready.timeout_minutes}m0s",
            "blockAdmission": queues.pods_ready.one_at_a_time,
            "requeuingStrategy": {
                "timestamp": "Eviction",
                "backoffBaseSeconds": 60,
                "backoffMaxSeconds": 3600,
                **(
                    {}
                    if queues.pods_ready.retries is None
                    else {"backoffLimitCount": queues.pods_ready.retries}
                ),
            },
        },
        "resources": {"quotaCheckStrategy": "IgnoreUndeclared", **_classes(fleet)},
    }
    if queues.fair_sharing is not None:
        configuration["fairSharing"] = {
            "preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
        }
        half_life = queues.fair_sharing.usage_half_life_hours
        if half_life is not None:
            configuration["admissionFairSharing"] = {
                "usageHalfLifeTime": f"{round(half_life * 3600)}s",
                "usageSamplingInterval": SAMPLING,
                "resourceWeights": _weights(fleet),
            }
    return configuration


def kueue_values(fleet: Fleet) -> dict[str, Any]:
    """Values of the chart kueue."""
    monitoring = fleet.spec.monitoring
    watched = monitoring is not None and kueue_monitors_itself(monitoring)
    return {
        # The chart's ServiceMonitor needs its definition in the cluster.
        "enablePrometheus": watched,
        "managerConfig": {"controllerManagerConfigYaml": yaml_text(kueue_configuration(fleet))},
        **({"metrics": {"prometheusNamespace": "monitoring"}} if watched else {}),
    }


def kueue_release_values(fleet: Fleet) -> dict[str, Any]:
    """Values of a fleet's release, the declared `values` merged last."""
    values = merged(kueue_values(fleet), fleet.spec.addons.kueue.values)
    return with_images(fleet, CHART, values)


def _classes(fleet: Fleet) -> dict[str, Any]:
    mappings: list[dict[str, Any]] = []
    for mapping in class_mappings(fleet):
        entry: dict[str, Any] = {
            "name": mapping.resource,
            "deviceClassNames": list(mapping.classes),
        }
        if mapping.counter is not None:
            entry["sources"] = [
                {
                    "counter": {
                        "name": mapping.counter,
                        "driver": DRIVER,
                        "deviceSelector": {"cel": {"expression": memory_selector()}},
                    }
                }
            ]
        mappings.append(entry)
    return {"deviceClassMappings": mappings} if mappings else {}


def _weights(fleet: Fleet) -> dict[str, float]:
    """Weights of resources: only GPUs count as use, each unit by its part of a node."""
    weights: dict[str, float] = {"cpu": 0.0, "memory": 0.0}
    for pool in quota_pools(fleet):
        for resource, amount in pool_units(pool, fleet).items():
            part = round(pool.gpus_per_node / amount, 6)
            weights[resource] = max(weights.get(resource, 0.0), part)
    return weights
