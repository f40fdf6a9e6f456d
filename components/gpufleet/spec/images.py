"""Access to images and package sources for a site without direct Internet access."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from gpufleet.spec.base import SpecModel
from gpufleet.spec.gpu_operator import ImageRepository

ProxyAddress = Annotated[
    str, StringConstraints(pattern=r"^https?://[^/@\s]+(:[0-9]+)?/?$", max_length=255)
]
"""Address of a proxy without user and password: `http://proxy.example.com:3128`. Credentials do not
belong in a declaration."""


class Proxy(SpecModel):
    """Proxy of driver containers, which fetch kernel headers and packages while they build."""

    http: ProxyAddress | None = None
    """For http. Default: none."""
    https: ProxyAddress | None = None
    """For https. Default: none."""
    exclude: tuple[str, ...] = ()
    """Hosts, domains and networks reached without it: add the cluster's service and pod networks.
    Default: none."""


class ImageProfile(StrEnum):
    """Kind of the vendors' images."""

    STIG_FIPS = "stigFips"
    """Hardened ones, for sites under FIPS 140 and DISA STIG: node images in FIPS mode, and NVIDIA's
    government-ready driver containers. Parts without such an image are refused."""


class Images(SpecModel):
    """Source and kind of images."""

    registry: ImageRepository | None = None
    """Registry, and path in it, that mirrors the images of all charts with their paths kept:
    `registry.example.com/mirror` serves `nvcr.io/nvidia/driver` as
    `registry.example.com/mirror/nvidia/driver`. `gpufleet mirror` lists them. Default: the vendors'
    own."""
    profile: ImageProfile | None = None
    """`stigFips`: hardened images, see docs/mirror.md. Default: the vendors' standard images."""
    proxy: Proxy = Field(default_factory=Proxy)
    """Default: none."""
