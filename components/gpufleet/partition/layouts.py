"""MIG layouts of a pool: which GPU of the node gets which, and whether they go together."""

from collections.abc import Iterator, Mapping

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.partition import rules
from gpufleet.partition.placement import MigPlacement
from gpufleet.partition.profile_name import divides, gpu_instance_of, total
from gpufleet.partition.shares import slice_memory
from gpufleet.partition.validation import validate_layout
from gpufleet.spec.sharing import Mig, MigLayout, MigStrategy

_finding, _rules = findings_in(__file__), rules_in(__file__)

Cut = tuple[Mapping[str, int], MigPlacement | None]
"""Devices of one GPU, and the proof; no proof for a GPU that stays whole."""


def lay_out(gpu: Gpu, gpus_per_node: int, mig: Mig, path: str) -> tuple[list[Cut], list[Finding]]:
    """The partition of every GPU of a node by index, and every finding about the layouts."""
    findings = [*_check_distribution(mig, gpus_per_node, path)]
    cuts: list[Cut] = []
    for number, layout in enumerate(mig.layouts):
        count = _gpus(layout, gpus_per_node)
        if not layout.devices:
            cuts += [(frozen({}), None)] * count
            continue
        where = f"{path}.layout" if mig.layout else f"{path}.layouts[{number}].devices"
        answer, found = validate_layout(gpu, layout.devices, where, mig.strategy)
        findings += found
        if isinstance(answer, MigPlacement):
            cuts += [(_own_names(layout.devices, answer.renamed), answer)] * count
    cuts += [(frozen({}), None)] * (gpus_per_node - len(cuts))
    findings += _check_strategy(mig, gpus_per_node, path)
    findings += _check_slicing(gpu, mig, path)
    return cuts[:gpus_per_node], findings


def _own_names(devices: Mapping[str, int], renamed: Mapping[str, str]) -> Mapping[str, int]:
    return frozen(total({renamed.get(name, name): count} for name, count in devices.items()))


def _check_distribution(mig: Mig, gpus_per_node: int, path: str) -> Iterator[Finding]:
    everywhere = [i for i, layout in enumerate(mig.layouts) if layout.gpus == "all"]
    if everywhere and len(mig.layouts) > 1:
        yield _finding(
            "mig-layouts-overlap",
            f"{path}.layouts[{everywhere[0]}]",
            layouts=len(mig.layouts),
            gpus_per_node=gpus_per_node,
            limit=1,
        )
    counted = sum(layout.gpus for layout in mig.layouts if layout.gpus != "all")
    if counted > gpus_per_node:
        yield _finding("mig-layouts-exceed-gpus", path, value=counted, limit=gpus_per_node)
    elif not everywhere and counted < gpus_per_node and mig.strategy is MigStrategy.MIXED:
        left = gpus_per_node - counted
        yield _finding("mig-gpus-left-whole", path, value=left, gpus_per_node=gpus_per_node)


def _check_strategy(mig: Mig, gpus_per_node: int, path: str) -> list[Finding]:
    cutting = [layout for layout in mig.layouts if layout.devices]
    if not cutting:
        return [_finding("mig-nothing-cut", path)]
    profiles = sorted({name for layout in cutting for name in layout.devices})
    if mig.strategy is MigStrategy.MIXED:
        return [
            _finding(
                "mig-compute-instance-mixed",
                f'{path}.layouts[{number}].devices["{name}',
                value=name,
                gpu_instance_of=gpu_instance_of(name),
            )
            for number, layout in enumerate(mig.layouts)
            for name in sorted(layout.devices)
            if divides(name)
        ]
    covered = sum(_gpus(layout, gpus_per_node) for layout in cutting)
    numbers = {"profiles": profiles, "covered": covered, "gpus_per_node": gpus_per_node}
    return [*_rules("single", path, **numbers)]


def _gpus(layout: MigLayout, gpus_per_node: int) -> int:
    return gpus_per_node if layout.gpus == "all" else min(layout.gpus, gpus_per_node)


def _check_slicing(gpu: Gpu, mig: Mig, path: str) -> Iterator[Finding]:
    """Time-sliced MIG slices whose shares have too little memory."""
    if mig.time_slicing is None:
        return
    for name in sorted({name for layout in mig.layouts for name in layout.devices}):
        memory = slice_memory(gpu, gpu_instance_of(name))
        yield from rules.small_shares(
            f"a {name} slice", mig.time_slicing.replicas, memory, f"{path}.timeSlicing"
        )
