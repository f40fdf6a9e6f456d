"""`check` of a text whose kind nobody names: every kind in it, each validated as itself."""

from collections.abc import Iterator

from gpufleet.contract.charts import chart_of_file
from gpufleet.contract.foreign.go_json import as_mapping
from gpufleet.contract.foreign.kinds import validate_text
from gpufleet.contract.foreign.recognition import kind_of
from gpufleet.contract.foreign.validation import AdvertisedByConfig, CheckReport, Judgement
from gpufleet.contract.foreign.wrapped import RULES, WrappedValues, wrapped_values
from gpufleet.contract.wrappers.registry import wrapper_of
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go, read_go_stream
from gpufleet.findings import Finding, ordered


def validate_recognised(
    text: str | bytes,
    path: str = "",
    *,
    gpu: str | None = None,
    select: str | None = None,
    context: object = None,
) -> tuple[tuple[str, ...], Judgement]:
    """The kinds of a text, and the verdict on all of it; no kind and nothing found for a text of
    which no document is recognised.

    `path` is the name of the file, which may name the chart of its values. Raises
    UnreadableDocumentError.
    """
    wrapped = wrapped_values(text)
    kinds = tuple(dict.fromkeys(_kinds(text, path, wrapped)))
    findings: dict[Finding, None] = {}
    advertised: AdvertisedByConfig | None = None
    for kind in kinds:
        found = validate_text(kind, text, gpu=gpu, select=select, context=context)
        findings.update(dict.fromkeys(found.findings))
        advertised = found.advertises if len(kinds) == 1 else None
    left = CheckReport(RULES)
    for one in wrapped:
        if one.chart is None or one.chart.kind is None:
            name = one.release.chart or f"that {one.release.held} names"
            left.add(
                "wrapped-chart-unknown",
                f"{one.document}: {one.release.place}".removeprefix(": "),
                f"no kind is about the chart {name}: its values are not judged",
            )
    return kinds, Judgement(ordered([*findings, *left.findings]), advertised)


def _kinds(text: str | bytes, path: str, wrapped: tuple[WrappedValues, ...]) -> Iterator[str]:
    for one in wrapped:
        if one.chart is not None and one.chart.kind is not None:
            yield one.chart.kind
    try:
        documents = [read.data for read in read_go_stream(text)]
    except UnreadableDocumentError:
        documents = [read_go(text).data]  # as for one that names its kind, the first counts
    for data in documents:
        document = as_mapping(data)
        if document is None or wrapper_of(document, path) is not None:
            continue
        found = kind_of(document)
        items = document.get("items")
        if found is not None:
            yield found
        elif isinstance(items, list):
            members = (as_mapping(item) for item in items)  # pyright: ignore[reportUnknownVariableType]
            yield from (kind for one in members if one and (kind := kind_of(one)))
        elif "kind" not in document:
            chart = chart_of_file(document, path)
            if chart is not None and chart.kind is not None:
                yield chart.kind
