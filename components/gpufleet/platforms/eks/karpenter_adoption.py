"""Pools on EKS from existing NodePools and EC2NodeClasses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpufleet.catalogue import load
from gpufleet.contract.programs.karpenter_keys import TYPE
from gpufleet.contract.programs.karpenter_machines import (
    NodeRequirement,
    demands_gpus,
    names_newer,
    read_requirements,
    selected,
)
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import items, known_texts, mapping
from gpufleet.fleet.adopted_rows import adopted_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import Declaration, Observations, ObservedResource, ProposedPool
from gpufleet.fleet.observed_nodes import group_taints, pool_name
from gpufleet.platforms.eks import auto_mode
from gpufleet.platforms.eks.adopted_fields import (
    GPU_TAINTS,
    bottlerocket_sharing,
    disk_size,
    gpus_of,
    has_accelerator,
    is_neuron,
    kms_key,
    prefix_of,
    sorted_taints,
)
from gpufleet.platforms.eks.karpenter_objects import disruption
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.pool import Intent

_adopted = adopted_in(__file__)

_KARPENTER_OWN = {
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "karpenter.sh/capacity-type",
    "topology.kubernetes.io/zone",
}
_LIFETIME = ("expireAfter", "terminationGracePeriod")
_RESERVATIONS = {"tags": "tags", "ownerId": "ownerID", "match": "instanceMatchCriteria"}
_WAYS = {"reserved": "reserved", "spot": "spot", "on-demand": "onDemand"}


def karpenter_pools(
    seen: Observations, one: ObservedResource, kubernetes_version: str
) -> Iterator[ProposedPool]:
    """The pools of a NodePool and its node class: one for each combination of accelerator, their
    number and processor of its machines; none for one without accelerators."""
    inner = mapping(mapping(one.spec.get("template")).get("spec"))
    groups: dict[tuple[object, ...], list[str]] = {}
    for name in _machine_types(read_requirements(inner.get("requirements"))):
        row = load().instances.get(name)
        if row is not None and has_accelerator(name):
            chip = row.accelerator
            alike = chip.gpu, chip.count, chip.fraction, row.architecture
            groups.setdefault(alike, []).append(name)
    for (gpu, count, part, _), types in groups.items():
        share = "" if part == 1 else f"-{part}"
        suffix = pool_name(f"n-{count}x-{gpu}{share}")[1:] if len(groups) > 1 else ""
        yield _pool(seen, one, kubernetes_version, types, suffix)


def _pool(
    seen: Observations,
    one: ObservedResource,
    kubernetes_version: str,
    types: list[str],
    suffix: str,
) -> ProposedPool:
    """The pool of some machine types of a NodePool."""
    spec = one.spec
    template = mapping(spec.get("template"))
    inner = mapping(template.get("spec"))
    wanted = {str(mapping(r).get("key")): mapping(r) for r in items(inner.get("requirements"))}
    requirements = read_requirements(inner.get("requirements"))
    metadata = one.metadata
    labels = known_texts(mapping(template.get("metadata")).get("labels"))
    name = one.labels.get(POOL_LABEL) or str(metadata.get("name"))
    most, notes = _most_nodes(mapping(spec.get("limits")), types)
    if suffix:
        name = f"{name[: 40 - len(suffix)]}{suffix}"
        notes.append(
            f"{metadata.get('name')} has machines with other GPUs too, which are separate "
            "pools: its limits and its weight apply to all of them together"
        )
    if not _named_types(requirements):
        notes.append(_by_labels(requirements, types))
    reference = mapping(inner.get("nodeClassRef"))
    auto = reference.get("kind") == auto_mode.KIND
    classes = seen.objects(auto_mode.KIND if auto else "EC2NodeClass")
    cls = next((c for c in classes if _named(c) == reference.get("name")), None)
    node_class = {} if cls is None else cls.spec
    reserved = [
        {"id": mapping(t)["id"]}
        for t in items(node_class.get("capacityReservationSelectorTerms"))
        if "id" in mapping(t)
    ]
    pool: Declaration = {
        "name": name,
        "instanceTypes": types,
        "nodes": {"min": 0, "max": most},
        "provisioner": "autoMode" if auto else "karpenter",
    }
    zones = [str(z) for z in items(wanted.get("topology.kubernetes.io/zone", {}).get("values"))]
    ways: list[Declaration] = []
    for word in ("reserved", "spot", "on-demand"):
        if word in items(wanted.get("karpenter.sh/capacity-type", {}).get("values")):
            held = [{"reserved": {**r, **({"zone": zones[0]} if zones else {})}} for r in reserved]
            ways += held if word == "reserved" else [{_WAYS[word]: {}}]
    static, free = spec.get("replicas"), _of_pool(seen, "CapacityBuffer", name).get("replicas")
    for least in (static, free):
        if isinstance(least, int):
            pool["nodes"] = {"min": least, "max": max(least, pool["nodes"]["max"])}
    intent, own = _disrupted({**mapping(spec.get("disruption")), **inner}, auto=auto)
    _adopted(
        "nodePool",
        pool,
        spec=spec,
        inner=inner,
        node_class=node_class,
        ways=ways,
        zones=zones,
        reserved=reserved,
        taints=group_taints(inner.get("taints"), GPU_TAINTS, {}),
        intent=intent,
        own=own,
        disruption={key: value for key, value in own.items() if key not in _LIFETIME},
        static=static if isinstance(static, int) else None,
        free=free if isinstance(free, int) else None,
        more=[one for key, one in wanted.items() if key not in _KARPENTER_OWN],
        neuron=all(is_neuron(one) for one in types),
        placed=_is_placed(name, node_class, seen),
        overlay=_of_pool(seen, "NodeOverlay", name),
        repaired=auto or not _repair_is_off(seen),
        sharing=bottlerocket_sharing(node_class.get("userData"), types[0]),
        **_class_options(node_class, kubernetes_version),
    )
    tags = known_texts(node_class.get("tags"))
    kept = {"taints": sorted_taints(inner.get("taints"))}
    if inner.get("startupTaints"):
        kept["startupTaints"] = sorted_taints(inner.get("startupTaints"))
    rest = {k: v for k, v in inner.items() if k not in ("requirements", "taints", "startupTaints")}
    metadata = {k: v for k, v in metadata.items() if k in ("name", "labels")}
    found: dict[str, Mapping[str, Any]] = {
        "nodePool": {
            "apiVersion": one.properties.get("apiVersion"),
            "kind": "NodePool",
            "metadata": metadata,
            "spec": {**spec, "template": {**template, "spec": {**rest, **kept}}},
            "requirements": {
                f"{key} {r.get('operator')}": sorted(map(str, items(r.get("values"))))
                for key, r in wanted.items()
            },
        }
    }
    if cls is not None:
        found["nodeClass"] = {
            "apiVersion": cls.properties.get("apiVersion"),
            "kind": cls.properties.get("kind"),
            "metadata": {k: v for k, v in cls.metadata.items() if k in ("name", "labels")},
            "spec": node_class,
        }
    return ProposedPool(
        pool,
        found,
        (one,) if cls is None else (one, cls),
        labels=labels,
        tags=tags,
        name_prefix=prefix_of(tags, name),
        notes=tuple(notes),
    )


def _named_types(requirements: Sequence[NodeRequirement]) -> list[str]:
    """Machine types in a requirement."""
    named = (one for one in requirements if one.key == TYPE and one.operator == "In")
    return [value for one in named for value in one.values]


def _machine_types(requirements: Sequence[NodeRequirement]) -> list[str]:
    """Named machine types, or those with NVIDIA GPUs that the labels of machines select
    (`instance-family`, `instance-category` and the like); empty if machines without GPUs also
    match."""
    named = _named_types(requirements)
    if named or not demands_gpus(requirements):
        return named
    return [row.name for row in selected(requirements)]


def _by_labels(requirements: Sequence[NodeRequirement], types: Sequence[str]) -> str:
    """Note on machine types that no requirement names."""
    labels = ", ".join(one.key for one in requirements if one.provider)
    newer = (
        "; it names a family that the catalogue does not have" if names_newer(requirements) else ""
    )
    return (
        f"instanceTypes are the {len(types)} of the catalogue that {labels} select{newer}: "
        "Karpenter may select others that are not in it"
    )


def _most_nodes(limits: Mapping[str, Any], types: Sequence[str]) -> tuple[int, list[str]]:
    """Maximum number of nodes of a NodePool, and a note if its limits do not give it."""
    if (nodes := str(limits.get("nodes"))).isdigit():
        return int(nodes), []
    if (gpus := str(limits.get("nvidia.com/gpu"))).isdigit():
        each = min(gpus_of(name) for name in types if has_accelerator(name))
        note = f"nodes.max is its limit of {gpus} nvidia.com/gpu, {each} for each machine"
        return max(1, int(gpus) // each), [f"the NodePool limits no number of nodes: {note}"]
    return 1, ["the NodePool limits no number of nodes: nodes.max is a guess"]


def _repair_is_off(seen: Observations) -> bool:
    """Whether Karpenter's own values keep its gate NodeRepair off."""
    return any(
        value_at(mapping(one.properties.get("values")), "settings.featureGates.nodeRepair") is False
        for one in seen.of("kubernetes:helm.sh/v3:Release")
        if str(one.properties.get("chart")).endswith("karpenter")
    )


def _disrupted(shown: Mapping[str, Any], *, auto: bool) -> tuple[str, dict[str, Any]]:
    """The intent with the most similar disruption, and what differs from it."""
    defaults = {one: _disruption(one, auto=auto) for one in Intent}
    alike = {one: sum(shown.get(k) == v for k, v in defaults[one].items()) for one in Intent}
    intent = max((Intent.INFERENCE, *Intent), key=lambda one: alike[one])  # the default if equal
    own = {k: shown[k] for k, v in defaults[intent].items() if k in shown and shown[k] != v}
    return intent.value, own


def _disruption(intent: Intent, *, auto: bool) -> dict[str, Any]:
    rules, lifetime = disruption(intent, KarpenterPoolOptions(), auto_mode=auto)
    return {**rules, **lifetime}


def _is_placed(pool: str, spec: Mapping[str, Any], seen: Observations) -> bool:
    """Whether its placement group is one of the pool; otherwise it is an existing one."""
    groups = seen.of("aws:ec2/placementGroup:PlacementGroup")
    tags = [mapping(one.properties.get("tags")) for one in groups]
    named = mapping(spec.get("placementGroupSelector")).get("name") is not None
    return named and any(one.get(POOL_LABEL) == pool for one in tags)


def _of_pool(seen: Observations, kind: str, pool: str) -> Mapping[str, Any]:
    """`spec` of the object of a kind for a pool; empty: there is none."""
    found = (one for one in seen.objects(kind) if one.labels.get(POOL_LABEL) == pool)
    return next((one.spec for one in found), dict[str, Any]())


def _class_options(spec: Mapping[str, Any], kubernetes_version: str) -> dict[str, Any]:
    """Image, release, reservations and volume in a node class."""
    terms = [mapping(t) for t in items(spec.get("amiSelectorTerms"))]
    alias = next((str(t["alias"]) for t in terms if "alias" in t), "")
    family, _, release = alias.partition("@")  # al2023@v20261101, bottlerocket@v1.52.0
    number = release.removeprefix("v")
    numbered = number if family == "bottlerocket" else f"{kubernetes_version}.0-{number}"
    disk = mapping(spec.get("ephemeralStorage"))  # EKS Auto Mode
    volumes = spec.get("blockDeviceMappings") or [{"ebs": {**disk, "volumeSize": disk.get("size")}}]
    reservations = [
        {ours: term[theirs] for ours, theirs in _RESERVATIONS.items() if theirs in term}
        for term in map(mapping, items(spec.get("capacityReservationSelectorTerms")))
        if "id" not in term
    ]
    return {
        "family": family,
        "release": None if release in ("", "latest") else numbered,
        "ami": next((str(t["id"]) for t in terms if "id" in t), None),
        "reservations": reservations,
        "size": disk_size(volumes),
        "key": kms_key(volumes),
    }


def _named(one: ObservedResource) -> Any:
    return one.metadata.get("name")
