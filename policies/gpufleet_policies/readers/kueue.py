"""Kueue's objects as facts."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from gpufleet.cluster.container import is_gpu_resource
from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.queues import (
    ClusterQueue,
    CohortFacts,
    FlavorQuota,
    KueueConfiguration,
    LocalQueue,
    ResourceFlavor,
)
from gpufleet.cluster.release_values import joined
from gpufleet.documents.shapes import items, known_texts
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside, own_texts, word
from gpufleet_policies.readers.raw_objects import ReferencedObject
from gpufleet_policies.readers.reading import fact, whole_amount
from gpufleet_policies.wrappers.judged import NotJudged

_NO_LIMIT = 10**6
"""Quotas of at least this mean no limit: Kueue's own examples write 1000000000 where another
system decides (kueue site, provisioning; GoogleCloudPlatform/kubernetes-engine-samples,
batch/kueue-dws)."""


def _quota(value: Any) -> int | None:
    found = whole_amount(value)
    return None if found is None or found >= _NO_LIMIT else found


def _quotas(document: dict[str, Any]) -> Iterator[FlavorQuota]:
    for g, group in enumerate(items(inside(document, "spec.resourceGroups"))):
        for f, flavor in enumerate(items(inside(group, "flavors"))):
            name = inside(flavor, "name")
            for r, resource in enumerate(items(inside(flavor, "resources"))):
                kind = inside(resource, "name")
                if not isinstance(kind, str) or not is_gpu_resource(kind):
                    continue
                place = f"spec.resourceGroups[{g}].flavors[{f}].resources[{r}]"
                yield FlavorQuota(
                    flavor=name if isinstance(name, str) else "?",
                    resource=kind,
                    nominal=fact(inside(resource, "nominalQuota"), _quota, place),
                    place=place,
                )


def _covered(document: dict[str, Any]) -> frozenset[str] | None:
    groups = inside(document, "spec.resourceGroups")
    lists = [inside(group, "coveredResources") for group in items(groups)]
    names = [name for one in lists for name in items(one)]
    if groups is UNKNOWN or UNKNOWN in lists or not all(isinstance(name, str) for name in names):
        return None
    return frozenset(names)


def cluster_queue(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """kueue.x-k8s.io ClusterQueue; the cohort's field was renamed with v1beta2."""
    yield ClusterQueue(
        locator=locator,
        annotations=own_texts(document),
        cohort=word(document, "spec.cohortName", "spec.cohort"),
        quotas=tuple(_quotas(document)),
        covered=_covered(document),
    )


def cohort(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """kueue.x-k8s.io Cohort."""
    yield CohortFacts(
        locator=locator,
        annotations=own_texts(document),
        quotas=tuple(_quotas(document)),
        parent=word(document, "spec.parentName", "spec.parent"),
    )


def local_queue(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """kueue.x-k8s.io LocalQueue."""
    yield LocalQueue(
        locator=locator,
        annotations=own_texts(document),
        cluster_queue=word(document, "spec.clusterQueue"),
    )


def resource_flavor(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """kueue.x-k8s.io ResourceFlavor."""
    yield ResourceFlavor(
        locator=locator,
        annotations=own_texts(document),
        node_labels=known_texts(inside(document, "spec.nodeLabels")),
    )


def configuration(data: Any, locator: Locator, place: str = "") -> Iterator[Any]:
    """Kueue's configuration, as data; at `place` of its holder, for pairs and its schema."""
    from gpufleet_policies.readers.kubernetes_objects import refused_shape

    if not isinstance(data, dict):
        yield NotJudged(locator=locator, what="document", reason="unreadable Kueue configuration")
        return
    if locator.kind != "Configuration":
        document = {**cast("dict[str, Any]", data), "kind": "Configuration"}
        yield ReferencedObject(locator=locator, document=document)
        for one in refused_shape(document, locator):
            yield replace(one, place=joined(place, one.place))
    yield KueueConfiguration(locator=locator)
