"""Images that a fleet's charts and manifests pull, as they are written."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpufleet.catalogue.software import ChartImage
from gpufleet.documents.paths import value_at
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.fleet_release import FleetRelease

OF_NODES = frozenset({"ofedDriver", "driver"})
"""Sections of NicClusterPolicy and ClusterPolicy whose tag the operator completes by the node."""


@dataclass(frozen=True, slots=True)
class ImageReference:
    """One image of one user."""

    repository: str
    """Registry, path and name; empty: not known."""
    tag: str
    """Tag, or what the operator completes; empty: not known, or a digest stands for it."""
    digest: str = ""
    """`sha256:...`, where one is written."""
    user: str = ""
    """The chart, or the rendered file."""
    key: str = ""
    """Where it is written: key of the chart's values, or of the object."""
    suffix: str = ""
    """What the operator adds to the tag: `os`, `os-arch`, `kernel-os`; empty: nothing."""
    unread: str = ""
    """Why more is not known; empty: nothing is missing."""


def chart_images(release: FleetRelease) -> Iterator[ImageReference]:
    """Images of a release, by the rows of the catalogue and the values it gets."""
    chart, name = release.chart, release.chart.name
    if chart.images is None:
        unread = f"the values of chart {name} {release.version} were not read"
        yield ImageReference("", "", user=name, unread=unread)
        return
    for image in chart.images:
        if all(_written(release.values, key, default) for key, default in image.when.items()):
            yield _chart_image(release, image)


def _chart_image(release: FleetRelease, image: ChartImage) -> ImageReference:
    values, name = release.values, release.chart.name
    base = _written(values, image.key, image.default)
    tag = _written(values, image.tag_key, None)
    digest = _written(values, image.digest_key, "")
    unread = ""
    if tag is None and release.version != release.chart.version:
        unread = f"version {release.version} of the chart was not read, {release.chart.version} was"
    elif tag is None and not image.tag:
        unread = f"the default tag of chart {name} {release.version} was not read"
    elif image.digest_key and not digest:
        unread = f"the published chart pins a digest that was not read ({image.digest_key})"
    of_image = f"{image.key.removesuffix('.repository')}.image"
    called = _written(values, of_image, image.name) if image.name else ""
    repository = f"{base}/{called}" if called and base else str(base or "")
    if not repository:
        unread = f"chart {name} names no public image; {image.key} says where it is"
    suffix = image.per_node
    precompiled = image.key.replace(".repository", ".usePrecompiled")
    if suffix and _written(values, precompiled, False):
        suffix = f"kernel-{suffix}"
    written = str(tag or ("" if unread and not image.digest_key else image.tag))
    if written.startswith("sha256:"):
        written, digest, suffix, unread = "", written, "", ""
    return ImageReference(repository, written, digest, name, image.key, suffix, unread)


def _written(values: Mapping[str, Any], key: str, default: Any) -> Any:
    """What values say at a dotted key, else the chart's default."""
    return value_at(values, key, absent=default, unreadable=default) if key else default


def manifest_images(files: Iterable[tuple[Artefact, Any]]) -> Iterator[ImageReference]:
    """Images that rendered objects and pod templates name."""
    for file, document in files:
        if file.kind in (ArtefactKind.MANIFEST, ArtefactKind.SNIPPET):
            common = _written(document, "spec.global", {})
            yield from _named(document, file.path, common)


def _named(
    value: Any, user: str, common: Mapping[str, Any], key: str = ""
) -> Iterator[ImageReference]:
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _named(item, user, common, key)
    if not isinstance(value, dict):
        return
    entries = cast("dict[str, Any]", value)
    image = entries.get("image")
    if isinstance(image, str) and "/" in image:
        yield written_reference(image, user, f"{key}.image".lstrip("."))
    elif isinstance(image, str):
        parts = {**common, **entries}
        repository = parts.get("repository")
        version = str(parts.get("version") or "")
        suffix = ("os-arch" if key == "ofedDriver" else "os") if key in OF_NODES else ""
        precompiled = entries.get("forcePrecompiled") or entries.get("usePrecompiled")
        yield ImageReference(
            f"{repository}/{image}" if repository else "",
            version,
            user=user,
            key=key,
            suffix=f"kernel-{suffix}" if suffix and precompiled else suffix,
            unread="" if repository and version else "the object names the image in part only",
        )
    for name, item in entries.items():
        if name != "image":
            yield from _named(item, user, common, name)


def written_reference(text: str, user: str, key: str) -> ImageReference:
    """A reference that stands in one text: `registry/path:tag@digest`."""
    rest, _, digest = text.partition("@")
    head, colon, tag = rest.rpartition(":")
    tagged = bool(colon) and "/" not in tag
    return ImageReference(
        head if tagged else rest,
        tag if tagged else ("" if digest else "latest"),
        digest,
        user,
        key,
    )
