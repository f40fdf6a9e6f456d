"""Pools of existing nodes, from `kubectl get nodes,pods,clusterpolicies -o json`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from gpufleet.catalogue import load
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import (
    Declaration,
    Observations,
    ObservedResource,
    PlatformAdoption,
    ProposedPool,
)
from gpufleet.fleet.observed_nodes import own_taints, pool_name, regions_of_nodes
from gpufleet.fleet.reported_gpus import PRODUCT_LABEL, ReportedGpus, reported_gpus
from gpufleet.spec.base import Platform

_TYPE, _DRIVER = "node.kubernetes.io/instance-type", "nvidia.com/gpu.deploy.driver"
_CONFIGS = ("nvidia.com/mig.config", "nvidia.com/device-plugin.config")
_PODS = {"driver": "nvidia-driver-daemonset", "toolkit": "nvidia-container-toolkit-daemonset"}
_VALIDATOR = "nvidia-operator-validator"  # on every node that the GPU Operator serves
_NO_IMAGE = (
    "the driver's installer was not found: `image: plain` means the operator; "
    "write `image: plain-driver` where the nodes have it"
)


class ExistingAdoption(PlatformAdoption):
    """Nodes of a cluster, from any creator."""

    platform = Platform.EXISTING
    # Missing labels are those that `pulumi up` will write.
    wired: ClassVar[Mapping[str, Sequence[str]]] = {"node": ("labels",)}
    choices = ()
    kept = ("existing", "image")

    def recognises(self, seen: Observations) -> bool:
        """By a node with an NVIDIA GPU."""
        return any(_with_gpus(seen))

    def cluster(self, seen: Observations) -> Declaration:
        """A Node does not contain the name of its cluster."""
        regions = set(regions_of_nodes(seen))
        return {"name": "adopted"} | ({"region": regions.pop()} if len(regions) == 1 else {})

    def pools(self, seen: Observations) -> Iterator[ProposedPool]:
        """One for each kind of node: equal GPU, number of GPUs and configuration."""
        groups: dict[tuple[str | None, ...], list[ObservedResource]] = {}
        for one, gpus in _with_gpus(seen):
            labels = map(gpus.labels.get, (POOL_LABEL, PRODUCT_LABEL, *_CONFIGS, _TYPE, _DRIVER))
            groups.setdefault((*labels, str(gpus.count)), []).append(one)
        there, names = _on_nodes(seen), set[str]()
        for nodes in groups.values():
            yield _pool(nodes, there, names)


def _with_gpus(seen: Observations) -> Iterator[tuple[ObservedResource, ReportedGpus]]:
    for one in seen.objects("Node"):
        gpus = reported_gpus(one.properties)
        if gpus.present or load().sold(gpus.labels.get(_TYPE, "")) is not None:
            yield one, gpus


def _on_nodes(seen: Observations) -> dict[str, bool]:
    """Driver and toolkit -> whether nodes have them without the operator; empty: not found."""
    for one in seen.objects("ClusterPolicy"):
        found = {part: value_at(one.properties, f"spec.{part}.enabled") for part in _PODS}
        return {part: not value for part, value in found.items() if isinstance(value, bool)}
    pods = [one.name for one in seen.objects("Pod")]
    if not any(name.startswith(_VALIDATOR) for name in pods):
        return {}
    return {part: not any(name.startswith(own) for name in pods) for part, own in _PODS.items()}


def _pool(
    nodes: list[ObservedResource], there: Mapping[str, bool], taken: set[str]
) -> ProposedPool:
    first, gpus = nodes[0], reported_gpus(nodes[0].properties)
    names = sorted(one.name for one in nodes)
    count = {"min": len(names), "max": len(names)}
    pool: Declaration = {"name": "", "nodes": count, "existing": {"nodes": names}}
    notes = [*_hardware(gpus, pool), *_image(first, gpus, there, pool)]
    base = pool_name(gpus.labels.get(POOL_LABEL) or pool.get("gpu") or "gpu")[:34]
    tries = (base, *(f"{base}-{i}" for i in range(2, 1000)))
    pool["name"] = next(name for name in tries if name not in taken)
    taken.add(pool["name"])
    if own := own_taints(first):
        pool["taints"] = own
    taints = map(mapping, items(value_at(first.properties, "spec.taints")))
    if not any(one.get("key") == "nvidia.com/gpu" for one in taints):
        pool["gpuTaint"] = False
    notes.append("prices are not in the cluster: write `capacity`")
    written = {f"node/{name}": {"labels": dict[str, str]()} for name in names}
    # Labels of other programs are not changed.
    labels = {k: v for k, v in gpus.labels.items() if k.startswith(("nvidia.com/", "gpufleet"))}
    return ProposedPool(pool, written, tuple(nodes), labels=labels, notes=tuple(notes))


def _hardware(gpus: ReportedGpus, pool: Declaration) -> Iterator[str]:
    """Set GPU and count of the pool from the nodes' report, else from their machine type; yields
    what is missing. Neither is set without the other: the default of the count is one."""
    row = load().sold(gpus.labels.get(_TYPE, ""))
    gpu, count = None if gpus.gpu is None else gpus.gpu.key, gpus.count
    if row is not None and gpu in (None, row.accelerator.gpu):
        gpu, count = row.accelerator.gpu, count or row.accelerator.count
        yield f"machines are {row.name}: name it in `instanceTypes` with `capacity` for its price"
    elif gpu is None and gpus.product is None:
        yield f"no label {PRODUCT_LABEL}: the GPU is not known; write `gpu`"
    elif gpu is None:
        yield f"the catalogue has no GPU {gpus.product!r}; add a row in an overlay"
    if count is None:
        yield f"no label counts the GPUs{f' ({gpu})' if gpu else ''}: write gpu and gpusPerNode"
    elif gpu is not None:
        pool |= {"gpu": gpu, "gpusPerNode": count}


def _image(
    one: ObservedResource, gpus: ReportedGpus, seen: Mapping[str, bool], pool: Declaration
) -> Iterator[str]:
    """Set the row of the catalogue's images that describes the node, in the pool."""
    there = {**seen, "driver": True} if gpus.labels.get(_DRIVER) == "pre-installed" else seen
    rows = [row for row in load().images.values() if row.platform == Platform.EXISTING]
    family = [row for row in rows if any(_matches(one, gpus, *it) for it in row.seen_as.items())]
    family = family or [row for row in rows if not row.seen_as]
    fitting = [row for row in family if all(getattr(row, k) == v for k, v in there.items())]
    if not fitting or (len(fitting) > 1 and not fitting[0].seen_as):
        yield _NO_IMAGE
        return
    pool["image"] = fitting[0].key
    if not there:
        yield f"`image: {fitting[0].key}` is documented by its provider, and was not verified"


def _matches(one: ObservedResource, gpus: ReportedGpus, place: str, expression: str) -> bool:
    found = gpus.labels.get(place) or value_at(one.properties, place)
    return re.match(expression, str(found or "")) is not None


ADOPTION = ExistingAdoption()
