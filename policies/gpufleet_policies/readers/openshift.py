"""Machines of OpenShift as facts: sets on AWS, Google and vSphere, and their autoscalers."""

from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.capacity import PoolAutoscaler
from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.contract.relation import HEALTH_CHECK
from gpufleet.documents.shapes import items, known_texts
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside, number, region_of, word
from gpufleet_policies.readers.cluster_api import bounded_size, pci_hardware
from gpufleet_policies.readers.eks import hardware, is_committed, one_type, taints
from gpufleet_policies.readers.machines import Machines, accelerated
from gpufleet_policies.readers.nvidia_objects import installed
from gpufleet_policies.readers.raw_pods import natural

_GPUS = "machine.openshift.io/GPU"


def machine_set(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """machine.openshift.io MachineSet on AWS, Google and vSphere."""
    annotations = known_texts(inside(document, "metadata.annotations"))
    provider = inside(document, "spec.template.spec.providerSpec.value")
    kind = word(provider, "instanceType", "machineType")
    types = one_type(kind)
    found = hardware(types) if not types.is_absent else _hint(annotations, provider)
    attached = items(inside(provider, "gpus"))
    if attached and isinstance(inside(attached[0], "type"), str):
        gpu, row = accelerated(kind.found, inside(attached[0], "type"), 1)
        found = Machines(gpu, number(attached[0], "count"), known(True))
        types = types if row is None else known((row,))
    labels = known_texts(inside(document, "spec.template.spec.metadata.labels"))
    tags = {
        str(inside(tag, "name")): str(inside(tag, "value"))
        for tag in items(inside(provider, "tags"))
    }
    merged = {**known_texts(inside(document, "metadata.labels")), **tags, **annotations}
    reserved = inside(provider, "capacityReservationId")
    yield NodePool(
        locator=locator,
        annotations=merged,
        name=locator.name,
        maker=Maker.OPENSHIFT,
        instance_types=types,
        instance_types_place="spec.template.spec.providerSpec.value.instanceType",
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        is_gpu_pool=found.carries_gpus,
        size=bounded_size(document, "machine.openshift.io/"),
        capacity=_capacity(provider),
        capacity_place="spec.template.spec.providerSpec.value.spotMarketOptions",
        reservations=(reserved if isinstance(reserved, str) else "?",) if reserved else (),
        commitment=is_committed(merged),
        taints=taints(inside(document, "spec.template.spec.taints"), "spec.template.spec.taints"),
        taints_place="spec.template.spec.taints",
        labels=labels,
        tags=merged,
        tags_place="metadata.labels",
        zones=_zone(provider),
        region=region_of(provider, "placement.region"),
        placement_group=word(provider, "placementGroupName"),
    )


def health_check(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """machine.openshift.io MachineHealthCheck: which machines are replaced, and how many."""
    yield installed(HEALTH_CHECK, document, locator)


def _hint(annotations: dict[str, str], provider: Any) -> Machines:
    devices = items(inside(provider, "pciDevices"))
    if devices:
        return pci_hardware(devices)
    count = natural(annotations.get(_GPUS))
    if count is not None:
        some = count > 0
        return Machines(
            unknown(_GPUS) if some else absent(_GPUS),
            known(count) if some else absent(_GPUS),
            known(some),
        )
    nothing: Fact[Any] = unknown("providerSpec.value")
    return Machines(nothing, nothing, nothing)


def _capacity(provider: Any) -> Fact[frozenset[str]]:
    kind = inside(provider, "kind")
    if isinstance(kind, str) and kind.startswith("VSphere"):
        return known(frozenset({"onPrem"}))
    spot = inside(provider, "spotMarketOptions")
    preemptible = inside(provider, "preemptible")
    market = inside(provider, "marketType")
    model = inside(provider, "provisioningModel")
    if UNKNOWN in (spot, preemptible, market, model):
        return unknown("spotMarketOptions")
    if market == "CapacityBlock":
        return known(frozenset({"capacityBlock"}))
    taken_back = spot is not None or preemptible is True or "Spot" in (market, model)
    return known(frozenset({"spot" if taken_back else "onDemand"}))


def _zone(provider: Any) -> Fact[tuple[str, ...]]:
    for path in ("placement.availabilityZone", "zone"):
        found = word(provider, path)
        if found.is_known:
            return known((found.value,), place=path)
    return absent("placement.availabilityZone")


def machine_autoscaler(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """autoscaling.openshift.io MachineAutoscaler."""
    yield PoolAutoscaler(
        locator=locator,
        target=word(document, "spec.scaleTargetRef.name"),
        minimum=number(document, "spec.minReplicas").or_default(0),
        maximum=number(document, "spec.maxReplicas"),
    )
