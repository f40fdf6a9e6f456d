"""Kind `mig-parted`: whether this file, with a config selected, brings a node into that state."""

import re
from collections.abc import Sequence
from dataclasses import replace

from gpufleet.catalogue import Gpu, UnknownKeyError, load
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.geometry import (
    has_profile,
    validate_anywhere,
    validate_gpu,
)
from gpufleet.contract.programs.mig_parted_document import Configs, MigConfigEntry, parse_document
from gpufleet.contract.programs.node import advertise, devices_of
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement, mig_strategy
from gpufleet.documents.document import GoDocument
from gpufleet.documents.go_scalars import resolve
from gpufleet.documents.paths import child
from gpufleet.findings import Severity
from gpufleet.partition.profile_name import divides, parse
from gpufleet.rules.rows import rule_table

RULES = rule_table(*rules_in("mig_parted", "text_notes", "geometry"))

_PROGRAM = "mig-manager"


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate one mig-parted document."""
    report = CheckReport(RULES)
    note_text(read, report)
    configs = parse_document(read.data, report)
    chosen = _select(configs, context.select, report)
    if chosen is None:
        if context.select is None:
            _validate_unselected(configs, context, report)
        return report.validation()
    validate_filters(chosen, context.release_of(_PROGRAM).at, report)
    able = _validate_hardware(chosen, context, report)
    layouts = _layouts(chosen, context, report)
    if layouts is None or report.rejected:
        return report.validation()
    _validate_strategy(chosen, layouts, context, report)
    _validate_reset(chosen, context, report)
    if context.gpu is None and any(entry.mig_devices for entry in chosen):
        place, fitting = chosen[0].path.rpartition("[")[0], able or "different GPUs"
        report.say("mig-parted-not-placed", place, gpus=able, fitting=fitting)
    strategy, product = mig_strategy(context) or "mixed", context.bare_product
    return report.validation(advertise(layouts, strategy, product=product, gpu=context.gpu))


def _select(
    configs: Configs, select: str | None, report: CheckReport
) -> tuple[MigConfigEntry, ...] | None:
    """The selected config; None, with a finding, if there is none to validate."""
    if not configs:
        if report.rejected:
            return None
        if select is None:
            report.say("mig-parted-no-config", "mig-configs")
            return None
    if select is None and len(configs) > 1:
        report.say(
            "mig-parted-config-not-selected",
            "mig-configs",
            fix=f"--select one of {', '.join(list(configs)[:12])} to validate what a node gets",
            configs=tuple(configs),
            number=len(configs),
        )
        return None
    name = next(iter(configs)) if select is None else select
    if name not in configs:
        near = nearest_names(name, configs, limit=1)
        report.say(
            "mig-parted-config-absent",
            child("mig-configs", name),
            fix=f"select `{near[0]}`" if near else None,
            value=name,
            near=(", ".join(configs) if len(configs) <= 6 else f"{len(configs)} others") or "none",
        )
        return None
    return configs[name]


def _validate_unselected(configs: Configs, context: Site, report: CheckReport) -> None:
    """Errors in configs that are not selected. Configs for other boards than the context's GPU are
    validated without it; the strategy is not, as it depends on the selection."""
    fitting = {name for name, entries in configs.items() if _is_for(entries, context)}
    for name, entries in configs.items():
        each = CheckReport(RULES)
        where = context if name in fitting or not fitting else replace(context, gpu=None)
        validate_filters(entries, where.release_of(_PROGRAM).at, each)
        _validate_hardware(entries, where, each)
        _layouts(entries, where, each)
        report.extend(f for f in each.findings if f.severity is not Severity.INFO)


def _is_for(entries: Sequence[MigConfigEntry], context: Site) -> bool:
    """Whether a config is for the context's GPU: the GPU has the profiles, and no filter excludes
    it."""
    gpu = context.gpu
    if gpu is None:
        return True
    version = context.release_of(_PROGRAM).at
    names = {name for entry in entries for name in entry.mig_devices}
    return any(matches(entry, gpu, version) for entry in entries) and all(
        has_profile(gpu, name) for name in names
    )


def _validate_hardware(
    entries: Sequence[MigConfigEntry], context: Site, report: CheckReport
) -> tuple[str, ...]:
    """Profiles, counts and MIG support; without a GPU, keys of the GPUs that could hold it."""
    able: set[str] | None = None
    for entry in entries:
        if not entry.mig_enabled:
            continue
        place = child(entry.path, "mig-devices")
        if context.gpu is None:
            some = set(validate_anywhere(entry.mig_devices, place, report))
            able = some if able is None else able & some
        elif matches(entry, context.gpu, context.release_of(_PROGRAM).at):
            _validate_entry(entry, context.gpu, place, report)
        for name in entry.mig_devices:
            parsed = parse(name)  # the driver never reports a full prefix (`3c.3g.40gb`)
            if parsed is not None and parsed.compute_instance_slices == parsed.compute_slices:
                at, own = child(place, name), parsed.gpu_instance
                report.say("mig-parted-spelling", at, value=name, gpu_instance=own)
    return tuple(sorted(able or ()))


def _validate_entry(entry: MigConfigEntry, gpu: Gpu, place: str, report: CheckReport) -> None:
    if not gpu.has_mig and entry.indices is None:
        report.say("mig-parted-skipped", child(entry.path, "devices"), gpu=gpu.key)
    elif not gpu.has_mig:
        report.say("mig-unsupported", child(entry.path, "mig-enabled"), gpu=gpu.key)
    else:
        validate_gpu(gpu, entry.mig_devices, place, report)


MOST_GPUS = 248
"""GPUs that the driver has device files for: /dev/nvidia0 to /dev/nvidia247
(NVIDIA/open-gpu-kernel-modules, `nv-chardev-numbers.h`)."""


def _layouts(
    entries: Sequence[MigConfigEntry], context: Site, report: CheckReport
) -> list[dict[str, int] | None] | None:
    """The resulting layout of each GPU of the node; None if the number of GPUs is not known."""
    version = context.release_of(_PROGRAM).at
    count = context.gpu_count
    listed = [i for entry in entries for i in entry.indices or () if i < MOST_GPUS]
    known = min(MOST_GPUS, count if count is not None else max([0, *listed]) + 1)
    owner: dict[int, MigConfigEntry] = {}
    for entry in entries:
        _validate_indices(entry, count, report)
        if context.gpu is not None and not matches(entry, context.gpu, version):
            continue
        for index in range(known) if entry.indices is None else dict.fromkeys(entry.indices):
            if 0 <= index < known:
                # without a GPU, entries with different filters may belong to different boards
                if index in owner and (
                    context.gpu is not None or owner[index].filters == entry.filters
                ):
                    _validate_overlap(owner[index], entry, index, report)
                owner[index] = entry
    missing = [index for index in range(known) if index not in owner]
    if missing:
        report.add(
            "mig-parted-gpus-unmatched",
            entries[0].path.rpartition("[")[0],
            f"no entry covers GPU {', '.join(map(str, missing))} of {count or f'{known} or more'}"
            + ("" if context.gpu is None else f" ({context.gpu.key})")
            + ": not all GPUs match the specified config",
            "add an entry for them, such as `{devices: [...], mig-enabled: false}`",
            unmatched=tuple(missing),
            gpus=count,
        )
        return None
    if count is None or count > MOST_GPUS:
        return None
    return [dict(owner[i].mig_devices) if owner[i].mig_enabled else None for i in range(count)]


def _validate_indices(entry: MigConfigEntry, count: int | None, report: CheckReport) -> None:
    place = child(entry.path, "devices")
    indices = entry.indices or ()
    limit = MOST_GPUS if count is None else count
    wrong = [i for i in indices if not 0 <= i < limit]
    if wrong:
        report.add(
            "mig-parted-devices-index",
            place,
            f"there is no GPU {', '.join(map(str, wrong))} on the node"
            + (f", which has {count}" if count is not None else ""),
            f"write indices from 0 to {limit - 1}",
            value=tuple(wrong),
            limit=limit,
        )
    twice = sorted({i for i in indices if indices.count(i) > 1})
    if twice:
        report.say("mig-parted-devices-repeated", place, value=tuple(twice))


def _validate_overlap(
    first: MigConfigEntry, second: MigConfigEntry, index: int, report: CheckReport
) -> None:
    if index > 0 and any(
        f.code.startswith("mig-parted-devices-") and f.path == child(second.path, "devices")
        for f in report.findings
    ):
        return  # one finding for a pair of entries is enough
    place = child(second.path, "devices")
    if (first.mig_enabled, first.mig_devices) == (second.mig_enabled, second.mig_devices):
        report.say("mig-parted-devices-twice", place, value=index, first=first.path)
    else:
        report.say("mig-parted-devices-overlap", place, value=index, first=first.path)


def _validate_strategy(
    entries: Sequence[MigConfigEntry],
    layouts: list[dict[str, int] | None],
    context: Site,
    report: CheckReport,
) -> None:
    """If the device plugin's strategy is known, whether it can serve the result."""
    strategy = mig_strategy(context)
    path = entries[0].path.rpartition("[")[0]
    if strategy == "mixed":
        for entry in entries:
            for name in entry.mig_devices:
                if divides(name):
                    report.say(
                        "mig-parted-compute-instance-mixed",
                        child(child(entry.path, "mig-devices"), name),
                        value=name,
                    )
    if strategy != "single":
        return
    profiles = devices_of(layouts)
    partitioned = [layout is not None for layout in layouts]
    empty = any(layout is not None and not any(layout.values()) for layout in layouts)
    if any(partitioned) and (not all(partitioned) or len(profiles) > 1 or empty):
        report.say(
            "mig-parted-single-profiles",
            path,
            profiles=tuple(profiles),
            instances=tuple(profiles) or "no instances",
            partitioned=sum(partitioned),
            gpus=len(layouts),
        )


def _validate_reset(entries: Sequence[MigConfigEntry], context: Site, report: CheckReport) -> None:
    gpu = context.gpu
    if gpu is None or gpu.mig is None or not gpu.mig.reset_needed or context.env is None:
        return
    if context.env.get("WITH_REBOOT", "").lower() == "true":
        return
    if any(entry.mig_enabled for entry in entries):
        report.say("mig-parted-reset-needed", "context.env", gpu=gpu.key)


# Device filters of a mig-parted config: which boards they match, and which match nothing.

SUBSYSTEM_SINCE = (0, 15, 0)
"""The mig-parted that can read `0xDDDD10DE:0xSSSSVVVV`."""

_NUMBER = re.compile(r"[-+]?(0[xXbBoO])?[0-9A-Fa-f_]+")


def device_id(text: str, version: tuple[int, ...]) -> int | None:
    """Device and vendor of a filter as one number; None if mig-parted cannot read it."""
    first, colon, subsystem = text.partition(":")
    if colon and (version < SUBSYSTEM_SINCE or _number(subsystem) is None):
        return None
    return _number(first)


def _number(text: str) -> int | None:
    """Go's ParseInt(text, 0, 32)."""
    if _NUMBER.fullmatch(text) is None or text.endswith("_") or "__" in text:
        return None
    value = resolve(text)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -(1 << 31) <= value < 1 << 31 else None


def matches(entry: MigConfigEntry, gpu: Gpu, version: tuple[int, ...]) -> bool:
    """Whether it matches a board of this GPU. Any readable filter matches a GPU whose ids are not
    known."""
    if not entry.filters:
        return True
    ids = [number for text in entry.filters if (number := device_id(text, version)) is not None]
    if not gpu.pci_device_ids:
        return bool(ids)
    return any(int(own, 16) in ids for own in gpu.pci_device_ids)


def validate_filters(
    entries: Sequence[MigConfigEntry],
    version: tuple[int, ...],
    report: CheckReport,
) -> None:
    """Filters that never match any board."""
    for entry in entries:
        dead = [text for text in entry.filters if device_id(text, version) is None]
        if not dead:
            continue
        place = child(entry.path, "device-filter")
        newer = [t for t in dead if device_id(t, SUBSYSTEM_SINCE) is not None]
        if newer and len(dead) == len(entry.filters):
            report.say(
                "mig-parted-filter-too-new",
                place,
                fix=f"write `{newer[0].partition(':')[0]}`",
                value=tuple(newer),
            )
        else:
            fix, value, shown = _filter_fix(dead[0]), tuple(dead), tuple(map(repr, dead))
            if len(dead) == len(entry.filters):
                report.say("mig-parted-filter-dead", place, fix=fix, value=value, filters=shown)
            else:
                report.say("mig-parted-filter-ignored", place, fix=fix, value=value, filters=shown)


def _filter_fix(text: str) -> str:
    """PCI ids of the probable GPU."""
    try:
        ids = load().find_gpu(text).pci_device_ids
    except UnknownKeyError:
        ids = ()
    if ids:
        return "write " + ", ".join(f'"{i}"' for i in ids)
    return 'write device and vendor as one number, such as "0x20B210DE"'
