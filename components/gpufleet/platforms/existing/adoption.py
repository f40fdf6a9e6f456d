"""Pools of nodes that exist, from `kubectl get nodes,pods,clusterpolicies -o json`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from gpufleet.catalogue import UnknownKeyError, load
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import (
    Declaration,
    Observations,
    ObservedResource,
    PlatformAdoption,
    ProposedPool,
)
from gpufleet.fleet.observed_nodes import node_labels, own_taints, pool_name, regions_of_nodes
from gpufleet.platforms.existing.labels import PRODUCT_LABEL
from gpufleet.spec.base import Platform

_COUNT_LABEL, _SHARED = "nvidia.com/gpu.count", "-SHARED"
_MIG = re.compile(r"-MIG-([0-9]+g\.[0-9]+gb(?:\.me)?).*$")
_PROFILES = (
    ("aks", "providerID", re.compile(r"^azure://")),
    ("oke", "providerID", re.compile(r"^ocid1\.")),
    ("rke2-driver", "kubeletVersion", re.compile(r"\+rke2")),
    ("k3s", "kubeletVersion", re.compile(r"\+k3s")),
    ("dgx", "osImage", re.compile(r"^(NVIDIA )?DGX OS|NVIDIA Base OS")),
)
"""Image of the catalogue, and what of a node says that it is of this kind."""


class ExistingAdoption(PlatformAdoption):
    """Nodes of a cluster, whoever made them."""

    platform = Platform.EXISTING
    # Labels that are not there yet are what `pulumi up` will write.
    wired: ClassVar[Mapping[str, Sequence[str]]] = {"node": ("labels",)}
    choices = ()
    kept = ("existing", "image")

    def recognises(self, seen: Observations) -> bool:
        """By any node with an NVIDIA GPU."""
        return any(_has_gpu(one) for one in seen.objects("Node"))

    def cluster(self, seen: Observations) -> Declaration:
        """Nothing of a Node says what its cluster is called."""
        regions = set(regions_of_nodes(seen))
        region = regions.pop() if len(regions) == 1 else None
        return {"name": "adopted"} | ({} if region is None else {"region": region})

    def pools(self, seen: Observations) -> Iterator[ProposedPool]:
        """One for each kind of node: GPU, count and configuration alike."""
        groups: dict[tuple[str, ...], list[ObservedResource]] = {}
        for one in seen.objects("Node"):
            if _has_gpu(one):
                groups.setdefault(_alike(one), []).append(one)
        installs = any(True for _ in seen.objects("ClusterPolicy"))
        taken: set[str] = set()
        for nodes in groups.values():
            yield _pool(nodes, taken, operator=installs)


def _pool(nodes: list[ObservedResource], taken: set[str], *, operator: bool) -> ProposedPool:
    first, labels = nodes[0], node_labels(nodes[0])
    gpu, product = _gpu(labels)
    count, notes = _count(first), list[str]()
    if product is None:
        notes.append(f"no label {PRODUCT_LABEL}: which GPU it is, is not known; write `gpu`")
    elif gpu is None:
        notes.append(f"the catalogue has no GPU {product!r}; add a row in an overlay")
    if count is None:
        notes.append(f"neither {_COUNT_LABEL} nor whole GPUs are reported: write gpusPerNode")
    names = sorted(str(_metadata(one).get("name")) for one in nodes)
    pool: Declaration = {
        "name": _name(labels.get(POOL_LABEL) or gpu or "gpu", taken),
        "nodes": {"min": len(names), "max": len(names)},
        "existing": {"nodes": names},
    }
    pool |= {} if gpu is None else {"gpu": gpu}
    pool |= {} if count is None else {"gpusPerNode": count}
    profile = _profile(first, operator=operator)
    if profile is None:
        notes.append(
            "what brings the driver was not seen: `image: plain` counts, where the operator "
            "installs it; write `image: plain-driver` where the nodes have it"
        )
    else:
        pool["image"] = profile
    pool |= _taints(first)
    notes.append("prices are not in the cluster: write `capacity`")
    there: dict[str, Mapping[str, Any]] = {f"node/{name}": {"labels": {}} for name in names}
    return ProposedPool(pool, there, tuple(nodes), labels=_own(labels), notes=tuple(notes))


def _gpu(labels: Mapping[str, str]) -> tuple[str | None, str | None]:
    product = labels.get(PRODUCT_LABEL)
    if product is None:
        return None, None
    try:
        return load().gpu_by_product_label(_MIG.sub("", product.removesuffix(_SHARED))).key, product
    except UnknownKeyError:
        return None, product


def _count(one: ObservedResource) -> int | None:
    """GPUs of a node: what GPU Feature Discovery counts, else whole GPUs that are not shared."""
    labels = node_labels(one)
    text = labels.get(_COUNT_LABEL, "")
    single = _MIG.search(labels.get(PRODUCT_LABEL, ""))
    if single is not None:  # there it is the number of slices
        return _cut_gpus(labels, single[1])
    if text.isdigit() and int(text) > 0:
        return int(text)
    if labels.get(PRODUCT_LABEL, "").endswith(_SHARED):
        return None
    whole = quantity(str(_capacity(one).get("nvidia.com/gpu", "0")))
    return int(whole) if whole else None


def _cut_gpus(labels: Mapping[str, str], profile: str) -> int | None:
    """GPUs of a node whose slices are counted as GPUs; None where they are not full of them."""
    key, _ = _gpu(labels)
    geometry = None if key is None else load().gpu(key).mig
    row = None if geometry is None else geometry.profiles.get(profile.replace(".me", "+me"))
    slices = labels.get(_COUNT_LABEL, "")
    if row is None or not slices.isdecimal() or int(slices) % row.max_instances:
        return None
    return int(slices) // row.max_instances or None


def _profile(one: ObservedResource, *, operator: bool) -> str | None:
    """Which row of the catalogue's images says what the node brings; None: not seen."""
    spec = mapping(one.properties.get("spec"))
    info = mapping(mapping(one.properties.get("status")).get("nodeInfo"))
    for key, name, pattern in _PROFILES:
        if pattern.search(str(spec.get(name, info.get(name, "")))):
            if operator and node_labels(one).get("nvidia.com/gpu.deploy.driver") == "true":
                return {"aks": "aks-no-driver", "oke": "oke-no-driver", "rke2-driver": "rke2"}.get(
                    key, key
                )
            return key
    driver = node_labels(one).get("nvidia.com/gpu.deploy.driver")
    return {"true": "plain", "pre-installed": "plain-driver"}.get(driver or "")


def _taints(one: ObservedResource) -> Declaration:
    found, own = items(mapping(one.properties.get("spec")).get("taints")), own_taints(one)
    tainted = any(mapping(t).get("key") == "nvidia.com/gpu" for t in found)
    return ({"taints": own} if own else {}) | ({} if tainted else {"gpuTaint": False})


def _alike(one: ObservedResource) -> tuple[str, ...]:
    labels = node_labels(one)
    keys = (POOL_LABEL, PRODUCT_LABEL, "nvidia.com/mig.config", "nvidia.com/device-plugin.config")
    return (*(labels.get(key, "") for key in keys), str(_count(one)))


def _name(text: str, taken: set[str]) -> str:
    base = pool_name(text)[:34]
    name = next(n for n in (base, *(f"{base}-{i}" for i in range(2, 1000))) if n not in taken)
    taken.add(name)
    return name


def _own(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels by which sharing is read; those of other people stay theirs."""
    return {
        key: value for key, value in labels.items() if key.startswith(("nvidia.com/", "gpufleet"))
    }


def _has_gpu(one: ObservedResource) -> bool:
    labels = node_labels(one)
    resources = [
        key for key in _capacity(one) if key.startswith(("nvidia.com/gpu", "nvidia.com/mig-"))
    ]
    pci = labels.get("feature.node.kubernetes.io/pci-10de.present") == "true"
    return bool(resources) or PRODUCT_LABEL in labels or pci


def _capacity(one: ObservedResource) -> dict[str, Any]:
    return mapping(mapping(one.properties.get("status")).get("capacity"))


def _metadata(one: ObservedResource) -> dict[str, Any]:
    return mapping(one.properties.get("metadata"))


ADOPTION = ExistingAdoption()
