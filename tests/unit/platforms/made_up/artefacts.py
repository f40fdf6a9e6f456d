"""Files of the platform."""

from collections.abc import Iterator

from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.platform_files import PlatformFiles


class RackFiles(PlatformFiles):
    """A work order for each pool."""

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterator[Artefact]:
        yield Artefact(
            f"racks/{pool.name}.yaml",
            ArtefactKind.ARGUMENTS,
            "machines to build in",
            yaml_text({"machines": pool.nodes.maximum, "labels": dict(pool.labels)}),
        )


FILES = RackFiles()
