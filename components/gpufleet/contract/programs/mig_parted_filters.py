"""Device filters of a mig-parted config: which boards they match, and which match nothing."""

import re
from collections.abc import Sequence

from gpufleet.catalogue import Gpu, load
from gpufleet.contract.programs.mig_parted_document import MigConfigEntry
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.go_scalars import resolve
from gpufleet.documents.paths import child

SUBSYSTEM_SINCE = (0, 15, 0)
"""The mig-parted that can read `0xDDDD10DE:0xSSSSVVVV`."""

_NUMBER = re.compile(r"[-+]?(0[xXbBoO])?[0-9A-Fa-f_]+")


def device_id(text: str, version: tuple[int, ...]) -> int | None:
    """Device and vendor of a filter as one number; None where mig-parted cannot read it."""
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
    """Whether some board of this GPU is matched. A GPU whose ids are unknown is matched by any
    readable filter."""
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
    """Filters that never match, whatever the board."""
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
        elif len(dead) == len(entry.filters):
            report.add(
                "mig-parted-filter-dead",
                place,
                f"{', '.join(map(repr, dead))} is not a PCI id: it matches no GPU, so the entry is "
                "never applied",
                _filter_fix(dead[0]),
                value=tuple(dead),
            )
        else:
            report.add(
                "mig-parted-filter-ignored",
                place,
                f"{', '.join(map(repr, dead))} is not a PCI id and never matches",
                _filter_fix(dead[0]),
                value=tuple(dead),
            )


def _filter_fix(text: str) -> str:
    """PCI ids of the GPU that was probably meant."""
    from gpufleet.catalogue import UnknownKeyError

    try:
        ids = load().find_gpu(text).pci_device_ids
    except UnknownKeyError:
        ids = ()
    if ids:
        return "write " + ", ".join(f'"{i}"' for i in ids)
    return 'write device and vendor as one number, such as "0x20B210DE"'
