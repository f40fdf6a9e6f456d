"""One layout on one GPU: proof or refusal as findings, and its waste."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from gpufleet.catalogue.gpu import Evidence, Gpu, MigGeometry
from gpufleet.findings import Finding, error, findings_in, warning
from gpufleet.partition import rules
from gpufleet.partition.nearest import better_layout
from gpufleet.partition.placement import MigPlacement, Refusal, place
from gpufleet.partition.profile_name import written
from gpufleet.partition.slot_table import slot_table
from gpufleet.spec.sharing import MigStrategy

_finding = findings_in(__file__)


def validate_layout(
    gpu: Gpu,
    devices: Mapping[str, int],
    where: str,
    strategy: MigStrategy = MigStrategy.MIXED,
) -> tuple[MigPlacement | Refusal | None, tuple[Finding, ...]]:
    """One layout on one GPU: the proof or refusal, and every finding about it.

    None when the GPU cannot be partitioned at all. `where` is the path of the layout in the
    declaration. An error is among the findings exactly when there is no placement.
    """
    unable = rules.check_mig(gpu, where, Fraction(1))
    if unable or gpu.mig is None:
        return None, tuple(unable)
    answer = place(gpu.mig, devices)
    findings = [
        _finding("mig-profile-renamed", f'{where}["{name}', value=name, resolved=own, gpu=gpu.key)
        for name, own in answer.renamed.items()
    ]
    if isinstance(answer, Refusal):
        return answer, (*findings, *_refusals(answer, gpu, devices, where))
    findings += _check_waste(gpu, gpu.mig, strategy, answer, where)
    findings += _check_evidence(gpu, answer, where)
    return answer, tuple(findings)


def _refusals(
    refusal: Refusal, gpu: Gpu, devices: Mapping[str, int], where: str
) -> Iterator[Finding]:
    """A refused layout as findings: one per unknown profile or bad count, one for the limits."""
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
        remediate = f"write `{reason.similar[0]}`" if reason.similar else None
        if reason.code == "count-invalid":
            remediate = "write how many instances each GPU gets, such as 1"
        yield error(
            code,
            f'{where}["{reason.profile}"]',
            f"{gpu.key}: {reason.message}",
            remediate,
            gpu=gpu.key,
            value=reason.value,
            limit=reason.limit,
        )
    if limits:
        geometry = gpu.mig
        assert geometry is not None
        yield _finding(
            "mig-layout-impossible",
            where,
            fix=fix,
            devices=written(devices),
            gpu=gpu.key,
            limits="; ".join(limits),
            reasons=(reason.code for reason in refusal.reasons),
            compute_slices=geometry.compute_slices,
            memory_slots=geometry.memory_slots,
            alternatives=(dict(a.devices) for a in refusal.alternatives),
            source=refusal.evidence.value,
        )


def _check_waste(
    gpu: Gpu, geometry: MigGeometry, strategy: MigStrategy, placement: MigPlacement, where: str
) -> Iterator[Finding]:
    """Compute slices that this layout leaves unused."""
    unused, of = placement.unused_compute, geometry.compute_slices
    if unused == 0:
        return
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
    yield warning(code, where, message, fix, gpu=gpu.key, **numbers)


def _check_evidence(gpu: Gpu, placement: MigPlacement, where: str) -> Iterator[Finding]:
    if placement.evidence is Evidence.VERIFIED:
        return
    basis = {
        Evidence.PARTLY_VERIFIED: "one emulator table, consistent with published terminal output",
        Evidence.INFERRED: "the geometry all published parts of this kind share",
    }[placement.evidence]
    yield _finding(
        "mig-placement-inferred", where, gpu=gpu.key, basis=basis, evidence=placement.evidence.value
    )
