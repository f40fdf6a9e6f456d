"""Flux HelmRelease, Argo CD Application and ApplicationSet, HelmChart and HelmChartConfig of k3s.

Sources: fluxcd/helm-controller api/v2 and internal/chartutil/values.go at 00785fb; fluxcd/pkg
chartutil/values.go at 288c80e (a `targetPath` overrides the values); argoproj/argo-cd,
user guide on Helm at 027fa89 (valueFiles < values < valuesObject < parameters, and
`valuesObject` replaces `values`); k3s-io/helm-controller pkg/apis/helm.cattle.io/v1/types.go and
pkg/controllers/chart/chart.go at 008dc8e.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.cluster.release_values import HeldElsewhere, ValuesSource, WrappedRelease
from gpufleet.documents.paths import child, entries_at, items_at, mapping_at, text_at, value_at
from gpufleet_policies.readers.reading import is_filled_in
from gpufleet_policies.wrappers.application_sets import Repository, applications
from gpufleet_policies.wrappers.charts import chart_name
from gpufleet_policies.wrappers.release import set_steps, set_value, single_values

Document = Mapping[str, Any]
FOLDERS = ("GitRepository", "Bucket")
"""Kinds of sources whose charts are folders."""


def flux(document: Document) -> Iterator[WrappedRelease]:
    """`HelmRelease` of helm.toolkit.fluxcd.io, any version."""
    namespace = text_at(document, "metadata.namespace")
    own = text_at(document, "spec.chart.spec.chart")
    place, held = "spec.chart.spec.chart", None
    if text_at(document, "spec.chart.spec.sourceRef.kind") in FOLDERS:
        own, held = "", HeldElsewhere("folder", own)
    elif not own:
        kind = text_at(document, "spec.chartRef.kind")
        name = text_at(document, "spec.chartRef.name")
        place = "spec.chartRef.name"
        if name:
            where = text_at(document, "spec.chartRef.namespace") or namespace
            held = HeldElsewhere(kind, name, where)
    yield WrappedRelease(
        chart_name(own) or None,
        text_at(document, "spec.chart.spec.version") or None,
        place,
        tuple(_flux_sources(document, namespace)),
        text_at(document, "spec.releaseName") or text_at(document, "metadata.name"),
        text_at(document, "spec.targetNamespace") or namespace,
        held,
        text_at(document, "spec.kubeConfig.secretRef.name")
        or text_at(document, "spec.kubeConfig.configMapRef.name"),
    )


def _flux_sources(document: Document, namespace: str) -> Iterator[ValuesSource]:
    last: list[ValuesSource] = []
    missing = value_at(document, "spec.chart.spec.ignoreMissingValuesFiles") is True
    for at, file in items_at(document, "spec.chart.spec.valuesFiles"):
        held = HeldElsewhere("file", str(file), optional=missing)
        yield ValuesSource(f"spec.chart.spec.{at}", held=held, instead=True)
    for place, entry in entries_at(document, "spec.valuesFrom"):
        held = HeldElsewhere(
            text_at(entry, "kind"),
            text_at(entry, "name"),
            namespace,
            text_at(entry, "valuesKey") or "values.yaml",
            entry.get("optional") is True,
        )
        target = text_at(entry, "targetPath")
        if target:
            last.append(ValuesSource(place, target=set_steps(target) or (target,), held=held))
        else:
            yield ValuesSource(place, held=held)
    values = value_at(document, "spec.values")
    if values is not None:
        yield ValuesSource("spec.values", values)
    of_folder = text_at(document, "spec.chart.spec.sourceRef.kind") in FOLDERS
    if of_folder and value_at(document, "spec.postRenderers"):  # they may change any object
        yield ValuesSource("spec.postRenderers", held=HeldElsewhere("patches", "of postRenderers"))
    yield from last


def argo(document: Document) -> Iterator[WrappedRelease]:
    """`Application` of argoproj.io: one release for each source that is a chart."""
    yield from _application(document, "")


def argo_set(document: Document, repository: Repository | None = None) -> Iterator[WrappedRelease]:
    """`ApplicationSet`: the releases of its Applications, equal ones once for all clusters."""
    name = text_at(document, "metadata.name")
    found: dict[str, WrappedRelease] = {}
    for one in applications(document, repository or Repository()):
        for release in _application(one, "spec.template."):
            sources = release.sources
            if value_at(document, "spec.templatePatch"):
                held = HeldElsewhere("patches", "of templatePatch")
                sources += (ValuesSource("spec.templatePatch", held=held),)
            what = str((release.place, release.chart, release.version, release.held, sources))
            several = what in found or is_filled_in(release.cluster)
            cluster = f"ApplicationSet {name}" if several else release.cluster
            found[what] = replace(
                found.get(what, release),
                cluster=cluster,
                name=release.name or name,
                sources=sources,
            )
    yield from found.values()


_OWN_CLUSTER = ("https://kubernetes.default.svc", "in-cluster", "")


def other_cluster(application: Document) -> str:
    """The destination of an Application that is not the cluster of Argo CD itself."""
    target = text_at(application, "spec.destination.name")
    target = target or text_at(application, "spec.destination.server")
    return "" if target.rstrip("/") in _OWN_CLUSTER else target


def _application(document: Document, prefix: str) -> Iterator[WrappedRelease]:
    cluster = other_cluster(document)
    single = value_at(document, "spec.source")
    sources = entries_at(document, "spec.sources")
    if not sources and isinstance(single, dict):
        sources = [("spec.source", mapping_at(document, "spec.source"))]
    for place, source in sources:
        chart, folder = text_at(source, "chart"), text_at(source, "path")
        address = text_at(source, "repoURL")
        at, held = f"{place}.chart", None
        if not chart and address.startswith("oci://") and folder in (".", ""):
            chart, at = address, f"{place}.repoURL"
        if not chart and folder:
            is_chart = isinstance(source.get("helm"), dict)
            at, held = f"{place}.path", HeldElsewhere("folder", folder, optional=not is_chart)
        if not chart and held is None:
            continue
        yield WrappedRelease(
            chart_name(chart) or None,
            (text_at(source, "targetRevision") or None) if chart else None,
            prefix + at,
            tuple(_argo_sources(source, f"{prefix}{place}.helm", folder)),
            text_at(source, "helm.releaseName") or text_at(document, "metadata.name"),
            text_at(document, "spec.destination.namespace"),
            held,
            cluster,
        )


def _argo_sources(source: Document, place: str, folder: str) -> Iterator[ValuesSource]:
    helm = mapping_at(source, "helm")
    optional = helm.get("ignoreMissingValueFiles") is True
    if source.get("plugin") is not None:  # it may make any object of the folder
        plugin = place.removesuffix("helm") + "plugin"
        yield ValuesSource(plugin, held=HeldElsewhere("patches", "of a plugin"))
    for at, file in items_at(helm, "valueFiles"):
        if isinstance(file, str):
            written = file if file.startswith(("$", "/")) or not folder else f"{folder}/{file}"
            held = HeldElsewhere("file", written, optional=optional)
            yield ValuesSource(f"{place}.{at}", held=held)
    if helm.get("valuesObject") is not None:
        yield ValuesSource(f"{place}.valuesObject", helm["valuesObject"])
    elif helm.get("values") is not None:
        yield ValuesSource(f"{place}.values", helm["values"])
    yield from single_values((f"{place}.{at}", one) for at, one in entries_at(helm, "parameters"))
    for at, entry in entries_at(helm, "fileParameters"):
        steps = set_steps(text_at(entry, "name"))
        if steps is not None:
            held = HeldElsewhere("file", text_at(entry, "path"))
            yield ValuesSource(f"{place}.{at}.path", target=steps, held=held)


def helm_chart(document: Document) -> Iterator[WrappedRelease]:
    """`HelmChart` of helm.cattle.io (k3s, RKE2)."""
    yield WrappedRelease(
        chart_name(text_at(document, "spec.chart")) or None,
        text_at(document, "spec.version") or None,
        "spec.chart",
        tuple(_content(document)),
        text_at(document, "metadata.name"),
        text_at(document, "spec.targetNamespace") or text_at(document, "metadata.namespace"),
    )


def _content(document: Document) -> Iterator[ValuesSource]:
    namespace = text_at(document, "metadata.namespace")
    content = value_at(document, "spec.valuesContent")
    if content is not None:
        yield ValuesSource("spec.valuesContent", content)
    for place, entry in entries_at(document, "spec.valuesSecrets"):
        for _, key in items_at(entry, "keys"):
            held = HeldElsewhere("Secret", text_at(entry, "name"), namespace, str(key))
            yield ValuesSource(place, held=held)
    for name, value in mapping_at(document, "spec.set").items():
        steps = set_steps(name)
        if steps is None:
            continue
        if isinstance(value, str) and value.lower() in ("true", "false", "null"):
            value = set_value(value.lower())  # other texts stay text: --set-string
        yield ValuesSource(child("spec.set", name), value, steps)


def helm_chart_config(document: Document) -> Iterator[WrappedRelease]:
    """`HelmChartConfig`: more values for the HelmChart of the same name."""
    name, namespace = text_at(document, "metadata.name"), text_at(document, "metadata.namespace")
    yield WrappedRelease(
        None,
        None,
        "metadata.name",
        tuple(_content(document)),
        name,
        "",  # the HelmChart has it
        HeldElsewhere("HelmChart of helm.cattle.io", name, namespace),
    )
