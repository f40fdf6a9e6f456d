"""Kustomizations, umbrella charts, helmfiles and Fleet bundles: files that name a chart and values.

Sources: kubernetes-sigs/kustomize api/types/helmchartargs.go and kustomization.go at 0153090; Helm,
Charts: `dependencies`; helmfile.readthedocs.io; fleet.rancher.io/ref-fleet-yaml.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from gpufleet.cluster.release_values import HeldElsewhere, ValuesSource, WrappedRelease
from gpufleet.documents.paths import entries_at, items_at, mapping_at, text_at, value_at
from gpufleet_policies.names import names
from gpufleet_policies.wrappers.charts import chart_name, known_chart
from gpufleet_policies.wrappers.release import single_values

Document = Mapping[str, Any]

KUSTOMIZATIONS = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
"""Names that `kustomize build` looks for."""


def is_kustomization_file(path: str) -> bool:
    """Whether `kustomize build` looks for a file of this name."""
    return path.replace("\\", "/").rpartition("/")[2] in KUSTOMIZATIONS


def is_kustomization(document: Document, path: str = "") -> bool:
    """Whether a document is a kustomization or a component: by kind, else by the file's name."""
    group = text_at(document, "apiVersion").partition("/")[0]
    if "kind" in document:
        return group == "kustomize.config.k8s.io"
    return is_kustomization_file(path) or bool(entries_at(document, "helmCharts"))


def kustomization(document: Document) -> Iterator[WrappedRelease]:
    """Charts that a kustomization inflates."""
    for place, entry in entries_at(document, "helmCharts"):
        name, home = text_at(entry, "name"), text_at(document, "helmGlobals.chartHome")
        is_here = not text_at(entry, "repo") and known_chart(chart_name(name)) is None
        yield WrappedRelease(
            chart_name(name) or None if not is_here else None,
            text_at(entry, "version") or None,
            f"{place}.name",
            tuple(_kustomize_sources(entry, place)),
            text_at(entry, "releaseName") or name,
            text_at(entry, "namespace") or text_at(document, "namespace"),
            HeldElsewhere("folder", f"{home or 'charts'}/{name}") if is_here else None,
        )
    for place, entry in entries_at(document, "helmChartInflationGenerator"):
        sources: list[ValuesSource] = []
        if text_at(entry, "values"):
            sources.append(ValuesSource(f"{place}.values", held=_file(entry["values"])))
        if entry.get("valuesLocal") is not None:
            sources.append(ValuesSource(f"{place}.valuesLocal", entry["valuesLocal"]))
        yield WrappedRelease(
            chart_name(text_at(entry, "chartName")) or None,
            text_at(entry, "chartVersion") or None,
            f"{place}.chartName",
            tuple(sources),
            text_at(entry, "releaseName") or text_at(entry, "chartName"),
            text_at(entry, "releaseNamespace"),
        )


def _file(name: Any) -> HeldElsewhere:
    return HeldElsewhere("file", str(name))


def _chart(
    written: str, repositories: Sequence[str] = ()
) -> tuple[str | None, HeldElsewhere | None]:
    """The name of a chart, or its folder, where a path is written, not the name of a repository."""
    first, sign, _ = written.partition("/")
    unknown = first not in repositories and known_chart(chart_name(written)) is None
    if written.startswith(".") or (sign and unknown and "://" not in written):
        return None, HeldElsewhere("folder", written)
    return chart_name(written) or None, None


def _kustomize_sources(entry: Document, place: str) -> Iterator[ValuesSource]:
    inline = entry.get("valuesInline")
    merge = text_at(entry, "valuesMerge") or "override"
    inside = [ValuesSource(f"{place}.valuesInline", inline)] if inline is not None else []
    if merge == "merge":
        yield from inside
    if merge != "replace":
        if text_at(entry, "valuesFile"):
            yield ValuesSource(f"{place}.valuesFile", held=_file(entry["valuesFile"]))
        for at, file in items_at(entry, "additionalValuesFiles"):
            yield ValuesSource(f"{place}.{at}", held=_file(file))
    if merge != "merge":
        yield from inside


GENERATORS = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}
"""Field of a kustomization -> kind of the objects that its entries generate."""


def generated_files(entry: Document) -> Iterator[tuple[str, str]]:
    """Key and path of each file that a generator puts into an object."""
    for _, written in items_at(entry, "files"):
        if isinstance(written, str):
            key, _, path = written.partition("=")
            yield (key, path) if path else (PurePosixPath(written).name, written)


def is_helmfile(document: Document) -> bool:
    """Whether a document is a helmfile: releases that name a chart each."""
    releases = entries_at(document, "releases")
    return "kind" not in document and bool(releases) and all("chart" in one for _, one in releases)


_UNREAD = frozenset(names("helmfile key that is not read"))
"""Keys of a release that give values, or change objects, from elsewhere."""


def helmfile(document: Document) -> Iterator[WrappedRelease]:
    """Releases of a helmfile."""
    repositories = [text_at(one, "name") for _, one in entries_at(document, "repositories")]
    for place, entry in entries_at(document, "releases"):
        sources = [
            ValuesSource(f"{place}.{at}", held=_file(one))
            if isinstance(one, str)
            else ValuesSource(f"{place}.{at}", one)
            for at, one in items_at(entry, "values")
        ]
        for key in (one for one in _UNREAD if entry.get(one, True) is not True):
            held = HeldElsewhere("values", f"of {key}")
            sources.append(ValuesSource(f"{place}.{key}", held=held))
        sources += single_values((f"{place}.{at}", one) for at, one in entries_at(entry, "set"))
        chart, held = _chart(text_at(entry, "chart"), repositories)
        if entry.get("installed") is False and held is None:
            continue
        yield WrappedRelease(
            chart,
            text_at(entry, "version") or None,
            f"{place}.chart",
            tuple(sources),
            text_at(entry, "name"),
            text_at(entry, "namespace"),
            held,
        )


def is_fleet_bundle(document: Document, path: str) -> bool:
    """Whether a document is a `fleet.yaml` of Rancher Fleet."""
    name = PurePosixPath(path.replace("\\", "/")).name
    return name == "fleet.yaml" and isinstance(value_at(document, "helm"), dict)


def fleet_bundle(document: Document) -> Iterator[WrappedRelease]:
    """The chart of a `fleet.yaml`."""
    helm = mapping_at(document, "helm")
    sources = [
        ValuesSource(f"helm.{at}", held=_file(file)) for at, file in items_at(helm, "valuesFiles")
    ]
    if helm.get("values") is not None:
        sources.append(ValuesSource("helm.values", helm["values"]))
    chart, held = _chart(text_at(helm, "chart"))
    yield WrappedRelease(
        chart,
        text_at(helm, "version") or None,
        "helm.chart",
        tuple(sources),
        text_at(helm, "releaseName"),
        text_at(document, "defaultNamespace"),
        held,
    )
