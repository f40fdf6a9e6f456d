"""Inputs of components: what restates `gpufleet.spec.images`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import ImageProfileWord


class ProxyArgs(TypedDict):
    """Proxy of driver containers, which fetch kernel headers and packages while they build."""

    http: NotRequired[str]
    """For http. Default: none."""
    https: NotRequired[str]
    """For https. Default: none."""
    exclude: NotRequired[list[str]]
    """Hosts, domains and networks reached without it: add the cluster's service and pod networks.
    Default: none."""


class ImagesArgs(TypedDict):
    """Source and kind of images."""

    registry: NotRequired[str]
    """Registry, and path in it, that mirrors the images of all charts with their paths kept:
    `registry.example.com/mirror` serves `nvcr.io/nvidia/driver` as
    `registry.example.com/mirror/nvidia/driver`. `gpufleet mirror` lists them. Default: the
    vendors' own."""
    profile: NotRequired[ImageProfileWord]
    """Only `stigFips`. `stigFips`: hardened images, see docs/mirror.md. Default: the vendors'
    standard images."""
    proxy: NotRequired[ProxyArgs]
    """Default: none."""
