"""Kueue's part of the rendered folder: objects in the order in which they need each other."""

from collections.abc import Iterator
from typing import Any

from gpufleet.documents.writing import yaml_stream, yaml_text
from gpufleet.fleet.kueue_quota import quota_pools
from gpufleet.fleet.model import Fleet
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.kueue_configuration import kueue_release_values
from gpufleet.render.kueue_flavors import resource_flavor, topologies
from gpufleet.render.kueue_provisioning import admission_checks
from gpufleet.render.kueue_queues import (
    cluster_queues,
    cohorts,
    local_queues,
    priority_classes,
)
from gpufleet.spec.base import Ownership


def kueue_objects(fleet: Fleet) -> dict[str, tuple[list[dict[str, Any]], str]]:
    """Name of the file -> objects, and what they are for. Empty without queues."""
    if fleet.spec.queues is None:
        return {}
    flavors = [resource_flavor(pool, fleet) for pool in quota_pools(fleet)]
    return {
        "topologies": (topologies(fleet), "where in the network the nodes of some pools are"),
        "resource-flavors": (flavors, "one ResourceFlavor per pool"),
        "cohorts": (cohorts(fleet), "groups of teams"),
        "priority-classes": (priority_classes(fleet), "priorities that jobs may name"),
        "admission-checks": (admission_checks(fleet), "jobs that wait for all their nodes"),
        "cluster-queues": (
            cluster_queues(fleet),
            "each team's ClusterQueue with its quota, in the units nodes advertise",
        ),
        "local-queues": (local_queues(fleet), "each team's LocalQueues, one per namespace"),
    }


def kueue_files(fleet: Fleet) -> Iterator[Artefact]:
    """Manifests of the queues, and the values of Kueue's chart."""
    for name, (documents, purpose) in kueue_objects(fleet).items():
        if documents:
            path = f"manifests/kueue/{name}.yaml"
            yield Artefact(path, ArtefactKind.MANIFEST, purpose, yaml_stream(documents))
    addon = fleet.spec.addons.kueue
    if fleet.spec.queues is not None and addon.ownership is not Ownership.EXISTING:
        yield Artefact(
            "values/kueue.yaml",
            ArtefactKind.VALUES,
            "values of the chart kueue",
            yaml_text(kueue_release_values(fleet)),
        )
