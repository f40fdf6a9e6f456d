"""Charts of the tree, rendered by `helm template` where helm is installed.

helm gets no network, no plugins and no settings of the user. A chart whose dependencies are not in
its `charts/` is not rendered: the error is helm's own.

Source: helm.sh/helm/v3 cmd/helm/template.go and pkg/cli/environment.go at v3.18.6.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.release_values import WrappedRelease
from gpufleet.documents.document import Document
from gpufleet.documents.limits import MANIFESTS, UnreadableDocumentError
from gpufleet.documents.paths import text_at
from gpufleet.documents.shapes import mapping
from gpufleet_policies.readers.document_text import read_documents, yaml_value
from gpufleet_policies.readers.placeholders import is_filled_in
from gpufleet_policies.readers.reading import place_of
from gpufleet_policies.resolve.layers import Layer, Layers
from gpufleet_policies.resolve.made import CLUSTER_WIDE, Made
from gpufleet_policies.resolve.tree import Tree, UnresolvedError, plain
from gpufleet_policies.wrappers.release import values_of

_SECONDS = 30
"""Longest time for one chart."""
_OPTIONS = ("--skip-tests", "--skip-schema-validation", "--kube-version")
"""Tests of a chart run on request only; its schema may refer to another machine."""
_SOURCE = re.compile(r"^---\n# Source: [^/\n]+/(.+)\n", re.MULTILINE)
_FOLDERS = ("HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME", "HOME")


def helm() -> str | None:
    """Path of helm: on PATH, else as `gpufleet sandbox programs helm` made it; None: neither."""
    cache = os.environ.get("GPUFLEET_CACHE")
    base = Path(cache or os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    made = sorted((base if cache else base / "gpufleet").glob("programs/helm-*/helm"))
    return shutil.which("helm") or (str(made[-1]) if made else None)


def rendered(folder: str, release: WrappedRelease, tree: Tree) -> list[Made]:
    """The objects of a release of a chart, each with the lines of its template.

    A name of a release that helm refuses is replaced. Raises UnresolvedError.
    """
    if not tree.is_folder(folder):
        raise UnresolvedError(f"the chart {folder} is not among the files")
    parts = values_of(release.sources, yaml_value)
    if parts.missing:
        raise UnresolvedError(f"its values are not among the files: {parts.missing[0]}")
    variable = place_of(parts.values, _is_open)
    if variable is not None:
        raise UnresolvedError(f"its value {variable} is not known")
    if any(not tree.is_inside(str(one)) for one in Path(folder).rglob("*") if one.is_symlink()):
        raise UnresolvedError("a link leads out of the audited files")
    name = re.sub(r"[^a-z0-9-]+", "-", release.name.lower())[:53].strip("-")
    text = _template(folder, name or "release", release.namespace, parts.values)
    if len(text) > MANIFESTS.size:
        raise UnresolvedError(f"its objects are larger than {MANIFESTS.size >> 20} MiB")
    try:
        return list(_objects(text, folder, release.namespace, tree))
    except UnreadableDocumentError as problem:
        raise UnresolvedError(f"its objects cannot be read: {problem}") from None


def _is_open(value: Any) -> bool:
    """Whether a value is not known; a text with a variable in it may be a script."""
    return value is UNKNOWN or (is_filled_in(value) and not re.search(r"\s", value))


def _template(folder: str, name: str, namespace: str, values: Mapping[str, Any]) -> str:
    from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION  # slow to import

    program = helm()
    if program is None:
        raise UnresolvedError("helm is not installed")
    with tempfile.TemporaryDirectory() as home:
        file = Path(home, "values.json")
        file.write_text(json.dumps(values, default=str), encoding="utf-8")
        command = [program, "template", name, str(Path(folder).resolve()), "--values", str(file)]
        command += [*_OPTIONS, f"{DEFAULT_KUBERNETES_VERSION}.0"]
        command += ["--namespace", namespace] if namespace else []
        own = {k: v for k, v in os.environ.items() if not k.startswith(("HELM_", "KUBE", "XDG_"))}
        try:
            found = subprocess.run(
                command,
                capture_output=True,
                cwd=home,
                env=own | dict.fromkeys(_FOLDERS, home),
                stdin=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UnresolvedError(f"helm needs more than {_SECONDS} s") from None
        except OSError as problem:
            raise UnresolvedError(f"helm: {problem.strerror}") from None
    if found.returncode:
        lines = found.stderr.decode("utf-8", errors="replace").splitlines()
        errors = [line for line in lines if line.startswith("Error: ")] or lines or ["no output"]
        text = errors[0]
        for value in re.findall(
            r'(?:: |\[)"((?:[^"\\]|\\.){4,})"', json.dumps(values, default=str)
        ):
            text = text.replace(value, "***")  # it may be a secret
        raise UnresolvedError(f"helm: {text.removeprefix('Error: ')[:300]}")
    return found.stdout.decode("utf-8", errors="replace")


def _objects(text: str, folder: str, namespace: str, tree: Tree) -> Iterator[Made]:
    number = Counter[tuple[str, str]]()
    parts = _SOURCE.split(text)
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        for document in read_documents(part):
            data = mapping(document.data)
            kind = text_at(data, "kind")
            if not kind:
                continue
            if namespace and kind not in CLUSTER_WIDE and not text_at(data, "metadata.namespace"):
                own = {**mapping(data.get("metadata")), "namespace": namespace}
                data = {**data, "metadata": own}
            file = plain(f"{folder}/{name}")
            written = _template_of(file, data, number[file, kind], tree)
            number[file, kind] += 1
            layer = Layer(file, written, written.data)
            yield Made(data, Layers(data, [layer], is_rendered=True))


def _template_of(file: str, data: Mapping[str, Any], at: int, tree: Tree) -> Document:
    """The document of a template that an object is from, as far as templates can be read: the one
    with its name, else the next of its kind."""
    try:
        found = tree.documents(file)
    except UnresolvedError:  # not YAML without its expressions, or inside of an archive
        return Document({})
    kind, name = text_at(data, "kind"), text_at(data, "metadata.name")
    same = [one for one in found if text_at(mapping(one.data), "kind") == kind] or found
    for one in same:
        if text_at(mapping(one.data), "metadata.name") == name:
            return one
    return same[min(at, len(same) - 1)] if same else Document({})
