"""How a site without direct Internet access reaches images and package sources."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from gpufleet.spec.base import SpecModel
from gpufleet.spec.gpu_operator import ImageRepository

ProxyAddress = Annotated[
    str, StringConstraints(pattern=r"^https?://[^/@\s]+(:[0-9]+)?/?$", max_length=255)
]
"""Address of a proxy without user and password: `http://proxy.example.com:3128`. Credentials do not
belong into a declaration."""


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
    """Which of the vendors' images are used."""

    STIG_FIPS = "stigFips"
    """Hardened ones, for sites under FIPS 140 and DISA STIG: node images in FIPS mode, and NVIDIA's
    government-ready driver containers. What has no such image is refused."""


class Images(SpecModel):
    """Where images come from, and which."""

    registry: ImageRepository | None = None
    """Registry, and path in it, that mirrors the images of all charts with their paths kept:
    `registry.example.com/mirror` serves `nvcr.io/nvidia/driver` as
    `registry.example.com/mirror/nvidia/driver`. `gpufleet mirror` lists them. Default: the vendors'
    own."""
    profile: ImageProfile | None = None
    """`stigFips`: hardened images, see docs/mirror.md. Default: the vendors' usual ones."""
    proxy: Proxy = Field(default_factory=Proxy)
    """Default: none."""
