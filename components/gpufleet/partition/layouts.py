"""MIG layouts of a pool: which GPU of the node gets which, and proof that each can exist."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import Evidence, Gpu, MigGeometry
from gpufleet.findings import Finding, error, info, warning
from gpufleet.partition import rules
from gpufleet.partition.nearest import better_layout
from gpufleet.partition.placement import Placement, Refusal, place
from gpufleet.partition.profile_name import parse
from gpufleet.partition.shares import slice_memory
from gpufleet.partition.slot_table import slot_table
from gpufleet.spec.sharing import Mig, MigLayout, MigStrategy

Cut = tuple[Mapping[str, int], Placement | None]
"""Devices of one GPU, and the proof; no proof for a GPU that stays whole."""


def lay_out(gpu: Gpu, gpus_per_node: int, mig: Mig, path: str) -> tuple[list[Cut], list[Finding]]:
    """The cut of every GPU of a node by index, and every finding about the layouts."""
    findings = _check_distribution(mig, gpus_per_node, path)
    cuts: list[Cut] = []
    for number, layout in enumerate(mig.layouts):
        count = _gpus(layout, gpus_per_node)
        if not layout.devices:
            cuts += [(frozen({}), None)] * count
            continue
        where = f"{path}.layouts[{number}].devices"
        answer, found = judge_layout(gpu, layout.devices, where, mig.strategy)
        findings += found
        if isinstance(answer, Placement):
            cuts += [(_own_names(layout.devices, answer.renamed), answer)] * count
    cuts += [(frozen({}), None)] * (gpus_per_node - len(cuts))
    findings += _check_strategy(gpu, mig, gpus_per_node, path)
    findings += _check_slicing(gpu, mig, path)
    return cuts[:gpus_per_node], findings


def judge_layout(
    gpu: Gpu,
    devices: Mapping[str, int],
    where: str,
    strategy: MigStrategy = MigStrategy.MIXED,
) -> tuple[Placement | Refusal | None, tuple[Finding, ...]]:
    """One layout on one GPU: the proof or refusal, and every finding about it.

    None when the GPU cannot be partitioned at all. `where` is the place of the layout in the
    author's text. An error is among the findings exactly when there is no placement.
    """
    unable = rules.check_mig(gpu, where, Fraction(1))
    if unable or gpu.mig is None:
        return None, tuple(unable)
    answer = place(gpu.mig, devices)
    findings = _renamings(answer.renamed, gpu, where)
    if isinstance(answer, Refusal):
        return answer, (*findings, *_refusals(answer, gpu, devices, where))
    findings += _check_waste(gpu, gpu.mig, strategy, answer, where)
    findings += _check_evidence(gpu, answer, where)
    return answer, tuple(findings)


# -- names and numbers ---------------------------------------------------------------------------


def total(devices: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of several layouts, by profile name."""
    counts: dict[str, int] = {}
    for layout in devices:
        for name, count in layout.items():
            counts[name] = counts.get(name, 0) + count
    return dict(sorted(counts.items()))


def gpu_instance_of(profile: str) -> str:
    """The GPU instance profile of a declared name: itself without a `1c.` prefix."""
    parsed = parse(profile)
    return profile if parsed is None else parsed.gpu_instance


def resource_of(profile: str) -> str:
    """Resource of a profile under the mixed strategy: `nvidia.com/mig-1g.10gb.me`."""
    return "nvidia.com/mig-" + profile.replace("+", ".").replace(",", ".")


def tenants(profile: str, gpus_devices: Iterable[Mapping[str, int]]) -> int:
    """Most compute instances that share the memory of one GPU instance of this name; 1 without a
    `<c>c.` prefix."""
    parsed = parse(profile)
    if parsed is None or parsed.compute_instance_slices in {None, parsed.compute_slices}:
        return 1
    assert parsed.compute_instance_slices is not None
    room = parsed.compute_slices // parsed.compute_instance_slices
    return max(1, min(room, max((d.get(profile, 0) for d in gpus_devices), default=1)))


def _own_names(devices: Mapping[str, int], renamed: Mapping[str, str]) -> Mapping[str, int]:
    return frozen(total({renamed.get(name, name): count} for name, count in devices.items()))


def written(devices: Mapping[str, int]) -> str:
    """A layout as the declaration writes it: `{1g.10gb: 2, 3g.40gb: 1}`."""
    return "{" + ", ".join(f"{name}: {count}" for name, count in devices.items()) + "}"


# -- findings ------------------------------------------------------------------------------------


def _refusals(refusal: Refusal, gpu: Gpu, devices: Mapping[str, int], where: str) -> list[Finding]:
    """A refused layout as findings: one per unknown profile or bad count, one for the limits."""
    findings: list[Finding] = []
    nearest = refusal.alternatives[0] if refusal.alternatives else None
    fix = None if nearest is None else f"write `{written(nearest.devices)}`"
    if len(refusal.alternatives) > 1:
        fix = f"{fix}, or one of {', '.join(written(a.devices) for a in refusal.alternatives[1:])}"
    limits: list[str] = []
    for reason in refusal.reasons:
        if reason.profile is None or reason.code == "too-many-instances":
            limits.append(reason.message)
            continue
        code = "mig-profile-unknown" if reason.code == "profile-unknown" else "mig-" + reason.code
        findings.append(
            error(
                code,
                f'{where}["{reason.profile}"]',
                f"{gpu.key}: {reason.message}",
                f"write `{reason.similar[0]}`" if reason.similar else None,
                gpu=gpu.key,
                value=reason.value,
                limit=reason.limit,
            )
        )
    if limits:
        geometry = gpu.mig
        assert geometry is not None
        findings.append(
            error(
                "mig-layout-impossible",
                where,
                f"{written(devices)} cannot exist on one {gpu.key}: {'; '.join(limits)}",
                fix,
                gpu=gpu.key,
                reasons=tuple(reason.code for reason in refusal.reasons),
                compute_slices=geometry.compute_slices,
                memory_slots=geometry.memory_slots,
                alternatives=tuple(dict(a.devices) for a in refusal.alternatives),
                source=refusal.evidence.value,
            )
        )
    return findings


def _renamings(renamed: Mapping[str, str], gpu: Gpu, where: str) -> list[Finding]:
    """What was read as another name, for the author to confirm."""
    return [
        info(
            "mig-profile-renamed",
            f'{where}["{name}"]',
            f"{name} is read as {own}, the name this catalogue has for that profile of {gpu.key}; "
            "boards and drivers differ in the name they report",
            f"compare with `nvidia-smi mig -lgip` on the node; `{own}` is what will be rendered",
            value=name,
            resolved=own,
        )
        for name, own in renamed.items()
    ]


def _check_distribution(mig: Mig, gpus_per_node: int, path: str) -> list[Finding]:
    findings: list[Finding] = []
    everywhere = [i for i, layout in enumerate(mig.layouts) if layout.gpus == "all"]
    if everywhere and len(mig.layouts) > 1:
        findings.append(
            error(
                "mig-layouts-overlap",
                f"{path}.layouts[{everywhere[0]}].gpus",
                f"`all` claims every GPU of the node, but there are {len(mig.layouts)} layouts",
                f"write how many of the {gpus_per_node} GPUs each layout gets",
                layouts=len(mig.layouts),
                limit=1,
            )
        )
    counted = sum(layout.gpus for layout in mig.layouts if layout.gpus != "all")
    if counted > gpus_per_node:
        findings.append(
            error(
                "mig-layouts-exceed-gpus",
                f"{path}.layouts",
                f"the layouts take {counted} GPUs, a node has {gpus_per_node}",
                f"let `gpus` add up to {gpus_per_node} or less",
                value=counted,
                limit=gpus_per_node,
            )
        )
    elif not everywhere and counted < gpus_per_node and mig.strategy is MigStrategy.MIXED:
        left = gpus_per_node - counted
        findings.append(
            info(
                "mig-gpus-left-whole",
                f"{path}.layouts",
                f"{left} of the node's {gpus_per_node} GPUs get no layout and stay whole, as "
                "nvidia.com/gpu",
                value=left,
            )
        )
    return findings


def _check_strategy(gpu: Gpu, mig: Mig, gpus_per_node: int, path: str) -> list[Finding]:
    findings: list[Finding] = []
    cutting = [layout for layout in mig.layouts if layout.devices]
    if not cutting:
        return [
            warning(
                "mig-nothing-cut",
                f"{path}.layouts",
                "no layout cuts anything: every GPU stays whole",
                "write `exclusive: {}`, or say what to cut",
            )
        ]
    profiles = sorted({name for layout in cutting for name in layout.devices})
    if mig.strategy is MigStrategy.MIXED:
        return [
            error(
                "mig-compute-instance-mixed",
                f'{path}.layouts[{number}].devices["{name}"]',
                f"{name} divides a GPU instance into compute instances; under `strategy: mixed` "
                "the device plugin knows no resource for it and fails",
                f"write `{gpu_instance_of(name)}`, or `strategy: single` with this profile alone",
                value=name,
            )
            for number, layout in enumerate(mig.layouts)
            for name in sorted(layout.devices)
            if _divides(gpu.mig, name)
        ]
    if len(profiles) > 1:
        findings.append(
            error(
                "mig-single-needs-one-profile",
                f"{path}.strategy",
                f"`single` needs one profile on every GPU, the layouts have {len(profiles)}: "
                f"{', '.join(profiles)}",
                "write `strategy: mixed`, or keep one profile",
                value=tuple(profiles),
                limit=1,
            )
        )
    covered = sum(_gpus(layout, gpus_per_node) for layout in cutting)
    if covered < gpus_per_node:
        findings.append(
            error(
                "mig-single-needs-every-gpu",
                f"{path}.strategy",
                f"`single` needs every GPU of the node in MIG mode with instances, the layouts "
                f"cut {covered} of {gpus_per_node}",
                "write `gpus: all`, or `strategy: mixed`",
                value=covered,
                limit=gpus_per_node,
            )
        )
    return findings


def _gpus(layout: MigLayout, gpus_per_node: int) -> int:
    return gpus_per_node if layout.gpus == "all" else layout.gpus


def _divides(geometry: MigGeometry | None, name: str) -> bool:
    """Whether the name asks for a compute instance smaller than its GPU instance."""
    parsed = parse(name)
    return (
        geometry is not None
        and parsed is not None
        and parsed.compute_instance_slices is not None
        and parsed.compute_instance_slices < parsed.compute_slices
    )


def _check_slicing(gpu: Gpu, mig: Mig, path: str) -> list[Finding]:
    """Time-sliced MIG slices whose turns are left with too little memory."""
    if mig.time_slicing is None:
        return []
    findings: list[Finding] = []
    for name in sorted({name for layout in mig.layouts for name in layout.devices}):
        memory = slice_memory(gpu, gpu_instance_of(name))
        findings += rules.small_shares(
            f"a {name} slice", mig.time_slicing.replicas, memory, f"{path}.timeSlicing"
        )
    return findings


def _check_waste(
    gpu: Gpu, geometry: MigGeometry, strategy: MigStrategy, placement: Placement, where: str
) -> list[Finding]:
    """Compute slices that this layout leaves unused."""
    unused, of = placement.unused_compute, geometry.compute_slices
    if unused == 0:
        return []
    stranded = placement.stranded_compute
    numbers: dict[str, object] = {
        "unused_compute": unused,
        "stranded_compute": stranded,
        "compute_slices": of,
        "unused_memory": placement.unused_memory,
        "memory_slots": geometry.memory_slots,
    }
    devices = placement.devices
    better = better_layout(geometry, slot_table(geometry), devices)
    fix = None
    if better is not None:
        numbers["better"] = dict(better.devices)
        numbers["better_unused_compute"] = better.unused_compute
        fix = (
            f"write `{written(better.devices)}`: nothing gets smaller and "
            f"{better.unused_compute or 'no'} compute slices stay unused"
        )
        if strategy is MigStrategy.SINGLE and len(better.devices) > 1:
            fix += " (needs `strategy: mixed`)"
    share = f"{unused} of {of} compute slices ({round(100 * unused / of)} %)"
    if placement.unused_memory:
        share += f" and {placement.unused_memory} of {geometry.memory_slots} memory slots"
    if stranded == 0:
        code, tail = "mig-layout-unfinished", "although more instances fit"
    else:
        code = "mig-layout-wasteful"
        them = "them" if stranded == unused else f"{stranded} compute slices of them"
        tail = f"and no further instance can use {them}"
    message = f"{written(devices)} on {gpu.key} leaves {share} unused, {tail}"
    return [warning(code, where, message, fix, gpu=gpu.key, **numbers)]


def _check_evidence(gpu: Gpu, placement: Placement, where: str) -> list[Finding]:
    if placement.evidence is Evidence.VERIFIED:
        return []
    basis = {
        Evidence.PARTLY_VERIFIED: "one emulator table, consistent with a published session",
        Evidence.INFERRED: "the geometry all published parts of this kind share",
    }[placement.evidence]
    return [
        info(
            "mig-placement-inferred",
            where,
            f"the start slots of {gpu.key} rest on {basis}; no `nvidia-smi mig -lgipp` output of "
            "this board was found",
            "compare with `nvidia-smi mig -lgipp` before relying on a tight layout",
            gpu=gpu.key,
            evidence=placement.evidence.value,
        )
    ]
