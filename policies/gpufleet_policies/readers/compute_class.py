"""GKE's ComputeClass: a pool for each priority with GPUs, of which the first that there is is made.

How many nodes there are, their taints and their accounting are not known; GKE gives pods their
tolerations.

Source: GKE reference of custom resources, ComputeClass (spec.priorities, spec.whenUnsatisfiable).
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, known, unknown
from gpufleet.cluster.pool import Maker, NodePool, Size
from gpufleet.documents.shapes import items
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside, number, word
from gpufleet_policies.readers.machines import accelerated, machines

_OPEN: Fact[Any] = unknown("spec")


def compute_class(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """cloud.google.com ComputeClass."""
    priorities = inside(document, "spec.priorities")
    found = [one for one in items(priorities) if inside(one, "gpu") is not None]
    if not found and priorities is not UNKNOWN:
        return  # no GPUs
    for one in found:
        yield _pool(locator, one)
    others = any(_may_have_gpus(one) for one in items(priorities) if one not in found)
    stops = word(document, "spec.whenUnsatisfiable").found == "DoNotScaleUp"
    if others or priorities is UNKNOWN or not stops:
        yield _pool(locator, {})  # machines with GPUs of another kind may be made too


def _may_have_gpus(priority: Any) -> bool:
    """Whether a priority without `gpu` may make nodes with GPUs: pools that it names have what they
    have, and machines of the families with accelerators bring theirs."""
    machine = word(priority, "machineType").found or f"{word(priority, 'machineFamily').found}-"
    carries = machines((machine,)).carries_gpus
    return inside(priority, "nodepools") is not None or carries.found is not False


def _pool(locator: Locator, priority: Any) -> NodePool:
    machine, kind = word(priority, "machineType"), word(priority, "gpu.type")
    count = number(priority, "gpu.count")
    gpu: Fact[str] = unknown("gpu.type")
    types: Fact[tuple[str, ...]] = unknown("machineType")
    if kind.is_known and count.is_known:
        gpu, row = accelerated(machine.found or "", kind.value, count.value)
        if machine.is_known:
            types = known((row or machine.value,), place="spec.priorities")
    return NodePool(
        locator=locator,
        name=locator.name,
        maker=Maker.GKE,
        instance_types=types,
        gpu=gpu,
        gpus_per_node=count if count.is_known else unknown("gpu.count"),
        is_gpu_pool=known(value=True) if kind.is_known else _OPEN,
        size=Size(_OPEN, _OPEN, _OPEN),
        capacity=known(frozenset(_ways(priority))) if kind.is_known else _OPEN,
        taints=_OPEN,
        labels={"cloud.google.com/compute-class": locator.name},
        labels_known=False,
        tags_known=False,
        zones=_OPEN,
        placement_group=_OPEN,
        fabric=_OPEN,
    )


def _ways(priority: Any) -> Iterator[str]:
    specific = inside(priority, "reservations.affinity") == "Specific"
    if inside(priority, "flexStart.enabled") is True:
        yield "flexStart"
    else:
        yield "spot" if inside(priority, "spot") is True else "reserved" if specific else "onDemand"
