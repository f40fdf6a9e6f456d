"""Which documents hold charts, and the releases each of them is.

Sources of the rows of `others.jsonl`: crossplane-contrib/provider-helm apis/release/v1beta1;
projectsveltos/addon-controller api/v1beta1 spec.go; k0sproject/k0s pkg/apis/k0s/v1beta1
extensions.go; harvester/harvester pkg/apis/harvesterhci.io/v1beta1 addon.go.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gpufleet.cluster.release_values import HeldElsewhere, ValuesSource, WrappedRelease
from gpufleet.documents.paths import entries_at, mapping_at, text_at, value_at
from gpufleet_policies.wrappers import files, gitops
from gpufleet_policies.wrappers.charts import chart_name
from gpufleet_policies.wrappers.release import single_values


@dataclass(frozen=True, slots=True)
class ChartFields:
    """Paths of charts in a kind of object; paths are those below `each`, or of the object."""

    chart: str
    version: str
    values: str
    each: str = ""
    """Path of the list whose items are one chart each; empty: the object is one."""
    name: str = "metadata.name"
    namespace: str = "metadata.namespace"
    single: str = ""
    """Path of a list of single values: `{name, value}`."""
    references: str = ""
    """Path of a list of references to values of other objects."""
    template: bool = False
    """Whether the values are a template that the tool fills in for each cluster."""


_ROWS = Path(__file__).with_name("others.jsonl").read_text(encoding="utf-8").splitlines()
KINDS = {(row.pop("group"), row.pop("kind")): ChartFields(**row) for row in map(json.loads, _ROWS)}
"""Group and kind -> where its charts are."""


def releases(document: Mapping[str, Any], fields: ChartFields) -> Iterator[WrappedRelease]:
    """The charts of one object."""
    found = [("", document)] if not fields.each else entries_at(document, fields.each)
    for place, entry in found:
        prefix = f"{place}." if place else ""
        yield WrappedRelease(
            chart_name(text_at(entry, fields.chart)) or None,
            text_at(entry, fields.version) or None,
            prefix + fields.chart,
            tuple(_sources(entry, fields, prefix)),
            text_at(entry, fields.name) or text_at(document, "metadata.name"),
            text_at(entry, fields.namespace),
            cluster=f"{document.get('kind')} {text_at(document, 'metadata.name')}"
            if fields.template
            else "",
        )


def _sources(entry: Mapping[str, Any], fields: ChartFields, prefix: str) -> Iterator[ValuesSource]:
    for place, reference in entries_at(entry, fields.references) if fields.references else []:
        for kind, key in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
            ref = mapping_at(reference, key)
            if ref:
                held = HeldElsewhere(
                    kind,
                    text_at(ref, "name"),
                    text_at(ref, "namespace"),
                    text_at(ref, "key") or "values.yaml",
                )
                yield ValuesSource(prefix + place, held=held)
        if text_at(reference, "kind"):
            held = HeldElsewhere(
                text_at(reference, "kind"),
                text_at(reference, "name"),
                text_at(reference, "namespace"),
            )
            yield ValuesSource(prefix + place, held=held)
    values = value_at(entry, fields.values)
    if values is not None:
        yield ValuesSource(prefix + fields.values, values)
    single = entries_at(entry, fields.single) if fields.single else []
    yield from single_values((f"{prefix}{place}", one) for place, one in single)


Reader = Callable[[Mapping[str, Any]], Iterator[WrappedRelease]]

OBJECTS: dict[tuple[str, str], Reader] = {
    ("helm.toolkit.fluxcd.io", "HelmRelease"): gitops.flux,
    ("argoproj.io", "Application"): gitops.argo,
    ("argoproj.io", "ApplicationSet"): gitops.argo_set,
    ("helm.cattle.io", "HelmChart"): gitops.helm_chart,
    ("helm.cattle.io", "HelmChartConfig"): gitops.helm_chart_config,
    **{key: partial(releases, fields=fields) for key, fields in KINDS.items()},
}
"""Group and kind of objects that install charts -> their releases."""


def wrapper_of(document: Mapping[str, Any], path: str = "") -> Reader | None:
    """The reader of a document that holds charts; None for any other document.

    A kustomization, a helmfile and a `fleet.yaml` are recognised without a kind, partly by `path`.
    """
    if files.is_kustomization(document, path):
        return files.kustomization
    if "kind" in document:
        group = text_at(document, "apiVersion").partition("/")[0]
        return OBJECTS.get((group, text_at(document, "kind")))
    if files.is_helmfile(document):
        return files.helmfile
    if files.is_fleet_bundle(document, path):
        return files.fleet_bundle
    return None


def releases_of(document: Mapping[str, Any], path: str = "") -> tuple[WrappedRelease, ...]:
    """Every release of a document; empty where it holds none."""
    reader = wrapper_of(document, path)
    return () if reader is None else tuple(reader(document))
