"""Configurations of NVIDIA's programs as facts: of mig-parted, of the device plugin, of Kueue."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.nvidia import (
    MigEntry,
    MigLayouts,
    NvidiaConfig,
    SharedResource,
    SharingConfig,
)
from gpufleet.documents.shapes import is_list, is_mapping, items, known_texts, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.configurations.recognition import kind_of_text
from gpufleet_policies.readers.blocks import inside, word
from gpufleet_policies.readers.reading import boolean, fact, whole
from gpufleet_policies.wrappers.judged import NotJudged


def without_unknown(
    value: Any, is_unknown: Callable[[Any], bool] = lambda one: one is UNKNOWN
) -> tuple[Any, bool]:
    """Plain data without what cannot be read, and whether anything was left out."""
    lost = False

    def strip(item: Any) -> Any:
        nonlocal lost
        if is_mapping(item):
            kept: Any = {k: strip(v) for k, v in item.items() if not is_unknown(v)}
        elif is_list(item):
            kept = [strip(v) for v in item if not is_unknown(v)]
        else:
            return item
        lost = lost or len(kept) < len(item)
        return kept

    return strip(value), lost


def as_text(value: Any) -> tuple[str, bool]:
    """Plain data as a document; the flag says whether it is complete."""
    kept, lost = without_unknown(value)
    return json.dumps(kept, default=str), not lost


def as_written(document: Mapping[str, Any], written: str) -> str:
    """The text of a document, if it is that of the whole document; else empty."""
    return written if written and parsed(written) == document else ""


def config_map(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """ConfigMaps of the device plugin and of mig-parted, recognised by their content."""
    annotations = known_texts(inside(document, "metadata.annotations"))
    for key, value in mapping(inside(document, "data")).items():
        kind = _kind_of(key, value) if isinstance(value, str) else None
        if kind is None:
            continue
        place = f"data[{key}]"
        if "${" in value or "{{" in value:
            reason = f"a tool fills in values of the {kind} configuration"
            yield NotJudged(locator=locator, what="variable", reason=reason, place=place)
            continue
        yield from of_text(kind, value, locator, annotations, place, key)


def _kind_of(key: str, value: str) -> str | None:
    if "waitForPodsReady" in value or "controller_manager_config" in key:
        return "kueue"
    return kind_of_text(value)


def of_text(
    kind: str,
    written: str,
    locator: Locator,
    annotations: Mapping[str, str],
    place: str,
    key: str = "",
) -> Iterator[Any]:
    """A configuration written as text, and what it declares where it can be read."""
    if kind == "kueue":
        from gpufleet_policies.readers.kueue import configuration

        yield from configuration(parsed(written), locator, place)
        return
    yield NvidiaConfig(
        locator=locator,
        annotations=annotations,
        kind=kind,
        text=written,
        place=place,
        key=key,
    )
    data = parsed(written)
    if is_mapping(data):
        yield from declared(kind, data, locator, annotations, place, key)


def parsed(written: str) -> Any:
    """YAML as data; None for invalid YAML. `gpufleet check` reports the error."""
    from gpufleet.documents.limits import UnreadableDocumentError
    from gpufleet.documents.reading import read_go

    try:
        return read_go(written).data
    except UnreadableDocumentError:
        return None


def declared(
    kind: str,
    data: dict[str, Any],
    locator: Locator,
    annotations: Mapping[str, str],
    place: str,
    key: str = "",
) -> Iterator[Any]:
    """Facts of a configuration that was read."""
    if kind == "device-plugin":
        yield from _sharing(data, locator, annotations, place, key)
    elif kind == "mig-parted":
        yield MigLayouts(
            locator=locator,
            annotations=annotations,
            layouts={
                name: tuple(_entries(entries))
                for name, entries in mapping(data.get("mig-configs")).items()
            },
            place=place,
        )


def _entries(value: Any) -> Iterator[MigEntry]:
    for entry in items(value):
        devices = inside(entry, "devices")
        counts = {
            profile: count
            for profile, raw in mapping(inside(entry, "mig-devices")).items()
            if (count := whole(raw)) is not None and count > 0
        }
        filters = inside(entry, "device-filter")
        named = [filters] if isinstance(filters, str) else items(filters)
        yield MigEntry(
            all_devices=devices == "all",
            indices=tuple(i for i in items(devices) if isinstance(i, int)),
            enabled=inside(entry, "mig-enabled") is True,
            devices=counts,
            filters=tuple(f for f in named if isinstance(f, str)),
        )


def _sharing(
    data: dict[str, Any],
    locator: Locator,
    annotations: Mapping[str, str],
    place: str,
    key: str,
) -> Iterator[SharingConfig]:
    strategy = word(data, "flags.migStrategy")
    for mode in ("timeSlicing", "mps"):
        declared_block = inside(data, f"sharing.{mode}")
        if not is_mapping(declared_block):
            continue
        where = f"{place}: sharing.{mode}"
        yield SharingConfig(
            locator=locator,
            annotations=annotations,
            key=key,
            mode=mode,
            resources=tuple(
                SharedResource(
                    name=_full(str(inside(one, "name") or "")),
                    replicas=whole(inside(one, "replicas")),
                    place=f"{where}.resources[{index}]",
                )
                for index, one in enumerate(items(declared_block.get("resources")))
            ),
            rename_by_default=fact(
                declared_block.get("renameByDefault"), boolean, f"{where}.renameByDefault"
            ).or_default(False),
            fail_requests_greater_than_one=fact(
                declared_block.get("failRequestsGreaterThanOne"),
                boolean,
                f"{where}.failRequestsGreaterThanOne",
            ),
            mig_strategy=strategy,
            place=where,
        )


def _full(name: str) -> str:
    """The plugin puts its domain in front of names that have none."""
    return name if "/" in name or not name else f"nvidia.com/{name}"
