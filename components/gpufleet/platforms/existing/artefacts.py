"""Files of the platform: the rule, and the commands of those who may write nodes."""

from collections.abc import Iterable

from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.existing.labels import commands, node_feature_rule
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.platform_files import PlatformFiles


class ExistingFiles(PlatformFiles):
    """Nodes are not made, so files say how they get the labels of their pool."""

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterable[Artefact]:
        if (rule := node_feature_rule(fleet, pool)) is not None:
            path, what = f"manifests/nodes/{pool.name}.yaml", "by Node Feature Discovery"
            what = f"labels of the nodes of {pool.name}, {what}"
            yield Artefact(path, ArtefactKind.MANIFEST, what, yaml_text(rule))
        what = f"labels and taints of the nodes of {pool.name}, as commands"
        yield Artefact(f"nodes/{pool.name}.sh", ArtefactKind.ARGUMENTS, what, commands(pool))


FILES = ExistingFiles()
