"""Small objects that rules need with pools and workloads: namespaces, quotas, templates; nodes and
pods of a dump."""

import re
from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.cluster import DeclaredNamespace, GpuQuota, MetricsSource
from gpufleet.cluster.container import is_gpu_resource
from gpufleet.cluster.fact import Fact, Provenance, absent, known, unknown
from gpufleet.cluster.node import ObservedNode, PodOnNode
from gpufleet.cluster.nvidia import OperatorChoices
from gpufleet.cluster.pool import ACCEPTANCE_LABEL
from gpufleet.cluster.program import Program
from gpufleet.contract.relation import DEVICE_PLUGIN, NODE_TESTS
from gpufleet.documents.shapes import items, known_texts, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.names import meanings
from gpufleet_policies.readers.blocks import inside, own_texts
from gpufleet_policies.readers.nvidia_objects import installed
from gpufleet_policies.readers.options import read_options
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import amount, fact, text
from gpufleet_policies.readers.reserved import reserved
from gpufleet_policies.wrappers.charts import known_chart


def namespace(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core Namespace."""
    labels = known_texts(inside(document, "metadata.labels"))
    yield DeclaredNamespace(locator=locator, annotations=own_texts(document), labels=labels)


def quota(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core ResourceQuota. For extended resources it counts only the names under `requests.`
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
    """A DaemonSet or Deployment that runs the DCGM exporter or the device plugin, or tests nodes
    before work."""
    if ACCEPTANCE_LABEL in mapping(inside(document, "spec.selector.matchLabels")):
        yield installed(NODE_TESTS, document, locator)
    labels = mapping(inside(document, "metadata.labels"))
    chart, release = _rendered(document)
    if locator.kind == "Deployment" and chart and labels.get("app.kubernetes.io/name") == chart:
        yield Program(locator=locator, name=chart, release=release, complete=False)
    place = "spec.template.spec.containers"
    for index, container in enumerate(items(inside(document, place))):
        image = inside(container, "image")
        if isinstance(image, str) and "dcgm-exporter" in image:
            annotations = known_texts(inside(document, "metadata.annotations"))
            yield MetricsSource(locator=locator, annotations=annotations, what="dcgm-exporter")
            return
        if isinstance(image, str) and locator.kind == "DaemonSet" and _PLUGIN.search(image):
            yield from _device_plugin(document, container, locator, f"{place}[{index}]")


def _rendered(document: dict[str, Any]) -> tuple[str | None, Fact[str]]:
    """The known chart that a manifest was rendered from, and its release (Helm, Standard Labels);
    None for others and for objects of a server, where what installed them may be read as well."""
    label = str(mapping(inside(document, "metadata.labels")).get("helm.sh/chart"))
    found = re.fullmatch(r"(.+?)-(v?[0-9]+\.[0-9]+\.[0-9].*)", label)
    chart = known_chart(found[1]) if found and not inside(document, "metadata.uid") else None
    if found is None or chart is None:
        return None, absent("metadata.labels")
    return chart.name, known(found[2].replace("_", "+"), place="metadata.labels[helm.sh/chart]")


_PLUGIN = re.compile(r"(?:^|/)(?<!rocm/)(?:k8s|nvidia)-device-plugin(?:$|[:@])")
_STRATEGY, _FILE = ("--mig-strategy", "MIG_STRATEGY"), ("--config-file", "CONFIG_FILE")
"""Options of the device plugin and their variables (NVIDIA/k8s-device-plugin v0.17.0
cmd/nvidia-device-plugin/main.go)."""


def _device_plugin(
    document: dict[str, Any], container: Any, locator: Locator, place: str
) -> Iterator[Any]:
    """NVIDIA's device plugin as a DaemonSet: rendered, or not made by Helm or an operator."""
    metadata = mapping(document.get("metadata"))
    chart, release = _rendered(document)
    labels = mapping(metadata.get("labels"))
    helm = labels.get("app.kubernetes.io/managed-by") == "Helm" and chart is None
    words = [*items(inside(container, "command")), *items(inside(container, "args"))]
    program = str(words[0]).rpartition("/")[2] if inside(container, "command") and words else ""
    if helm or metadata.get("ownerReferences") or program not in ("", "nvidia-device-plugin"):
        return
    options = read_options([one for one in words if isinstance(one, str)])
    variables = {
        str(inside(one, "name")): inside(one, "value") for one in items(inside(container, "env"))
    }

    def chosen(option: str, variable: str) -> Any:
        return options.single((option,)) or variables.get(variable)

    strategy, file = chosen(*_STRATEGY), chosen(*_FILE)
    pods = mapping(inside(document, "spec.template.spec"))
    tag = re.search(r"(?<!sha256):([^/@:]+)(?:@|$)", str(container["image"]))
    values: dict[str, Any] = {"tolerations": items(pods.get("tolerations")), "arguments": words}
    values |= {k: pods.get(k) or {} for k in ("nodeSelector", "affinity", "runtimeClassName")}
    given = Program(
        locator=locator,
        annotations=known_texts(metadata.get("annotations")),
        name=DEVICE_PLUGIN,
        release=release if chart else fact(tag and tag[1], text, f"{place}.image"),
        values=values if strategy is None else {**values, "migStrategy": strategy},
        place="spec.template.spec",
        places={"migStrategy": f"{place}.args"},
    )
    yield given
    yield OperatorChoices(
        locator=locator,
        annotations=given.annotations,
        installs=DEVICE_PLUGIN,
        plugin_enabled=known(True),
        mig_strategy=fact(strategy, text, place) if strategy else known("none", Provenance.DEFAULT),
        dcgm_exporter=unknown(place),
        plugin_config_default=fact(str(file).rpartition("/")[2] if file else None, text, place),
        place=place,
    )


_SPOT = meanings("label of spot nodes")
"""Kubernetes, Well-Known Labels; Karpenter `karpenter.sh/capacity-type`; EKS
`eks.amazonaws.com/capacityType`; GKE `cloud.google.com/gke-spot` and `gke-provisioning`."""
_ENDED = ("Succeeded", "Failed")


def node(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core Node; not one that KWOK plays (kwok.sigs.k8s.io, Manage Nodes and Pods)."""
    labels = known_texts(inside(document, "metadata.labels"))
    annotations = known_texts(inside(document, "metadata.annotations"))
    if "kwok.x-k8s.io/node" in annotations or labels.get("type") == "kwok":
        return
    there = mapping(inside(document, "status.allocatable"))
    found = {name: amount(value) for name, value in there.items() if is_gpu_resource(name)}
    yield ObservedNode(
        locator=locator,
        annotations=annotations,
        labels=labels,
        gpus={k: int(one.number) for k, one in found.items() if one is not None and one.number},
        instance_type=_label(labels, "node.kubernetes.io/instance-type"),
        region=_label(labels, "topology.kubernetes.io/region"),
        spot=any(labels.get(key) == value for key, value in _SPOT.items()),
    )


def pod(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core Pod that the scheduler has placed."""
    where = inside(document, "spec.nodeName")
    if not isinstance(where, str) or inside(document, "status.phase") in _ENDED:
        return
    asked = reserved(mapping(document.get("spec")))
    gpus = {name: int(one) for name, one in asked.items() if one and is_gpu_resource(name)}
    if gpus:
        yield PodOnNode(locator=locator, node=where, gpus=gpus)


def _label(labels: dict[str, str], key: str) -> Fact[str]:
    return known(labels[key], place=f"metadata.labels[{key}]") if key in labels else absent(key)
