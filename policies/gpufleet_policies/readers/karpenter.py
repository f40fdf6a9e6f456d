"""Karpenter's objects as facts: NodePool with its machines, zones and ways of buying,
EC2NodeClass, NodeOverlay."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from gpufleet.catalogue import load
from gpufleet.cluster.capacity import LaunchTemplate, NodeOverlay
from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.pool import (
    NOT_ACCEPTED_KEY,
    DisruptionBudget,
    KarpenterFacts,
    Maker,
    NodePool,
    Size,
)
from gpufleet.contract.programs import karpenter_machines as machines_of
from gpufleet.contract.programs.karpenter_keys import CAPACITY_TYPE, ZONE
from gpufleet.contract.programs.karpenter_machines import NodeRequirement, mixes_gpus
from gpufleet.documents.paths import text_at
from gpufleet.documents.quantities import go_duration
from gpufleet.documents.shapes import is_list, items, known_texts, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.names import meanings
from gpufleet_policies.readers.blocks import all_known, inside, number, texts, word
from gpufleet_policies.readers.eks import is_committed, taints
from gpufleet_policies.readers.machines import NO_MACHINES, Machines, gpu_by_name, machines
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import amount, fact, holds_unknown, text, whole_amount

_WAYS = {"on-demand": "onDemand", "spot": "spot", "reserved": "reserved"}

NEVER = "Never"
_LONGEST = 60
"""Characters; longer figures are no numbers anybody can add."""


def seconds(value: Any, place: str = "") -> Fact[int]:
    """Whole seconds; absent for nothing and for `Never`, unknown for what is not a duration."""
    if value is None or value == NEVER:
        return absent(place)
    if isinstance(value, int) and not isinstance(value, bool):
        return known(value, place=place)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return unknown(place)
    if value.isdecimal():
        return known(int(value), place=place)
    found = go_duration(value)
    return unknown(place) if found is None or found < 0 else known(int(found), place=place)


def read_requirements(value: Any) -> tuple[NodeRequirement, ...] | None:
    """None where some requirement cannot be read: then nothing can be concluded from the rest."""
    if value is None:
        return ()
    if not is_list(value) or holds_unknown(value):
        return None
    found = machines_of.read_requirements(value)
    lists = all(isinstance(inside(one, "values"), list | None) for one in value)
    return found if len(found) == len(value) and lists else None


def hardware_of(
    requirements: tuple[NodeRequirement, ...] | None,
) -> tuple[Fact[tuple[str, ...]], Machines, bool]:
    """Types, what they carry, and whether types without GPUs are allowed too."""
    place = "spec.template.spec.requirements"
    if requirements is None:
        return unknown(place), NO_MACHINES, True
    named = next((r.values for r in requirements if r.is_type and r.operator == "In"), None)
    if named is not None:
        return known(named, place=place), machines(named, place), False
    if not machines_of.demands_gpus(requirements):
        excluded = machines_of.excludes_gpus(requirements)
        carries: Fact[bool] = known(False, place=place) if excluded else unknown(place)
        return absent(place), Machines(absent(place), absent(place), carries), True
    types = tuple(row.name for row in machines_of.whole_machines(requirements, load()))
    if types:
        found = machines(types, place)
        return known(types, place=place), found, False
    names = [v for r in requirements if r.label == "instance-gpu-name" for v in r.values]
    counts = [v for r in requirements if r.label == "instance-gpu-count" for v in r.values]
    gpu = gpu_by_name(names) if len(names) == 1 else unknown(place)
    count: Fact[int] = unknown(place)
    if len(counts) == 1:
        count = fact(counts[0], natural, place)
    return unknown(place), Machines(gpu, count, known(True, place=place)), False


def single_values(requirements: tuple[NodeRequirement, ...] | None) -> dict[str, str]:
    """Labels every node is certain to carry because a requirement allows one value only."""
    return {
        one.key: one.values[0]
        for one in requirements or ()
        if one.operator == "In" and len(one.values) == 1 and "/" in one.key
    }


def ways_of(requirements: tuple[NodeRequirement, ...] | None) -> Fact[frozenset[str]]:
    """Without the requirement Karpenter buys on demand."""
    if requirements is None:
        return unknown(CAPACITY_TYPE)
    for one in requirements:
        if one.key != CAPACITY_TYPE:
            continue
        if not one.values and one.operator != "Exists":
            return unknown(CAPACITY_TYPE)
        if one.operator == "In":
            return known(frozenset(_WAYS.get(v, v) for v in one.values), place=CAPACITY_TYPE)
        if one.operator == "NotIn":
            left = [way for name, way in _WAYS.items() if name not in one.values]
            return known(frozenset(left), place=CAPACITY_TYPE)
        if one.operator == "Exists":
            return known(frozenset(_WAYS.values()), place=CAPACITY_TYPE)
    return known(frozenset({"onDemand"}), place=CAPACITY_TYPE)


def zones_of(requirements: tuple[NodeRequirement, ...] | None) -> Fact[tuple[str, ...]]:
    """Zones that the requirements allow; absent: all of the cluster."""
    for one in requirements or ():
        if one.key == ZONE and one.operator == "In":
            return known(one.values, place=ZONE)
    return unknown(ZONE) if requirements is None else absent(ZONE)


_DEFAULT_POLICY = "WhenEmptyOrUnderutilized"
_DEFAULT_AFTER = "0s"
_DEFAULT_EXPIRY = "720h"
"""Karpenter's defaults of fields that are absent (karpenter-provider-aws docs, disruption)."""


def node_pool(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """karpenter.sh NodePool."""
    template = inside(document, "spec.template")
    spec = inside(template, "spec")
    requirements = read_requirements(inside(spec, "requirements"))
    types, found, is_open = hardware_of(requirements)
    labels = inside(template, "metadata.labels")
    own = known_texts(labels)
    metadata = known_texts(inside(document, "metadata.annotations"))
    named = known_texts(inside(document, "metadata.labels"))
    merged = {**own, **named, **metadata, **known_texts(inside(template, "metadata.annotations"))}
    replicas = number(document, "spec.replicas")
    static = not replicas.is_absent
    limits = inside(document, "spec.limits")
    place, tainted = "spec.template.spec.taints", inside(spec, "taints")
    first = items(inside(spec, "startupTaints"))
    if waits := [one for one in first if inside(one, "key") == NOT_ACCEPTED_KEY]:
        tainted = UNKNOWN if tainted is UNKNOWN else [*items(tainted), *waits]
    yield NodePool(
        locator=locator,
        annotations=merged,
        name=locator.name,
        maker=Maker.KARPENTER,
        instance_types=types,
        instance_types_place="spec.template.spec.requirements",
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        is_gpu_pool=found.carries_gpus,
        is_shape_open=is_open,
        is_mixed=mixes_gpus(requirements or ()),
        size=_size(replicas, limits),
        capacity=ways_of(requirements),
        capacity_place=f"spec.template.spec.requirements[{CAPACITY_TYPE}]",
        commitment=is_committed(merged),
        taints=taints(tainted, place),
        taints_place=place,
        labels={**own, **single_values(requirements)},
        labels_known=all_known(labels),
        tags=merged,
        tags_known=all_known(labels) and all_known(inside(document, "metadata.labels")),
        tags_place="spec.template.metadata.labels",
        zones=zones_of(requirements),
        launch_template=text_at(spec, "nodeClassRef.name"),
        fabric=unknown("spec.template.spec.nodeClassRef"),
        placement_group=unknown("spec.template.spec.nodeClassRef"),
        karpenter=_disruption(document, spec, static=static, limits=limits),
    )


def _size(replicas: Fact[int], limits: Any) -> Size:
    nodes = fact(inside(limits, "nodes"), whole_amount, "spec.limits.nodes")
    if not replicas.is_absent:
        return Size(replicas, replicas, replicas, "spec.replicas", "spec.replicas", fixed=True)
    return Size(known(0), nodes, absent("spec.replicas"), "", "spec.limits")


def _quantity(value: Any) -> Fraction | None:
    return Fraction(found.number) if (found := amount(value)) else None


def _disruption(
    document: dict[str, Any], spec: Any, *, static: bool, limits: Any
) -> KarpenterFacts:
    written = inside(document, "spec.disruption")
    after = word(written, "consolidateAfter").or_default(_DEFAULT_AFTER)
    expiry = inside(spec, "expireAfter")
    if expiry is None:
        expiry = inside(written, "expireAfter")  # v1beta1
    return KarpenterFacts(
        static=static,
        limits={
            name: fact(value, _quantity, f"spec.limits[{name}]")
            for name, value in mapping(limits).items()
        },
        limits_known=limits is not UNKNOWN,
        policy=word(written, "consolidationPolicy").or_default(_DEFAULT_POLICY),
        consolidate_after=after,
        consolidate_after_seconds=seconds(after.value, after.place)
        if after.is_known
        else unknown(after.place),
        expire_after=fact(expiry, text, "spec.template.spec.expireAfter").or_default(
            _DEFAULT_EXPIRY
        ),
        expiry_written=expiry is not None and expiry != NEVER,
        termination_grace=word(spec, "terminationGracePeriod"),
        budgets=_budgets(inside(written, "budgets")),
        disruption_written=written is not None,
        disruption_known=written is not UNKNOWN,
    )


def _budgets(value: Any) -> Fact[tuple[DisruptionBudget, ...]]:
    place = "spec.disruption.budgets"
    if value is None:
        return absent(place)
    if not is_list(value):
        return unknown(place)
    return known(
        tuple(
            DisruptionBudget(
                fact(inside(one, "nodes"), _as_text, f"{place}.nodes"),
                texts(one, "reasons"),
                inside(one, "schedule") is not None,
            )
            for one in value
        ),
        place=place,
    )


def _as_text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def node_class(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """karpenter.k8s.aws EC2NodeClass: reservations and networks of the pools that name it."""
    reserved: list[str] = []
    for term in items(inside(document, "spec.capacityReservationSelectorTerms")):
        found = inside(term, "id")
        reserved.append(found if isinstance(found, str) else "?")
    interfaces = inside(document, "spec.networkInterfaces")
    yield LaunchTemplate(
        locator=locator,
        annotations={
            **known_texts(inside(document, "metadata.annotations")),
            **known_texts(inside(document, "spec.tags")),
        },
        names=(locator.name,),
        reservations=tuple(reserved),
        # Karpenter adds EFA interfaces by itself to nodes of pods that request them.
        has_efa=unknown("spec.networkInterfaces") if interfaces is UNKNOWN else known(True),
        image=_image(document),
        placement_group=word(document, "spec.placementGroupSelector.name", "spec.placementGroup"),
    )


_IMAGES = meanings("image family of other clouds")
"""Family of an AKSNodeClass or GCENodeClass -> key of the catalogue: AKS brings the driver and GKE
the device plugin too."""


def other_class(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """AKSNodeClass and GCENodeClass: the image of the pools that name it, and its GPU taint.

    Azure/karpenter-provider-azure 00ae112 `labels.go`, `aksnodeclass_gpu_test.go` (unmanaged is the
    default), cloudpilot-ai/karpenter-provider-gcp 06f4fc7 `gcenodeclass.go`.
    """
    place = "spec.imageSelectorTerms" if document.get("kind") == "GCENodeClass" else "spec"
    terms = items(inside(document, "spec.imageSelectorTerms"))
    written = [inside(one, "alias") for one in terms] or [inside(document, "spec.imageFamily")]
    if written == [None] and place == "spec":
        written = ["Ubuntu"]  # the default of Karpenter on Azure
    keys = {_IMAGES.get(str(one).partition("@")[0]) for one in written}
    key = keys.pop() if len(keys) == 1 else None
    managed = inside(document, "spec.gpu.nvidia.managementMode") not in (None, "Unmanaged")
    yield LaunchTemplate(
        locator=locator,
        annotations=known_texts(inside(document, "metadata.annotations")),
        names=(locator.name,),
        image=unknown(place) if key is None or managed else known(key, place=place),
        taints_gpus=inside(document, "spec.autoGPUTaint") is True,
    )


def _image(document: dict[str, Any]) -> Fact[str]:
    """The one image that the class selects by alias, name or parameter."""
    place = "spec.amiSelectorTerms"
    terms = items(inside(document, place))
    if not terms:
        return absent(place)
    keys = ("alias", "name", "ssmParameter")
    named = [word(term, key) for term in terms for key in keys if inside(term, key) is not None]
    return named[0] if len(named) == len(terms) == 1 else unknown(place)


def node_overlay(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """karpenter.sh NodeOverlay."""
    yield NodeOverlay(locator=locator, resources=tuple(mapping(inside(document, "spec.capacity"))))
