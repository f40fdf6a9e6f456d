"""Kind `mig-strategy`: can the device plugin serve a node whose GPUs are cut like this?"""

from pathlib import Path
from typing import Any, cast

from gpufleet.cluster.site import Site
from gpufleet.contract.programs import geometry
from gpufleet.contract.programs.geometry import divides, validate_gpu
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.node import advertise, devices_of, profile_suffix
from gpufleet.contract.programs.text_notes import TEXT_RULES, note_text
from gpufleet.contract.programs.unknown_keys import KEY_RULES, report_key
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.mig_placement import read_counts

STRATEGIES = ("none", "single", "mixed")
_KEYS = ("strategy", "gpus")

RULES = rule_table(
    *written_rules(Path(__file__).with_name("mig_strategy_rules.jsonl")),
    *written_rules(Path(__file__).with_name("mig_counts_rules.jsonl")),
    *TEXT_RULES,
    *KEY_RULES,
    *geometry.RULES,
)


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate `{strategy, gpus: [layout | null]}`: null is MIG off, `{}` MIG without instances."""
    report = CheckReport(RULES)
    note_text(read, report)
    document = as_mapping(read.data)
    if document is None:
        report.add(
            "mig-strategy-invalid",
            "",
            f"the document is {kind_of(read.data)}, a mapping is needed",
            'write {"strategy": "mixed", "gpus": [{"1g.10gb": 7}, null]}',
        )
        return report.validation()
    for key in document:
        if key not in _KEYS:
            report_key(report, "", key, _KEYS, "this command")
    strategy = _strategy(document, report)
    layouts = _layouts(document, context, report)
    if strategy is None or layouts is None or report.rejected:
        return report.validation()
    _validate(strategy, layouts, report)
    return report.validation(
        advertise(layouts, strategy, product=context.bare_product, gpu=context.gpu)
    )


def _strategy(document: dict[str, Any], report: CheckReport) -> str | None:
    value = document.get("strategy")
    if isinstance(value, str) and value in STRATEGIES:
        return value
    report.add(
        "mig-strategy-unknown",
        "strategy",
        f"the strategy is {shown(value)}, known are {', '.join(STRATEGIES)}",
        f"one of {', '.join(STRATEGIES)}",
        value=shown(value),
        allowed=STRATEGIES,
    )
    return None


def _layouts(
    document: dict[str, Any], context: Site, report: CheckReport
) -> list[dict[str, int] | None] | None:
    value = document.get("gpus")
    if not isinstance(value, list) or not value:
        report.add(
            "mig-strategy-invalid",
            "gpus",
            f"gpus is {shown(value)}, a list with one layout or null for each GPU is needed",
            'write a list such as [{"1g.10gb": 7}, null]',
        )
        return None
    entries = cast("list[Any]", value)
    if context.gpus_per_node is not None and context.gpus_per_node != len(entries):
        report.add(
            "mig-strategy-gpu-count",
            "gpus",
            f"there are {len(entries)} layouts, the node has {context.gpus_per_node} GPUs",
            "write one layout, or null, for each GPU",
            value=len(entries),
            limit=context.gpus_per_node,
        )
    layouts: list[dict[str, int] | None] = []
    for index, entry in enumerate(entries):
        place = child("gpus", index)
        if entry is None:
            layouts.append(None)
        elif isinstance(entry, dict):
            counts = read_counts(cast("dict[str, Any]", entry), place, report)
            if context.gpu is not None and not report.rejected:
                validate_gpu(context.gpu, counts, place, report)
            layouts.append(counts)
        else:
            report.add(
                "mig-strategy-invalid",
                place,
                f"the layout is {kind_of(entry)}, a mapping or null is needed",
                'write {"1g.10gb": 7}, {} or null',
            )
    return layouts


def _validate(strategy: str, layouts: list[dict[str, int] | None], report: CheckReport) -> None:
    partitioned = [i for i, layout in enumerate(layouts) if layout is not None]
    empty = [i for i in partitioned if not any((layouts[i] or {}).values())]
    if strategy == "none" and partitioned:
        report.add(
            "mig-strategy-none-ignores-mig",
            "strategy",
            f"GPU {', '.join(map(str, partitioned))} is in MIG mode, which `none` ignores: it is "
            "counted as a whole GPU that no container can use",
            "write `strategy: mixed`, or `single` where every GPU has the same profile",
            gpus=tuple(partitioned),
        )
    if strategy == "mixed":
        _validate_mixed(layouts, empty, report)
    if strategy == "single" and partitioned:
        _validate_single(layouts, partitioned, empty, report)


def _validate_mixed(
    layouts: list[dict[str, int] | None], empty: list[int], report: CheckReport
) -> None:
    for index in empty:
        report.add(
            "mig-strategy-mixed-empty",
            child("gpus", index),
            f"GPU {index} is in MIG mode without instances and offers nothing",
            "say what to cut, or write null",
        )
    for index, layout in enumerate(layouts):
        for name, count in (layout or {}).items():
            if count and divides(name):
                report.add(
                    "mig-strategy-mixed-compute-instance",
                    child(child("gpus", index), name),
                    f"under `mixed` the device plugin has no resource for {name} and fails",
                    "use `single` with this profile alone",
                    value=name,
                )


def _validate_single(
    layouts: list[dict[str, int] | None],
    partitioned: list[int],
    empty: list[int],
    report: CheckReport,
) -> None:
    if len(partitioned) < len(layouts):
        whole = [i for i in range(len(layouts)) if i not in partitioned]
        report.add(
            "mig-strategy-single-mode",
            "gpus",
            f"GPU {', '.join(map(str, whole))} is not in MIG mode, the others are",
            "write `strategy: mixed`, or cut every GPU",
            whole=tuple(whole),
        )
    for index in empty:
        report.add(
            "mig-strategy-single-empty",
            child("gpus", index),
            f"device {index} has no MIG devices configured",
            "give it the same profile as the others",
        )
    profiles = sorted({profile_suffix(name) for name in devices_of(layouts)})
    if len(profiles) > 1:
        report.add(
            "mig-strategy-single-profiles",
            "gpus",
            f"more than one MIG device type on the node: {', '.join(profiles)}",
            "write `strategy: mixed`, or keep one profile",
            profiles=tuple(profiles),
        )
