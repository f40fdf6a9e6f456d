"""Objects of further tools that install charts, each a row of where it writes what.

Sources: crossplane-contrib/provider-helm apis/release/v1beta1; projectsveltos/addon-controller
api/v1beta1 spec.go; k0sproject/k0s pkg/apis/k0s/v1beta1 extensions.go; harvester/harvester
pkg/apis/harvesterhci.io/v1beta1 addon.go.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpufleet.cluster.release_values import HeldElsewhere, ValuesSource, WrappedRelease
from gpufleet.documents.paths import entries_at, mapping_at, text_at, value_at
from gpufleet_policies.wrappers.charts import chart_name
from gpufleet_policies.wrappers.release import set_steps


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
    for place, one in entries_at(entry, fields.single) if fields.single else []:
        steps = set_steps(text_at(one, "name"))
        if steps is not None and one.get("value") is not None:
            yield ValuesSource(f"{prefix}{place}.value", one["value"], steps)
