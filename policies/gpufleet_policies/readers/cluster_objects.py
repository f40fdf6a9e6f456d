"""Small objects that rules need with pools and workloads: namespaces, quotas, templates."""

from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.container import is_gpu_resource
from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.monitoring import (
    DeclaredNamespace,
    DeclaredService,
    GpuQuota,
    MetricsSource,
)
from gpufleet.cluster.pool import ACCEPTANCE_LABEL
from gpufleet.contract.relation import NODE_TESTS
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside, known_texts
from gpufleet_policies.readers.nvidia_objects import installed
from gpufleet_policies.readers.raw_pods import natural


def namespace(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core Namespace."""
    labels = known_texts(inside(document, "metadata.labels"))
    merged = {**labels, **known_texts(inside(document, "metadata.annotations"))}
    yield DeclaredNamespace(locator=locator, annotations=merged, labels=labels)


def service(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core Service with a selector."""
    selector = inside(document, "spec.selector")
    if is_mapping(selector) and selector and known_texts(selector) == selector:
        yield DeclaredService(locator=locator, selector=known_texts(selector))


def quota(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core ResourceQuota. Of extended resources it counts the names under `requests.` alone
    (kubernetes/kubernetes pkg/quota/v1/evaluator/core/pods.go, isExtendedResourceNameForQuota)."""
    hard = mapping(inside(document, "spec.hard"))
    counted = {n.removeprefix("requests."): n for n in hard if n.startswith("requests.")}
    gpus = {resource: name for resource, name in counted.items() if is_gpu_resource(resource)}
    # Scopes choose pods that rules cannot tell.
    whole = any(inside(document, f"spec.{key}") is not None for key in ("scopes", "scopeSelector"))
    numbers = {resource: natural(hard[name]) for resource, name in gpus.items() if not whole}
    yield GpuQuota(
        locator=locator,
        covers_gpus=bool(gpus) or any("deviceclass.resource.k8s.io" in name for name in hard),
        hard={resource: number for resource, number in numbers.items() if number is not None},
        uncounted=tuple(
            name
            for name in hard
            if is_gpu_resource(resource := name.removeprefix("limits.")) and resource not in gpus
        ),
    )


def exporter(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """A DaemonSet or Deployment that runs the DCGM exporter, or tests nodes before work."""
    if ACCEPTANCE_LABEL in mapping(inside(document, "spec.selector.matchLabels")):
        yield installed(NODE_TESTS, document, locator)
    place = "spec.template.spec.containers"
    for index, container in enumerate(items(inside(document, place))):
        image = inside(container, "image")
        if isinstance(image, str) and "dcgm-exporter" in image:
            annotations = known_texts(inside(document, "metadata.annotations"))
            yield MetricsSource(
                locator=locator,
                annotations=annotations,
                what="dcgm-exporter",
                blind=f"{place}[{index}].volumeMounts" if _is_blind(container) else "",
            )
            return


_PODS_OF_DEVICES = "/var/lib/kubelet/pod-resources"
"""Folder of the kubelet's socket that says which pod has which GPU."""


def _is_blind(container: Any) -> bool:
    """Whether the exporter is to name pods, and no volume has the kubelet's socket, wherever it is
    said to be (NVIDIA/dcgm-exporter 00673ef internal/pkg/transformation/kubernetes.go)."""
    env, mounts = inside(container, "env"), inside(container, "volumeMounts")
    named = {str(inside(one, "name")): inside(one, "value") for one in items(env)}
    said = f"{inside(container, 'args')} {list(named)}".lower()
    if mounts is UNKNOWN or named.get("DCGM_EXPORTER_KUBERNETES") not in ("true", "1"):
        return False
    paths = [inside(mount, "mountPath") for mount in items(mounts)]
    return "kubelet" not in said and not any(
        path is UNKNOWN or f"{_PODS_OF_DEVICES}/".startswith(f"{str(path).rstrip('/')}/")
        for path in paths
    )
