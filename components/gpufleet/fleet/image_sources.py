"""Images from a mirror, and proxies, as values of the charts of NVIDIA's operators."""

from collections.abc import Mapping

from gpufleet.fleet.chart_values import Values, nested
from gpufleet.spec.gpu_operator import GpuOperatorSettings
from gpufleet.spec.images import Images, Proxy


def mirrored(repository: str, images: Images) -> str:
    """A repository in the mirror, its path kept; the repository itself without a mirror."""
    if images.registry is None:
        return repository
    return f"{images.registry}/{repository.partition('/')[2]}"


def mirrored_images(
    repositories: Mapping[str, str], images: Images, settings: GpuOperatorSettings | None = None
) -> Values:
    """Values that take every image from the mirror; none without one.

    A driver image that was declared by its repository stays where it is.
    """
    if images.registry is None:
        return {}
    named = settings is not None and settings.driver.repository is not None
    return nested(
        (f"{section}.repository", mirrored(repository, images))
        for section, repository in repositories.items()
        if not (named and section == "driver")
    )


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
