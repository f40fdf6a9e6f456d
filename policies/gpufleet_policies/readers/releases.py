"""Releases of charts inside the objects and files of GitOps tools, as facts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.cluster.release_values import WrappedRelease
from gpufleet.documents.shapes import known_texts
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside
from gpufleet_policies.readers.document_text import yaml_value
from gpufleet_policies.readers.helm import of_values
from gpufleet_policies.readers.reading import is_filled_in, place_of, without
from gpufleet_policies.wrappers.charts import known_chart
from gpufleet_policies.wrappers.files import is_kustomization
from gpufleet_policies.wrappers.judged import NotJudged, UnopenedRelease
from gpufleet_policies.wrappers.links import inline_patches
from gpufleet_policies.wrappers.registry import releases_of
from gpufleet_policies.wrappers.release import values_of


def releases(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """Every release in a document; a release that needs other files stays unopened."""
    annotations = known_texts(inside(document, "metadata.annotations"))
    for place in inline_patches(document) if is_kustomization(document, locator.file) else ():
        reason = "a patch is validated only with the object that it changes"
        yield NotJudged(locator=locator, what="patch", reason=reason, place=place)
    generated = document if document.get("kind") == "ApplicationSet" else None
    found = releases_of(document, locator.file)
    if generated:  # the audit opens all that are made of one source
        found = tuple({one.place: one for one in found}.values())
    for release in found:
        named = replace(locator, name=locator.name or release.name, cluster=release.cluster)
        if release.needs or generated:
            yield UnopenedRelease(
                locator=named, annotations=annotations, release=release, document=generated
            )
        else:
            yield from opened(release, named, annotations)


def opened(
    release: WrappedRelease,
    locator: Locator,
    annotations: Mapping[str, str],
    place: str | None = None,
) -> Iterator[Any]:
    """Facts of a release, and its parts that are not validated.

    `place` is the field of the values, where they are reported in another document than the one
    that names the chart.
    """

    def left_out(what: str, reason: str, at: str) -> NotJudged:
        return NotJudged(
            locator=locator, annotations=annotations, what=what, reason=reason, place=at
        )

    if release.chart is None:
        held = "" if release.held is None else f" ({release.held} is not among the files)"
        yield left_out("chart", f"the name of its chart is not known{held}", release.place)
        return
    chart = known_chart(release.chart)
    if chart is None:
        reason = f"no rule reads the values of the chart {release.chart}"
        yield left_out("chart", reason, release.place)
        return
    parts = values_of(release.sources, yaml_value)
    for missing in parts.missing:
        reason = f"values of the chart {chart.name} are not known: {missing}"
        yield left_out("values", reason, missing.partition(" ")[0].rstrip(":"))
    values = without(parts.values, is_filled_in)
    variable = place_of(parts.values, is_filled_in)
    if variable is not None:
        reason = f"a tool fills in values of the chart {chart.name}, which are not known"
        yield left_out("variable", reason, parts.place_of(variable))
    texts = [s for s in release.sources if isinstance(s.written, str) and not s.target]
    alone = texts[0].written if len(release.sources) == len(texts) == 1 else None
    yield from of_values(
        chart.name,
        values,
        locator,
        version=release.release,
        place=parts.place if place is None else place,
        complete=not parts.missing,
        annotations=annotations,
        parts=parts if place is None else None,
        written=alone if isinstance(alone, str) else "",
        namespace=release.namespace,
    )
