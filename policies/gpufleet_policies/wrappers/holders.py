"""Objects and files that hold a part of a release: values, or the name and version of its chart.

Sources: fluxcd/source-controller api/v1 ocirepository_types.go and helmchart_types.go; Kustomize
`configMapGenerator` and `secretGenerator` (kubernetes-sigs/kustomize api/types at 0153090); Helm,
Charts: `Chart.yaml`.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from gpufleet.cluster.release_values import HeldElsewhere
from gpufleet.documents.paths import entries_at, items_at, mapping_at, text_at
from gpufleet_policies.wrappers.charts import chart_name
from gpufleet_policies.wrappers.files import GENERATORS, generated_files, is_kustomization
from gpufleet_policies.wrappers.gitops import FOLDERS

_CHART_FILES = frozenset({"Chart.yaml", "Chart.yml"})
_MOST_TEXT = 256 << 10
"""Characters of a ConfigMap that is kept to look values up in."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Something that releases refer to."""

    kind: str
    name: str
    """Name of the object; folder of a chart."""
    namespace: str = ""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Key -> text, of a ConfigMap or Secret."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Key -> path of the file that a generator reads it from; `chart` -> the folder of a chart;
    other keys of a HelmChart: its files of values."""
    chart: str | None = None
    version: str | None = None

    def is_meant_by(self, held: HeldElsewhere) -> bool:
        """Whether a reference names it; a namespace that is not written fits any."""
        if (self.kind, self.name) != (held.kind, held.name):
            return False
        return not self.namespace or not held.namespace or self.namespace == held.namespace


def holders_of(document: Mapping[str, Any], path: str = "") -> Iterator[Holder]:
    """Contents of a document that a release could refer to."""
    if is_kustomization(document, path):
        yield from _generated(document)
        return
    kind, group = text_at(document, "kind"), text_at(document, "apiVersion").partition("/")[0]
    name, namespace = text_at(document, "metadata.name"), text_at(document, "metadata.namespace")
    if kind in ("ConfigMap", "Secret") and group == "v1" and name:
        texts = dict(_texts(document, kind))
        if texts and sum(map(len, texts.values())) <= _MOST_TEXT:
            yield Holder(kind, name, namespace, texts)
    elif (kind, group) == ("OCIRepository", "source.toolkit.fluxcd.io"):
        version = text_at(document, "spec.ref.tag") or text_at(document, "spec.ref.semver")
        chart = chart_name(text_at(document, "spec.url"))
        yield Holder(kind, name, namespace, chart=chart or None, version=version or None)
    elif kind == "HelmChart" and group in ("source.toolkit.fluxcd.io", "helm.cattle.io"):
        is_folder = text_at(document, "spec.sourceRef.kind") in FOLDERS
        files = {at: str(file) for at, file in items_at(document, "spec.valuesFiles")}
        yield Holder(
            kind if group.startswith("source.") else f"{kind} of {group}",
            name,
            namespace,
            chart=chart_name(text_at(document, "spec.chart")) or None,
            version=text_at(document, "spec.version") or None,
            files={"chart": text_at(document, "spec.chart")} | files if is_folder else {},
        )
    elif not kind and PurePosixPath(path.replace("\\", "/")).name in _CHART_FILES:
        own = text_at(document, "name")
        parts = [text_at(row, "name") for _, row in entries_at(document, "dependencies")]
        yield Holder(
            "folder",
            str(PurePosixPath(path.replace("\\", "/")).parent),
            chart=own if own and own not in parts else None,  # a chart around the one of its name
            version=text_at(document, "version") or None,
        )


def _texts(document: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    for key, value in mapping_at(document, "data").items():
        if kind == "Secret" and isinstance(value, str):
            try:
                yield key, base64.b64decode(value, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                continue  # encrypted in place, or no text
        elif isinstance(value, str):
            yield key, value
    for key, value in mapping_at(document, "stringData").items():
        if isinstance(value, str) and not value.startswith("ENC["):
            yield key, value


def _generated(document: Mapping[str, Any]) -> Iterator[Holder]:
    """ConfigMaps and Secrets that a kustomization generates from files."""
    for field_name, kind in GENERATORS.items():
        for _, entry in entries_at(document, field_name):
            files = dict(generated_files(entry))
            if files:
                namespace = text_at(entry, "namespace") or text_at(document, "namespace")
                yield Holder(kind, text_at(entry, "name"), namespace, files=files)
