"""Kueue's part of the rendered folder: objects in the order in which they need each other."""

from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.kueue_quota import quota_pools
from gpufleet.fleet.model import Fleet
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.kueue_flavors import resource_flavor, topologies
from gpufleet.render.kueue_provisioning import admission_checks
from gpufleet.render.kueue_queues import (
    cluster_queues,
    cohorts,
    local_queues,
    priority_classes,
)

_file = files_in(__file__)


def kueue_objects(fleet: Fleet) -> dict[str, list[dict[str, Any]]]:
    """Name of the file -> objects. Empty without queues."""
    if fleet.spec.queues is None:
        return {}
    return {
        "topologies": topologies(fleet),
        "resource-flavors": [resource_flavor(pool, fleet) for pool in quota_pools(fleet)],
        "cohorts": cohorts(fleet),
        "priority-classes": priority_classes(fleet),
        "admission-checks": admission_checks(fleet),
        "cluster-queues": cluster_queues(fleet),
        "local-queues": local_queues(fleet),
    }


def kueue_files(fleet: Fleet) -> Iterator[Artefact]:
    """Manifests of the queues."""
    for name, documents in kueue_objects(fleet).items():
        yield from _file(f"manifests/kueue/{name}.yaml", documents)
