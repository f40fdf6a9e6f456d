"""Charts inside of what GitOps tools read, for `gpufleet check`: their values, as their kind,
and the images of the GPU nodes that the text declares."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpufleet.cluster.fact import NOTHING, UNKNOWN, known
from gpufleet.cluster.program import Program, program_name
from gpufleet.cluster.release_values import HeldElsewhere, ReleaseValues, WrappedRelease
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import mapping_at, text_at, value_at
from gpufleet.documents.reading import read_go_stream
from gpufleet.documents.shapes import as_list, as_mapping, rewritten
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.objects import Object
from gpufleet_policies.wrappers.charts import KnownChart, known_chart
from gpufleet_policies.wrappers.holders import Holder, holders_of
from gpufleet_policies.wrappers.registry import releases_of, wrapper_of
from gpufleet_policies.wrappers.release import found_elsewhere, parse_yaml, values_of

_FAMILIES = {"al2023": "al2023-nvidia", "bottlerocket": "bottlerocket-nvidia"}
"""Family of an alias of EC2NodeClass -> the image that Karpenter starts machines with GPUs from
(aws/karpenter-provider-aws v1.14.1, pkg/providers/amifamily)."""
_GPU = "nvidia.com/gpu"


def node_images(objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Keys of the catalogue, for each EC2NodeClass that a NodePool with GPUs names."""
    found = tuple(objects)
    named = set(_classes(found))
    keys = [
        _FAMILIES.get(_alias(one).partition("@")[0])
        for one in found
        if one.get("kind") == "EC2NodeClass" and text_at(one, "metadata.name") in named
    ]
    return tuple(dict.fromkeys(key for key in keys if key is not None))


def _classes(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in objects:
        template = mapping_at(one, "spec.template.spec")
        taints = [as_mapping(taint) or {} for taint in as_list(template.get("taints")) or []]
        limits = as_mapping(value_at(one, "spec.limits")) or {}
        if one.get("kind") == "NodePool" and (
            _GPU in limits or any(taint.get("key") == _GPU for taint in taints)
        ):
            yield text_at(template, "nodeClassRef.name")


def _alias(node_class: Mapping[str, Any]) -> str:
    terms = as_list(value_at(node_class, "spec.amiSelectorTerms")) or []
    aliases = [text_at(term, "alias") for term in terms]
    return next((alias for alias in aliases if alias), "")


_VARIABLE = re.compile(r"\$\{[A-Za-z_]|\{\{")

RULES = rule_table(
    *written_rules(Path(__file__).with_name("wrapped_rules.jsonl")),
)
"""Parts of wrapped charts that cannot be validated."""


@dataclass(frozen=True, slots=True)
class WrappedValues:
    """The values of one release in a text."""

    document: str
    """Path of the wrapper in the text; empty for the only document."""
    release: WrappedRelease
    chart: KnownChart | None
    """None: no kind is about it."""
    values: ReleaseValues
    data: dict[str, Any]
    """The values without what a tool fills in."""
    unknown: tuple[str, ...]
    """Unknown values."""
    program: Program
    """The program that it installs."""
    images: tuple[str, ...]
    """Images of the GPU nodes of the text."""

    def path_of(self, path: str) -> str:
        """The place in the text of a path in the values."""
        place = self.values.place_of(path) if path else self.values.place
        return f"{self.document}: {place}" if self.document else place


def wrapped_values(text: str | bytes) -> tuple[WrappedValues, ...]:
    """Every release of a text, with values that other documents of the text hold.

    Empty for a text that holds none, or cannot be read as a stream of documents.
    """
    try:
        documents = [(read.data, index) for index, read in enumerate(read_go_stream(text))]
    except UnreadableDocumentError:
        return ()
    objects: list[Object] = []
    for data, index in documents:
        found = as_mapping(data)
        if found is not None:
            objects.append((f"documents[{index}]" if len(documents) > 1 else "", found))
    if not any(wrapper_of(one) is not None for _, one in objects):
        return ()
    holders = [holder for _, one in objects for holder in holders_of(one)]
    return tuple(_opened(objects, holders))


def _opened(objects: Sequence[Object], holders: Sequence[Holder]) -> Iterator[WrappedValues]:
    def values(held: HeldElsewhere) -> Any:
        for holder in holders:
            text = holder.texts.get(held.key)
            if text is not None and holder.is_meant_by(held):
                try:
                    data = parse_yaml(text)
                except UnreadableDocumentError:
                    return None
                return _without_texts(data) if holder.kind == "Secret" else data
        return None

    def chart(held: HeldElsewhere) -> tuple[str | None, str | None] | None:
        found = next((one for one in holders if one.is_meant_by(held)), None)
        return None if found is None else (found.chart, found.version)

    images = node_images(one for _, one in objects)
    for place, one in objects:
        for written in releases_of(one):
            release = found_elsewhere(written, values, chart)
            found = values_of(release.sources)
            left_out: list[str] = []
            data = _without_variables(found.values, "", found, left_out)
            yield WrappedValues(
                place,
                release,
                None if release.chart is None else known_chart(release.chart),
                found,
                as_mapping(data) or {},
                (*found.missing, *left_out),
                Program(
                    name=None if release.chart is None else program_name(release.chart),
                    release=release.release,
                    namespace=known(release.namespace) if release.namespace else NOTHING,
                    values=rewritten(found.values, lambda v: UNKNOWN if _is_variable(v) else v),
                    complete=not found.missing,
                    place=found.place,
                ),
                images,
            )


def _without_variables(value: Any, path: str, values: ReleaseValues, left_out: list[str]) -> Any:
    entries, items = as_mapping(value), as_list(value)
    if entries is not None:
        kept = {
            key: _without_variables(item, f"{path}.{key}".lstrip("."), values, left_out)
            for key, item in entries.items()
        }
        return {key: item for key, item in kept.items() if item is not _LEFT_OUT}
    if items is not None:
        found = [_without_variables(item, path, values, left_out) for item in items]
        return [item for item in found if item is not _LEFT_OUT]
    if _is_variable(value):
        left_out.append(f"{values.place_of(path)}: a tool fills it in")
        return _LEFT_OUT
    return value


def _is_variable(value: Any) -> bool:
    return isinstance(value, str) and bool(_VARIABLE.search(value)) and "\n" not in value


_LEFT_OUT = object()


def _without_texts(value: Any) -> Any:
    """Values of a Secret without its texts: no message can quote one."""
    entries, items = as_mapping(value), as_list(value)
    if entries is not None:
        kept = {key: _without_texts(item) for key, item in entries.items()}
        return {key: item for key, item in kept.items() if not isinstance(item, str)}
    if items is not None:
        return [_without_texts(item) for item in items if not isinstance(item, str)]
    return value
