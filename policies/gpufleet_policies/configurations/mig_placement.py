"""Kind `mig-placement`: can one GPU hold these instances? A bare `{profile: count}`."""

from pathlib import Path
from typing import Any

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.cluster.site import Site
from gpufleet.contract.programs import geometry
from gpufleet.contract.programs.geometry import divides, validate_anywhere, validate_gpu
from gpufleet.contract.programs.go_json import integer, kind_of, shown
from gpufleet.contract.programs.mig_parted_document import profile_is_valid
from gpufleet.contract.programs.node import advertise
from gpufleet.contract.programs.strategy_env import mig_strategy
from gpufleet.contract.programs.text_notes import TEXT_RULES, note_text
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import rule_table, written_rules

RULES = rule_table(
    *written_rules(Path(__file__).with_name("mig_placement_rules.jsonl")),
    *written_rules(Path(__file__).with_name("mig_counts_rules.jsonl")),
    *TEXT_RULES,
    *geometry.RULES,
)


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate one layout for one GPU."""
    report = CheckReport(RULES)
    note_text(read, report)
    wanted = as_mapping(read.data)
    if wanted is None:
        report.add(
            "mig-placement-no-mapping",
            "",
            f"the request is {kind_of(read.data)}, a mapping of profiles to counts is needed",
            'write a mapping such as {"1g.10gb": 7}',
        )
        return report.validation()
    devices = read_counts(wanted, "", report)
    if report.rejected:
        return report.validation()
    if context.gpu is None:
        validate_anywhere(devices, "", report)
    else:
        validate_gpu(context.gpu, devices, "", report)
    _validate_strategy(devices, context, report)
    if context.gpu is None:
        return report.validation()
    strategy = mig_strategy(context) or "mixed"
    return report.validation(
        advertise([devices], strategy, product=context.bare_product, gpu=context.gpu)
    )


def read_counts(data: dict[str, Any], path: str, report: CheckReport) -> dict[str, int]:
    """Profiles and counts of one layout; what is wrong with the spelling is reported."""
    counts: dict[str, int] = {}
    for profile, count in data.items():
        place = child(path, profile)
        if not profile_is_valid(profile):
            near = nearest_names(profile, ("1g.10gb", "2g.20gb", "3g.40gb", "1g.10gb+me"), limit=1)
            report.add(
                "mig-profile-malformed",
                place,
                f"invalid format for {profile!r}",
                f"write a profile such as `{near[0] if near else '1g.10gb'}`",
                value=profile,
            )
        number = integer(count)
        if number is None or number < 0:
            report.add(
                "mig-count-invalid",
                place,
                f"the count of {profile} is {shown(count)}, a whole number from 0 on is needed",
                "write how many instances the GPU gets",
                value=shown(count),
                limit=0,
            )
        else:
            counts[profile] = number
    if counts and len(counts) == len(data):
        zeros = [profile for profile, count in counts.items() if count == 0]
        if len(zeros) == len(counts):
            report.add(
                "mig-counts-zero", path, "all counts are 0", "write `{}` for MIG without instances"
            )
        else:
            for profile in zeros:
                report.add(
                    "mig-count-zero",
                    child(path, profile),
                    f"{profile}: 0 never equals what is on the GPU",
                    "remove the line",
                )
    return counts


def _validate_strategy(devices: dict[str, int], context: Site, report: CheckReport) -> None:
    strategy = mig_strategy(context)
    divided = [name for name, count in devices.items() if count and divides(name)]
    for name in divided:
        if strategy == "mixed":
            report.add(
                "mig-compute-instance-mixed",
                child("", name),
                f"under the mixed strategy the device plugin has no resource for {name}",
                "use the strategy `single` with this profile alone",
            )
        elif strategy is None:
            report.add(
                "mig-compute-instance",
                child("", name),
                f"{name} divides a GPU instance: the mixed strategy has no resource for it",
                "use the strategy `single`",
            )
    profiles = [name for name, count in devices.items() if count]
    if strategy == "single" and len(profiles) != 1:
        report.add(
            "mig-single-profiles",
            "",
            f"the strategy is single, and the GPU gets {', '.join(profiles) or 'no instances'}",
            "use the strategy `mixed`, or one profile",
        )
