"""The resources of single machines and of their batch that there were before the group: states have
them until the next update."""

from typing import Any

from pulumi.dynamic import CreateResult

from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.opened import VsphereProvider


class FormerResourceProvider(VsphereProvider):
    """A record of what the group has now: nothing differs, and its removal forgets it.

    Its machine carries the id of the group: an update has that group, which keeps or removes it,
    and a destroy removes the resource of the id next, with every machine that carries it.
    """

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Refuse: no program of this version makes one."""
        del props
        raise failed("unsupported/single-machine")
