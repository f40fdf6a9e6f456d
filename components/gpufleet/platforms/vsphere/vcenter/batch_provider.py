# pyright: standard
"""The dynamic provider of a batch: the engine's calls become `batch` and `batch_preflight`.

Like the machine's own provider it is found by name, has no attributes and keeps no secret.
"""

import os
from collections.abc import Mapping
from typing import Any

from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)

from gpufleet.platforms.vsphere.vcenter.batch import Member, clear, make
from gpufleet.platforms.vsphere.vcenter.before_clone import validate_new
from gpufleet.platforms.vsphere.vcenter.changes import UNKNOWN, has_unknown
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.inventory import per_gpu
from gpufleet.platforms.vsphere.vcenter.opened import StackSettings, logged_in, read_settings
from gpufleet.platforms.vsphere.vcenter.outputs import SECRETS
from gpufleet.platforms.vsphere.vcenter.settings import normalised

_UNKNOWN_GENERATION = "0" * 12
_REACHED_BY = ("endpoint", "place", "kubernetes", "timeouts", "deletePolicy")
"""Parts of what the machines have in common whose change matters to a batch: how they are found and
removed. What a machine is, is its own resource's to change."""


class VsphereGpuNodeBatchProvider(ResourceProvider):
    """Make the machines that are new to a group, many at a time."""

    serialize_as_secret_always = False  # the serialised class is a name, and holds no secret

    def configure(self, req: ConfigureRequest) -> None:
        """Keep the way to the stack's settings, of which nothing is read yet."""
        StackSettings.read = req.config.get

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """Ask vCenter whether the new machines can be created, unless a setting prevents it."""
        given, before = normalised(news), _owners(normalised(_olds))
        if _asks_later(given):
            return CheckResult(news, [])
        new = [item for item in _inputs(given, known=False) if item["owner"] not in before]
        if not new or any(has_unknown(item) for item in new):
            return CheckResult(news, [])
        wanted = [read_settings(item) for item in new]
        leaving = before - _owners(given)
        try:
            session = logged_in(wanted[0].endpoint)
        except VsphereError as failure:
            return CheckResult(news, [CheckFailure("nodes", str(failure))])
        reasons = validate_new(session, wanted, frozenset(leaving), per_gpu)
        return CheckResult(news, [CheckFailure("nodes", reason) for reason in reasons])

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Whether machines came, went, or are to be reached in another way."""
        return DiffResult(changes=_decides(normalised(_olds)) != _decides(normalised(_news)))

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Make all machines that are not there."""
        given = normalised(props)
        members = _members(given)
        _make(given, members)
        return CreateResult(str(given["group"]), _kept(given))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Create the new machines. Remove machines that are no longer declared and that no
        resource has taken over."""
        given, old = normalised(_news), normalised(_olds)
        before, now = _owners(old), _owners(given)
        gone = [member for member in _members(old) if member.settings.owner not in now]
        _clear(old, gone)
        _make(given, [item for item in _members(given) if item.settings.owner not in before])
        return UpdateResult(_kept(given))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """A batch is nothing in vCenter: its machines are read by their own resources."""
        return ReadResult(id_, dict(props))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Remove the machines that no resource ever took over."""
        old = normalised(_props)
        _clear(old, _members(old))


def _make(given: Mapping[str, Any], members: list[Member]) -> None:
    """Failures are not reported here: the machine's own resource tries again and reports them."""
    if members:
        make(logged_in(members[0].settings.endpoint), members, int(given["width"]), per_gpu)


def _clear(old: Mapping[str, Any], members: list[Member]) -> None:
    if not members:
        return
    failures = clear(logged_in(members[0].settings.endpoint), members, int(old["width"]))
    if failures:
        listed = "; ".join(f"{name}: {text}" for name, text in sorted(failures.items()))
        raise VsphereError(
            Code.FAULT,
            f"machines that nothing declares could not be removed: {listed}",
            "run again",
        )


def _inputs(given: Mapping[str, Any], *, known: bool = True) -> list[dict[str, Any]]:
    """Inputs of each machine: what they have in common, and what is its own.

    Args:
        given: Inputs or outputs of the batch.
        known: Whether nothing can be unknown any more. In a preview, first-boot data may be, and
            with it the generation: neither decides where a machine can go.
    """
    common = dict(given.get("common") or {})
    found: list[dict[str, Any]] = []
    for node in given.get("nodes") or []:
        item = {**common, **node}
        if not known:
            for name in SECRETS:
                item.pop(name, None)
            if item.get("generation") == UNKNOWN:
                item["generation"] = _UNKNOWN_GENERATION
        found.append(item)
    return found


def _members(given: Mapping[str, Any]) -> list[Member]:
    return [Member(read_settings(item)) for item in _inputs(given)]


def _owners(given: Mapping[str, Any]) -> set[str]:
    return {str(node["owner"]) for node in given.get("nodes") or [] if isinstance(node, Mapping)}


def _kept(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the state keeps: enough to find and remove a machine, nothing secret."""
    nodes = [
        {key: value for key, value in node.items() if key not in SECRETS}
        for node in given.get("nodes") or []
    ]
    return {**{key: given.get(key) for key in ("group", "width", "common")}, "nodes": nodes}


def _decides(given: Mapping[str, Any]) -> Any:
    common = given.get("common")
    if not isinstance(common, Mapping):
        return UNKNOWN
    return _kept(given)["nodes"], {key: common.get(key) for key in _REACHED_BY}


def _asks_later(given: Mapping[str, Any]) -> bool:
    """Whether nothing is asked in a preview: it is switched off, something is not known yet, or no
    credentials are there, as in a preview that is only to show what would be done."""
    if given.get("preflight") == "create":
        return True
    common = given.get("common")
    nodes = given.get("nodes")
    if not isinstance(common, Mapping) or not isinstance(nodes, list) or has_unknown(common):
        return True
    key = str((common.get("endpoint") or {}).get("credentialsKey") or "vsphere")
    names = (f"{key.upper()}_USER", f"{key.upper()}_PASSWORD")
    settings = (f"{key}:user", f"{key}:password")
    read = StackSettings.read or (lambda _: None)
    return not all(
        os.environ.get(name) or read(other) for name, other in zip(names, settings, strict=True)
    )
