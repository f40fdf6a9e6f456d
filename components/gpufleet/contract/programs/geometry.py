"""Whether the hardware supports the partition of a document, which no NVIDIA parser checks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gpufleet.catalogue import Catalogue, Gpu, load
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.findings import Finding, warning
from gpufleet.partition.profile_name import parse

if TYPE_CHECKING:
    from gpufleet.partition.placement import MigPlacement

RULES = rules_in("geometry")


def validate_gpu(
    gpu: Gpu, devices: Mapping[str, int], path: str, report: CheckReport
) -> "MigPlacement | None":
    """Whether this GPU can hold these instances. Findings go into the report; returns the proof.

    Counts of zero request nothing, an empty layout is MIG mode without instances.
    """
    # Slow to import, and the registry of rules needs only the tables.
    from gpufleet.partition.placement import MigPlacement, place
    from gpufleet.partition.validation import validate_layout

    wanted = {name: count for name, count in devices.items() if count}
    if not wanted and gpu.mig is not None:
        answer = place(gpu.mig, {})
        return answer if isinstance(answer, MigPlacement) else None
    if gpu.mig is None and gpu.mig_unknown is not None:
        _validate_published(gpu, wanted, path, report)
        return None
    answer, findings = validate_layout(gpu, wanted, path)
    report.extend(_ruled(finding, report) for finding in findings)
    return answer if isinstance(answer, MigPlacement) else None


def validate_anywhere(
    devices: Mapping[str, int], path: str, report: CheckReport
) -> tuple[str, ...]:
    """Keys of the GPUs that can hold these instances; a finding if there is none."""
    from gpufleet.partition.placement import MigPlacement, place

    wanted = {name: count for name, count in devices.items() if count}
    catalogue: Catalogue = load()
    able: list[str] = []
    for gpu in catalogue.gpus.values():
        if gpu.mig is not None:
            if isinstance(place(gpu.mig, wanted), MigPlacement):
                able.append(gpu.key)
        elif _published(gpu, wanted):
            able.append(gpu.key)
    if not able:
        having = [g.key for g in catalogue.gpus.values() if _names_known(g, wanted)]
        reason = (
            f"{', '.join(having)} have these profiles, and none can hold this many"
            if having
            else "no GPU of the catalogue has all of these profiles"
        )
        report.say(
            "mig-layout-nowhere",
            path,
            value=dict(devices),
            devices=shown(dict(devices)),
            reason=reason,
        )
    return tuple(able)


def _names_known(gpu: Gpu, devices: Mapping[str, int]) -> bool:
    if gpu.mig is None:
        return bool(gpu.mig_published) and set(devices) <= set(gpu.mig_published)
    return set(devices) <= {*gpu.mig.profiles, *gpu.mig.alternate_names}


def has_profile(gpu: Gpu, name: str) -> bool:
    """Whether the GPU has the profile, or the GPU instance of a `<c>c.` profile."""
    parsed = parse(name)
    names = {name} if parsed is None else {name, parsed.gpu_instance}
    known = gpu.mig_published if gpu.mig is None else gpu.mig.profiles
    return not names.isdisjoint(known)


def _published(gpu: Gpu, devices: Mapping[str, int]) -> bool:
    """Whether no published fact about an unproven GPU forbids the layout."""
    if not gpu.mig_published:
        return False
    for name, count in devices.items():
        most = gpu.mig_published.get(name, 0)
        if most is not None and count > most:
            return False
    return True


def _validate_published(
    gpu: Gpu, devices: Mapping[str, int], path: str, report: CheckReport
) -> None:
    if not gpu.mig_published or _published(gpu, devices):
        report.say(
            "mig-placement-unknown",
            path,
            gpu=gpu.key,
            published=dict(gpu.mig_published),
            mig_unknown=gpu.mig_unknown,
        )
        return
    report.add(
        "mig-layout-impossible",
        path,
        f"{shown(dict(devices))} is not among the published layouts of {gpu.key}: "
        + ", ".join(f"{n} at most {m or 'unknown'}" for n, m in gpu.mig_published.items()),
        None,
        gpu=gpu.key,
        published=dict(gpu.mig_published),
    )


def _ruled(finding: Finding, report: CheckReport) -> Finding:
    """A finding of the placement search under the rule of its code; waste is not a warning."""
    rule = report.rules.get(finding.code)
    if rule is None:
        return warning(finding.code, finding.path, finding.message, finding.fix, **finding.evidence)
    evidence = {"rules": rule.survey, **finding.evidence, "source": rule.source}
    return replace(finding, severity=rule.severity, evidence=evidence)
