# pyright: standard
"""The provider of the id of a group: it is in the state before any machine is made, and it ends all
machines that carry it. And that of the resources that there were before the group."""

import uuid
from collections.abc import Mapping
from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, UpdateResult

from gpufleet.components_base.resource_plugin import DetailedDiff
from gpufleet_vcenter.drs import remove_rule
from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.group_run import GroupRun
from gpufleet_vcenter.lookup import compute_of
from gpufleet_vcenter.opened import VsphereProvider, logged_in
from gpufleet_vcenter.settings import Endpoint, Place, normalised
from gpufleet_vcenter.tasks import in_words

_REACHED_BY = ("endpoint", "kubernetes", "timeouts", "deletePolicy", "separateHosts")
_KEPT = ("group", "common", "width", "names")


class VsphereGpuNodeOwnerProvider(VsphereProvider):
    """Give a group of machines its id. It is made before any machine, so that a run that is killed
    leaves no machine that the next run, or a destroy, does not know."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """The group's own resource validates these inputs."""
        return CheckResult(news, [])

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Whether the machines are to be found or removed in another way."""
        old, new = _decides(normalised(_olds)), _decides(normalised(_news))
        return DetailedDiff([key for key in old if old[key] != new[key]])

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Make the id; vCenter is not called."""
        life = uuid.uuid4().hex[:12]
        return CreateResult(life, {**_kept(normalised(props)), "life": life})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Keep the inputs; the id stays."""
        return UpdateResult({**_kept(normalised(_news)), "life": _id})

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Remove what machines are left: those that a killed run made and no state has."""
        old = normalised(_props)
        endpoint = Endpoint.model_validate(old["common"]["endpoint"])
        width, group, common = int(old["width"]), str(old["group"]), old["common"]
        session = logged_in(endpoint)
        run = GroupRun(session, group, width, width, {}, common, {})
        run.sweep(_id, str(old.get("names") or ""))
        if common.get("separateHosts"):
            with in_words(f"removing the DRS rule of {group}"):
                place = Place.model_validate(common["place"])
                remove_rule(session, compute_of(session, place), group, _id)


def _decides(given: Mapping[str, Any]) -> dict[str, Any]:
    common: Any = given.get("common")
    if isinstance(common, Mapping):
        place = common.get("place")
        datacenter = place.get("datacenter") if isinstance(place, Mapping) else place
        common = [datacenter, *(common.get(key) for key in _REACHED_BY)]
    # A state of an earlier version has no names; they follow from the group.
    return {**_kept(given), "common": common, "names": None}


def _kept(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: given.get(key) for key in _KEPT}


class FormerResourceProvider(VsphereProvider):
    """A record of what the group has now, in states of earlier versions until the next update:
    nothing differs, and its removal forgets it.

    Its machine carries the id of the group: an update has that group, which keeps or removes it,
    and a destroy removes the resource of the id next, with every machine that carries it.
    """

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Refuse: no program of this version makes one."""
        del props
        raise failed("unsupported/single-machine")
