"""Files that `gpufleet render` writes for one platform only.

A platform's folder has one instance, `FILES` in its module `artefacts`.
"""

from collections.abc import Iterable

from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.render.artefact import Artefact
from gpufleet.render.fleet_release import FleetRelease


class PlatformFiles:
    """One platform. Subclasses hold no state, and state differences only."""

    def cluster_files(self, fleet: Fleet) -> Iterable[Artefact]:
        """Files that exist once per cluster."""
        return ()

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterable[Artefact]:
        """Files that describe nodes that do not exist yet to an autoscaler or the platform."""
        return ()

    def releases(self, fleet: Fleet) -> Iterable[FleetRelease]:
        """Charts of this platform only that the fleet needs."""
        return ()

    def validate_files(self, fleet: Fleet) -> Iterable[Finding]:
        """Findings about a valid declaration that the targets cannot express."""
        return ()


def platform_files(platform: PlatformValue) -> PlatformFiles:
    """The files that `gpufleet render` writes on the platform only. Pure."""
    return platform.module("artefacts").FILES if platform.has("artefacts") else PlatformFiles()
