"""Charts of the tree, rendered by `helm template` where helm is installed.

helm gets no network, no plugins and no settings of the user. It reads a chart as links in a folder
of its own, with the charts of `file://` that its `charts/` does not have, as `helm dependency
build` puts them there. Without another dependency a chart is not rendered: the error is helm's own.

Sources: helm.sh/helm/v3 cmd/helm/template.go, pkg/cli/environment.go, pkg/chart/dependency.go at
v3.18.6; fluxcd/source-controller internal/helm/chart/builder_local.go at 118a10e (`valuesFiles`
replace the `values.yaml` of a chart).
"""

import gzip
import io
import json
import os
import posixpath
import re
import shutil
import subprocess
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.release_values import WrappedRelease
from gpufleet.documents.document import Document
from gpufleet.documents.limits import MANIFESTS, UnreadableDocumentError
from gpufleet.documents.paths import entries_at, items_at, text_at, value_at
from gpufleet.documents.shapes import mapping
from gpufleet_policies.readers.document_text import read_documents, yaml_value
from gpufleet_policies.readers.reading import is_filled_in, place_of
from gpufleet_policies.resolve.layers import Layer, Layers
from gpufleet_policies.resolve.made import CLUSTER_WIDE, Made
from gpufleet_policies.resolve.tree import Tree, UnresolvedError, plain
from gpufleet_policies.wrappers.charts import chart_name
from gpufleet_policies.wrappers.release import values_of

_SECONDS = 30
"""Longest time for one chart."""
SECONDS_OF_RUN = 240
"""Longest time of helm for all charts of a tree together: eight at their limit (our choice)."""
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
    given = [one for one in release.sources if not one.instead]
    instead = [
        one for one in release.sources if one.instead and not (one.held and one.held.optional)
    ]
    for one in (own := values_of(instead, yaml_value), parts := values_of(given, yaml_value)):
        if one.missing:
            raise UnresolvedError(f"its values are not among the files: {one.missing[0]}")
        # A text with spaces and a variable in it may be a script.
        variable = place_of(
            one.values,
            lambda v: v is UNKNOWN or (is_filled_in(v) and not re.search(r"\s", v)),
        )
        if variable is not None:
            raise UnresolvedError(f"its value {variable} is not known")
    name = re.sub(r"[^a-z0-9-]+", "-", release.name.lower())[:53].strip("-")
    with tempfile.TemporaryDirectory() as home:
        chart = Path(home, "chart")
        _lay_out(folder, chart, tree)
        if instead:
            (chart / "values.yaml").unlink(missing_ok=True)
            (chart / "values.yaml").write_text(json.dumps(own.values, default=str), "utf-8")
        space = "" if is_filled_in(release.namespace) else release.namespace
        options = ("--namespace", space) if space else ()
        text = _template(home, [name or "release", str(chart), *options], parts.values, tree)
    if len(text) > MANIFESTS.size:
        raise UnresolvedError(f"its objects are larger than {MANIFESTS.size >> 20} MiB")
    try:
        return list(_objects(text, folder, space, tree))
    except UnreadableDocumentError as problem:
        raise UnresolvedError(f"its objects cannot be read: {problem}") from None


def parts_of(folder: str, tree: Tree) -> dict[str, str]:
    """Names and aliases of the charts that a chart of the tree brings along -> folder or archive of
    each: those in its `charts/`, then its dependencies of `file://`."""
    found: dict[str, str] = {}
    for one in sorted(Path(folder, "charts").glob("*")):
        path = plain(f"{folder}/charts/{one.name}")
        if one.name.endswith(".tgz"):
            found[chart_name(one.name)] = path
        elif (one / "Chart.yaml").is_file():
            found[text_at(_data(f"{path}/Chart.yaml", tree), "name") or one.name] = path
    for row in dependencies(folder, tree):
        name, address = text_at(row, "name"), text_at(row, "repository")
        if address.startswith("file://"):
            found.setdefault(name, plain(posixpath.join(folder, address[len("file://") :])))
        if name in found and text_at(row, "alias"):
            found[text_at(row, "alias")] = found[name]
    return found


def dependencies(folder: str, tree: Tree) -> Iterator[Mapping[str, Any]]:
    """The dependencies that a chart of the tree declares."""
    for file in ("Chart.yaml", "requirements.yaml"):
        for _, row in entries_at(_data(plain(f"{folder}/{file}"), tree), "dependencies"):
            yield row


def installed_parts(
    folder: str, values: Mapping[str, Any], tree: Tree
) -> Iterator[tuple[str, str, str]]:
    """Key of its values, name and version of each dependency of a chart that no condition, and no
    tag, of these values switches off (pkg/chartutil/dependencies.go: the first condition that is a
    boolean decides, else the tags)."""
    for row in dependencies(folder, tree):
        tags = [value_at(values, f"tags.{tag}") for _, tag in items_at(row, "tags")]
        paths = text_at(row, "condition").strip().split(",")
        switches = [on for one in paths if isinstance(on := value_at(values, one), bool)]
        if (switches or [True in tags or False not in tags])[0]:
            name = text_at(row, "name")
            yield text_at(row, "alias") or name, name, text_at(row, "version")


def texts_of(folder: str, tree: Tree, depth: int = 0) -> Iterator[bytes]:
    """Templates and values of a chart and its parts, also of archives. Raises UnresolvedError."""
    if folder.endswith(".tgz"):
        yield _unpacked(tree.content(folder))
        return
    own = Path(folder)
    for one in (*own.glob("templates/**/*"), *own.glob("*values*"), *own.glob("values/*")):
        if one.is_file():
            yield tree.content(plain(str(one)))
    for part in set(parts_of(folder, tree).values()) if depth < _DEEPEST else ():
        yield from texts_of(part, tree, depth + 1)


_DEEPEST = 5
"""Levels of charts inside charts."""
_LARGEST = 16 * MANIFESTS.size
"""Bytes of an archive without compression."""


def _unpacked(archive: bytes) -> bytes:
    """The files of an archive, with their headers."""
    try:
        text = gzip.GzipFile(fileobj=io.BytesIO(archive)).read(_LARGEST + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise UnresolvedError(f"an archive cannot be read: {problem}") from None
    if len(text) > _LARGEST:
        raise UnresolvedError(f"an archive is larger than {_LARGEST >> 20} MiB")
    return text


def _data(file: str, tree: Tree) -> Mapping[str, Any]:
    """The first document of a file; empty where there is none that can be read."""
    try:
        return mapping(tree.documents(file)[0].data) if Path(file).is_file() else {}
    except (UnresolvedError, IndexError):
        return {}


def _lay_out(folder: str, into: Path, tree: Tree, depth: int = 0) -> None:
    """Make a folder with what is in a chart, as links, and the parts that are in other folders."""
    if not tree.is_folder(folder) or depth > _DEEPEST:
        raise UnresolvedError(f"its dependency {folder} is not among the files")
    if any(not tree.is_inside(str(one)) for one in Path(folder).rglob("*") if one.is_symlink()):
        raise UnresolvedError("a link leads out of the audited files")
    charts = into / "charts"
    charts.mkdir(parents=True)
    for one in Path(folder).iterdir():
        if one.name not in ("charts", ".git"):
            (into / one.name).symlink_to(one.resolve())
    for one in Path(folder, "charts").glob("*"):
        (charts / one.name).symlink_to(one.resolve())
    inside = plain(f"{folder}/charts/")
    for number, part in enumerate(dict.fromkeys(parts_of(folder, tree).values())):
        if posixpath.dirname(part) != inside:
            _lay_out(part, charts / f"{number}-{posixpath.basename(part)}", tree, depth + 1)


def _template(home: str, arguments: Sequence[str], values: Mapping[str, Any], tree: Tree) -> str:
    """What `helm template` writes. Raises UnresolvedError."""
    from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION  # slow to import

    program = helm()
    if program is None:
        raise UnresolvedError("helm is not installed")
    left = SECONDS_OF_RUN - tree.seconds
    if left <= 0:
        raise UnresolvedError(f"the {SECONDS_OF_RUN} s of helm for one run are used up")
    file = Path(home, "values.json")
    file.write_text(json.dumps(values, default=str), encoding="utf-8")
    command = [program, "template", *arguments, "--values", str(file)]
    command += [*_OPTIONS, f"{DEFAULT_KUBERNETES_VERSION}.0"]
    own = {k: v for k, v in os.environ.items() if not k.startswith(("HELM_", "KUBE", "XDG_"))}
    begun = time.monotonic()
    try:
        found = subprocess.run(
            command,
            capture_output=True,
            cwd=home,
            env=own | dict.fromkeys(_FOLDERS, home),
            stdin=subprocess.DEVNULL,
            timeout=min(_SECONDS, left),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnresolvedError(f"helm needs more than {min(_SECONDS, left):g} s") from None
    except OSError as problem:
        raise UnresolvedError(f"helm: {problem.strerror}") from None
    finally:
        tree.seconds += time.monotonic() - begun
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
    files = {name: _file_of(folder, name, tree) for name in {*parts[1::2]}}
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        for document in read_documents(part):
            data = mapping(document.data)
            kind = text_at(data, "kind")
            if not kind:
                continue
            if namespace and kind not in CLUSTER_WIDE and not text_at(data, "metadata.namespace"):
                own = {**mapping(data.get("metadata")), "namespace": namespace}
                data = {**data, "metadata": own}
            file = files[name]
            written = _template_of(file, data, number[file, kind], tree)
            number[file, kind] += 1
            yield Made(data, Layers(data, [Layer(file, written, written.data)], is_rendered=True))


def _file_of(folder: str, name: str, tree: Tree) -> str:
    """The file of a template, by the name that helm gives it: `charts/NAME/templates/x.yaml`; the
    archive, where it is in one."""
    first, _, rest = name.partition("/")
    part, _, below = rest.partition("/")
    path = parts_of(folder, tree).get(part) if first == "charts" and below else None
    if path is None:
        return plain(f"{folder}/{name}")
    return path if path.endswith(".tgz") else _file_of(path, below, tree)


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
