"""Kind `mig-placement`: can one GPU hold these instances? A bare `{profile: count}`."""

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
from gpufleet.rules.rows import accept, reject, rule_table, warn

_CONFIG = "NVIDIA/mig-parted pkg/types/mig_config.go"
_PLUGIN = "NVIDIA/k8s-device-plugin internal/rm/device_map.go"

COUNT_RULES = (
    warn(
        "mig-count-zero",
        ("MP-9", "OUR-12"),
        "A count is zero among positive ones: accepted, and never equal to what is on the GPU.",
        _CONFIG,
    ),
    reject(
        "mig-counts-zero",
        ("MP-9",),
        "All counts are zero: mig-parted refuses the layout.",
        _CONFIG,
    ),
)
"""Rules of counts, which mig-strategy shares."""

RULES = rule_table(
    reject(
        "mig-placement-no-mapping",
        ("mig-placement",),
        "The request is not a mapping of profiles to counts.",
        "docs/check.md",
    ),
    reject(
        "mig-profile-malformed",
        ("MP-8",),
        "A profile is outside NVIDIA's grammar.",
        "NVIDIA/go-nvlib pkg/nvlib/device/mig_profile.go",
    ),
    *COUNT_RULES,
    reject(
        "mig-compute-instance-mixed",
        ("4.2", "OUR-21"),
        "The node's strategy is `mixed` and a profile asks for compute instances smaller than "
        "their GPU instance, for which the device plugin has no resource.",
        _PLUGIN,
    ),
    accept(
        "mig-compute-instance",
        ("4.2", "OUR-21"),
        "A profile asks for compute instances smaller than their GPU instance: usable under the "
        "strategy `single` only.",
        _PLUGIN,
    ),
    reject(
        "mig-single-profiles",
        ("4.5-single", "OUR-2"),
        "The node's strategy is `single` and the GPU gets several profiles, or none.",
        _PLUGIN,
    ),
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
