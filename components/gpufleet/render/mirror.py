"""Everything that a site without Internet access must mirror: charts and images of a fleet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from gpufleet.catalogue.software import ChartImage
from gpufleet.documents.paths import value_at
from gpufleet.documents.plain_data import plain_data
from gpufleet.documents.reading import read_manifests
from gpufleet.fleet.model import Fleet
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.artefacts import artefacts
from gpufleet.render.fleet_release import FleetRelease
from gpufleet.render.releases import releases
from gpufleet.spec.images import Images

# Images that a fleet's charts and manifests pull, as they are written.

OF_NODES = frozenset({"ofedDriver", "driver"})
"""Sections of NicClusterPolicy and ClusterPolicy whose tag the operator completes by the node."""


@dataclass(frozen=True, slots=True)
class ImageReference:
    """One image of one user."""

    repository: str
    """Registry, path and name; empty: unknown."""
    tag: str
    """Tag, or its part that the operator completes; empty: unknown, or a digest replaces it."""
    digest: str = ""
    """`sha256:...`, where one is written."""
    user: str = ""
    """The chart, or the rendered file."""
    key: str = ""
    """Key of the chart's values, or of the object, with the reference."""
    suffix: str = ""
    """Suffix that the operator adds to the tag: `os`, `os-arch`, `kernel-os`; empty: none."""
    unread: str = ""
    """Reason why a part is unknown; empty: nothing is missing."""


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
    """Value at a dotted key, else the chart's default."""
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
    """A reference in one text: `registry/path:tag@digest`."""
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


@dataclass(frozen=True, slots=True)
class MirroredImage:
    """An image to copy."""

    source: str
    """Reference at the vendor, with tag and digest."""
    target: str
    """Reference in the declared mirror; without a mirror: the source."""
    digest: str | None
    """Digest that the chart or the object pins; None: no pinned digest."""
    users: tuple[str, ...]
    """Charts and rendered files that name it."""


@dataclass(frozen=True, slots=True)
class UnknownImage:
    """An image that a fleet pulls and whose full name is unknown."""

    image: str
    """Known part of its name."""
    user: str
    """The chart, the rendered file or the operator."""
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class MirrorList:
    """Charts and images to mirror."""

    charts: tuple[FleetRelease, ...]
    images: tuple[MirroredImage, ...]
    not_known: tuple[UnknownImage, ...]


def mirror_list(fleet: Fleet, node_os: Sequence[str] = ()) -> MirrorList:
    """The list for a fleet without errors.

    Args:
        fleet: The fleet.
        node_os: Operating systems of its nodes as NVIDIA's operators write them in tags of driver
            images: `ubuntu24.04`, `rhcos4.21`. Without one these images are unknown.
    """
    addons = fleet.spec.addons.model_copy(
        update={"images": Images(profile=fleet.spec.addons.images.profile)}
    )
    plain = replace(fleet, spec=fleet.spec.model_copy(update={"addons": addons}))
    users: dict[tuple[str, str, str | None], list[str]] = {}
    unknown: dict[UnknownImage, None] = {}
    for source, target in zip(_references(plain), _references(fleet), strict=True):
        if source.unread and source.tag:
            digest = f"{source.repository}:{source.tag}@?"
            unknown[UnknownImage(digest, source.user, source.unread, _fix(source))] = None
        found = _completed(fleet, source, target, node_os)
        if isinstance(found, UnknownImage):
            unknown[found] = None
        else:
            for key in found:
                users.setdefault(key, []).append(source.user)
    unknown |= dict.fromkeys(_of_operators(fleet))
    images = (
        MirroredImage(source, target, digest, tuple(sorted(set(named))))
        for (source, target, digest), named in users.items()
    )
    return MirrorList(
        releases(plain), tuple(sorted(images, key=lambda one: one.source)), tuple(unknown)
    )


def _references(fleet: Fleet) -> Iterator[ImageReference]:
    for release in releases(fleet):
        yield from chart_images(release)
    files = (
        (file, document.data) for file in artefacts(fleet) for document in read_manifests(file.text)
    )
    yield from manifest_images(files)


def _completed(
    fleet: Fleet, source: ImageReference, target: ImageReference, node_os: Sequence[str]
) -> list[tuple[str, str, str | None]] | UnknownImage:
    """The image of each kind of node; or why it cannot be named."""
    if source.unread and not (source.tag and source.repository):
        partly = f"{source.repository}:{source.tag or '?'}" if source.repository else "?"
        return UnknownImage(partly, source.user, source.unread, _fix(source))
    tags = [source.tag]
    if source.suffix:
        whole = f"{source.repository}:{source.tag}-<{source.suffix}>"
        if source.suffix.startswith("kernel"):
            return UnknownImage(
                whole,
                source.user,
                "a precompiled driver has the node's kernel in its tag",
                "list the tags of the repository and take the one of your kernel",
            )
        if not node_os:
            return UnknownImage(
                whole,
                source.user,
                "the operator adds the operating system of the node to the tag",
                "name it: `--node-os ubuntu24.04`",
            )
        tags = [f"{source.tag}-{ending}" for ending in _endings(fleet, source.suffix, node_os)]
    digest = source.digest or None
    return [
        (_whole(source.repository, tag, digest), _whole(target.repository, tag, digest), digest)
        for tag in tags
    ]


def _endings(fleet: Fleet, suffix: str, node_os: Sequence[str]) -> Iterable[str]:
    if suffix == "os":
        return node_os
    architectures = {machine.architecture for pool in fleet.pools for machine in pool.machines}
    return [f"{system}-{one}" for system in node_os for one in sorted(architectures)]


def _whole(repository: str, tag: str, digest: str | None) -> str:
    tagged = f"{repository}:{tag}" if tag else repository
    return f"{tagged}@{digest}" if digest else tagged


def _fix(image: ImageReference) -> str:
    return (
        f"`helm show values` of the chart has it; write {image.key or 'it'} in the add-on's values"
    )


def _of_operators(fleet: Fleet) -> Iterator[UnknownImage]:
    """Operators of Lifecycle Manager name their images by digest in their bundle."""
    for one in fleet.addons.subscriptions:
        yield UnknownImage(
            f"{one.catalog}/{one.package} ({one.channel})",
            f"operator {one.package}",
            "Operator Lifecycle Manager takes the images that the bundle names by digest",
            "mirror the package with oc-mirror: ImageSetConfiguration, `mirror.operators`",
        )


def as_dict(found: MirrorList) -> dict[str, Any]:
    """The list as JSON."""
    return {
        "charts": [
            {
                "name": one.chart.name,
                "version": one.version,
                "repository": one.chart.repository,
                "namespace": one.namespace,
            }
            for one in found.charts
        ],
        "images": plain_data(found.images),
        "notKnown": plain_data(found.not_known),
    }
