"""Images from a mirror as values of charts, and proxies as environment of drivers."""

from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue import load
from gpufleet.catalogue.software import Chart
from gpufleet.fleet.chart_values import Values, merged, nested
from gpufleet.fleet.model import Fleet
from gpufleet.spec.images import Images, Proxy


def mirrored(repository: str, images: Images) -> str:
    """A repository in the mirror, its path kept; the repository itself without a mirror."""
    if images.registry is None:
        return repository
    return f"{images.registry}/{repository.partition('/')[2]}"


def image_values(chart: Chart, images: Images) -> Values:
    """Values with which a chart gets every image from the mirror; empty without a mirror.

    They are merged first: a declared repository has precedence.
    """
    if images.registry is None:
        return {}
    return nested(
        (image.key, mirrored(image.default, images).rstrip("/"))
        for image in chart.images or ()
        if image.default
    )


def pinned_chart(fleet: Fleet, chart: str) -> Chart:
    """The pin of a chart in the edition of a fleet."""
    return load(fleet.spec.catalogue, overlay=fleet.spec.catalogue_overlay).chart(chart)


def with_images(fleet: Fleet, chart: str, values: Mapping[str, Any]) -> Values:
    """Values of a fleet's release, with its images from the declared mirror."""
    return merged(image_values(pinned_chart(fleet, chart), fleet.spec.addons.images), values)


def proxy_environment(proxy: Proxy) -> dict[str, str]:
    """Variables in both spellings, as package managers and curl each read their own (NVIDIA
    cloud-native-docs `gpu-operator/install-gpu-operator-proxy.rst`)."""
    named = {
        "HTTP_PROXY": proxy.http,
        "HTTPS_PROXY": proxy.https,
        "NO_PROXY": ",".join(proxy.exclude) or None,
    }
    return {
        spelling: value
        for name, value in named.items()
        if value is not None
        for spelling in (name, name.lower())
    }
