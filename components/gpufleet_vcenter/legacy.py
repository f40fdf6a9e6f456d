"""The resources of machines that there were before the group: states have them until the next
update. The group takes their machines over, and they are records of something that it has."""

from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, DiffResult

from gpufleet_vcenter.errors import Code, VsphereError
from gpufleet_vcenter.faults import in_words
from gpufleet_vcenter.identity import LIFE
from gpufleet_vcenter.machine import drop
from gpufleet_vcenter.opened import VsphereProvider, logged_in, read_settings
from gpufleet_vcenter.owned import work_on
from gpufleet_vcenter.settings import normalised


class FormerResourceProvider(VsphereProvider):
    """A record of something that the group has now."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """No program registers it any more."""
        return CheckResult(news, [])

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Nothing differs."""
        return DiffResult(changes=False)

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Refuse: no program of this version makes one."""
        del props
        raise VsphereError(
            Code.UNSUPPORTED,
            "this version has no resource for a single machine",
            "declare a VsphereGpuNodeGroup",
        )


class FormerBatchProvider(FormerResourceProvider):
    """`MachineBatch`: what it made, and no machine's resource took over, goes with the id."""

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Forget the record."""


class FormerMachineProvider(FormerResourceProvider):
    """`Machine`: where the state has an id of the stack, the machine is the id's to remove."""

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Remove a machine that was made before there were ids, unless a group has taken it over.

        One with an id stays: an update has its group, which keeps or removes it, and a destroy
        removes the resource of the id next, with every machine that carries it.
        """
        given = normalised(_props)
        if given.get("life"):
            return
        settings = read_settings(given)
        work = work_on(logged_in(settings.endpoint), settings, _id)
        with in_words(f"looking for {settings.name}"):
            live = work.find(str(given.get("moRef") or ""))
        if live is None or LIFE not in live.extra_config:
            drop(_id, given)
