"""Files of the platform: the rule, and the commands for users with rights on nodes."""

from collections.abc import Iterable

from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.existing.labels import commands, node_feature_rule
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.platform_files import PlatformFiles

_file = files_in(__file__)


class ExistingFiles(PlatformFiles):
    """Nodes are not created, so files describe how they get the labels of their pool."""

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterable[Artefact]:
        rule = node_feature_rule(fleet, pool)
        yield from _file("manifests/nodes/{pool}.yaml", rule, pool=pool.name)
        yield from _file("nodes/{pool}.sh", commands(pool), pool=pool.name)


FILES = ExistingFiles()
