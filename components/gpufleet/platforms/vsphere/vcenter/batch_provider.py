# pyright: standard
"""Many machines at once, and replacements that are ready before what they replace goes.

A batch makes the machines that are new to a group, each as its own resource would, and leaves them
marked as incomplete. The resources then find theirs, complete them, and remove the mark. A machine
that the batch cannot make is left to its resource, which tries again and says why not: so one that
fails stops no other. The provider keeps no secret.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    UpdateResult,
)

from gpufleet.components_base.resource_plugin import CANCELLED, DetailedDiff
from gpufleet.platforms.vsphere.vcenter.changes import (
    UNKNOWN,
    MachineChangeKind,
    changes,
    has_unknown,
    is_same_machine,
    replaces,
)
from gpufleet.platforms.vsphere.vcenter.create import clone, create, rooms_of
from gpufleet.platforms.vsphere.vcenter.credentials import credentials
from gpufleet.platforms.vsphere.vcenter.drs import keep_apart
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError, interrupted
from gpufleet.platforms.vsphere.vcenter.faults import in_words
from gpufleet.platforms.vsphere.vcenter.identity import GENERATION, OWNER, PENDING, UNKNOWN_LIFE
from gpufleet.platforms.vsphere.vcenter.inventory import read_host
from gpufleet.platforms.vsphere.vcenter.opened import (
    VsphereProvider,
    logged_in,
    read_settings,
    setting,
)
from gpufleet.platforms.vsphere.vcenter.outputs import SECRETS, digest_name, inputs_kept
from gpufleet.platforms.vsphere.vcenter.owned import MachineWork, work_on
from gpufleet.platforms.vsphere.vcenter.placement import slots_of
from gpufleet.platforms.vsphere.vcenter.preflight import check_before, validate_new, wish_for
from gpufleet.platforms.vsphere.vcenter.remove import each, sweep
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings, normalised
from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy

NEXT = "-next"
"""End of the name of a replacement while the machine that it replaces is there."""

_UNKNOWN_GENERATION = "0" * 12
_DIGESTS = (*map(digest_name, SECRETS), "bootSha256")
_REACHED_BY = ("endpoint", "place", "kubernetes", "timeouts", "deletePolicy", "separateHosts")
"""Parts of what the machines have in common whose change matters to a batch: how they are found and
removed. What a machine is, is its own resource's to change."""
Inputs = Mapping[str, Any]


class VsphereGpuNodeBatchProvider(VsphereProvider):
    """Make the machines that are new to a group, many at a time, and prepare replacements."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """Ask vCenter whether new machines and replacements are possible, unless a setting
        prevents it."""
        given, old = normalised(news), normalised(_olds)
        checked = _with_generations(news, given, old)
        given = normalised(checked)
        if _asks_later(given):
            return CheckResult(checked, [])
        new, again = map(_read, _wanted(given, old))
        if not new and not again:
            return CheckResult(checked, [])
        try:
            session = logged_in((new or again)[0].endpoint)
        except VsphereError as failure:
            return CheckResult(checked, [CheckFailure("", str(failure))])
        reasons = _reasons(session, given, old, new, again)
        return CheckResult(checked, [CheckFailure("", reason) for reason in reasons])

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Whether machines came, went, are to be other ones, or are reached in another way."""
        old, new = normalised(_olds), normalised(_news)
        changed = _decides(old) != _decides(new) or bool(_wanted(new, old)[1])
        return DetailedDiff(["nodes"] if changed else [])

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Make all machines that are not there."""
        given = normalised(props)
        _make(given, _read(_inputs(given)))
        _separate(given, {})
        return CreateResult(str(given["group"]), _kept(given))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Prepare replacements, make the new machines, and remove incomplete ones that are no
        longer declared.

        Raises:
            VsphereError: a replacement is not possible; then nothing was changed.
        """
        given, old = normalised(_news), normalised(_olds)
        new, again = map(_read, _wanted(given, old))
        _prepare(given, old, again)
        declared, before = _machines(given), _machines(old)
        if declared != before:
            _sweep(given, lambda extra: (extra[OWNER], extra.get(GENERATION)) not in declared)
        _make(given, new)
        _separate(given, old)
        return UpdateResult(_kept(given))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Remove the machines that no resource ever took over."""
        _sweep(normalised(_props), lambda _: True)


def _wanted(given: Inputs, old: Inputs) -> tuple[list[Inputs], list[Inputs]]:
    """Machines that are new to the group, and those that are replaced or changed while off."""
    before = {item["owner"]: item for item in _inputs(old)}
    new: list[Inputs] = []
    again: list[Inputs] = []
    for item in _inputs(given, known=False):
        if has_unknown(item):
            continue
        if item["owner"] not in before:
            new.append(item)
        elif _needs_place(_comparable(before[item["owner"]], item), inputs_kept(item)):
            again.append(item)
    return new, again


def _read(items: list[Inputs]) -> list[NodeSettings]:
    return [read_settings(item) for item in items]


def _needs_place(old: Inputs, new: Inputs) -> bool:
    found = changes(old, new)
    policy = str(new.get("updatePolicy", VsphereUpdatePolicy.REFUSE.value))
    off = any(change.kind is MachineChangeKind.POWERED_OFF for change in found)
    restarts = off and policy == VsphereUpdatePolicy.RESTART.value
    return restarts or bool(replaces(found, policy))


def _comparable(old: Inputs, new: Inputs) -> dict[str, Any]:
    """What was declared of a machine. A state without digests of its first-boot data has them in
    the generation: where that stays, the data does."""
    kept = inputs_kept(old)
    if old.get("generation") == new.get("generation"):
        kept = {**{k: v for k, v in inputs_kept(new).items() if k in _DIGESTS}, **kept}
    return kept


def _with_generations(news: dict[str, Any], given: Inputs, old: Inputs) -> dict[str, Any]:
    """The inputs; machines that stay the same keep their generation."""
    before = {item["owner"]: item for item in _inputs(old)}
    same: dict[str, str] = {}
    for item in _inputs(given):
        was = before.get(item["owner"])
        if was is not None and is_same_machine(_comparable(was, item), inputs_kept(item)):
            same[item["owner"]] = was["generation"]
    if not same:
        return news
    nodes = [
        {**row, "generation": same.get(row["owner"], row["generation"])} for row in news["nodes"]
    ]
    return {**news, "nodes": nodes}


def _reasons(
    session: Session,
    given: Inputs,
    old: Inputs,
    new: list[NodeSettings],
    again: list[NodeSettings],
) -> list[str]:
    leaving = frozenset(_owners(old) - _owners(given))
    owners = frozenset(item.owner for item in again)
    return validate_new(session, [*new, *again], leaving, owners)


def _prepare(given: Inputs, old: Inputs, again: list[NodeSettings]) -> None:
    """Validate the replacements and clone them, while what they replace still runs."""
    if not again:
        return
    session = logged_in(again[0].endpoint)
    failures = _reasons(session, given, old, [], again)
    if not failures:
        works = [work_on(session, item, pending=True) for item in again]
        rows = each(works, int(given["width"]), lambda work: work.settings.name, _clone_replacement)
        failures = [text for _, text in sorted(rows.items())]
    if failures:
        raise VsphereError(
            Code.REPLACEMENT,
            f"{len(again)} machines cannot be changed, and none was: "
            f"{'; '.join(dict.fromkeys(failures))}",
        )


def _clone_replacement(work: MachineWork) -> None:
    """Clone the replacement of a machine that still runs next to the one that it replaces.

    The replacement takes name and GPUs once the old machine has gone: both cannot have them. Where
    the datastore has no room for both, or the replacement goes to another host, nothing is cloned.
    """
    settings, identity = work.settings, work.identity
    with in_words(f"making the replacement of {settings.name}"):
        old = work.named()
        if old is None or old.host is None or old.instance_uuid == identity.instance_uuid:
            return
        marks = old.extra_config
        if marks.get(OWNER) != settings.owner or not identity.is_same_stack(marks):
            return
        if work.find() is not None:
            return
        try:
            reach, _ = check_before(work)
        except VsphereError as failure:
            if failure.code is Code.DATASTORE_FULL:
                return  # validated with the old machine gone
            raise
        host = read_host(work.session, old.host).without(lambda held: held.owner == settings.owner)
        if work.place.pod is None and slots_of(host, wish_for(settings, reach)).free:
            other_name = settings.model_copy(update={"name": f"{settings.name}{NEXT}"})
            clone(replace(work, settings=other_name), old.host, work.place.datastore)


def _make(given: Inputs, wanted: list[NodeSettings]) -> None:
    """Make the machines. Failures are not reported here: the machine's own resource tries again and
    reports them.

    Safe to run again: it goes on with what an earlier run began, and leaves alone what a resource
    has taken over.
    """
    wanted = [item for item in wanted if item.adopt is None]
    if not wanted:
        return
    session = logged_in(wanted[0].endpoint)
    works = [work_on(session, item, pending=True) for item in wanted]
    with in_words(f"looking for the place of {wanted[0].name}"):
        rooms = rooms_of(works[0])

    def make(work: MachineWork) -> None:
        with in_words(f"making {work.settings.name}"):
            live = work.find()
            if live is not None and not live.extra_config.get(PENDING):
                return
            _, _, late = create(work, rooms)
            if late is not None:
                raise late

    each(works, int(given["width"]), lambda work: work.settings.name, make)
    if CANCELLED.is_set():
        raise interrupted(f"making machines of {wanted[0].group}")


def _separate(given: Inputs, old: Inputs) -> None:
    """Write the DRS rule that keeps the machines of the group on different hosts, or remove the one
    that it had."""
    declared = _read(_inputs(given))
    had = (old.get("common") or {}).get("separateHosts")
    if not declared or not (had or declared[0].separate_hosts):
        return
    session = logged_in(declared[0].endpoint)
    works = [work_on(session, item) for item in declared]
    owned = (work.find() for work in works)
    with in_words(f"separating the machines of {declared[0].group}"):
        keep_apart(works[0], [live.reference for live in owned if live is not None])


def _sweep(given: Inputs, goes: Any) -> None:
    """Remove incomplete machines of the group."""
    common, rows = given["common"], _inputs(given)
    if not rows:
        return
    session = logged_in(read_settings(rows[0]).endpoint)
    sweep(
        session,
        {**common, "gpu": rows[0]["gpu"]},
        str(given["group"]),
        str(given.get("life") or ""),
        int(given["width"]),
        lambda extra: bool(extra.get(PENDING)) and goes(extra),
    )


def _inputs(given: Inputs, *, known: bool = True) -> list[Inputs]:
    """Inputs of each machine: what they have in common, and what is its own.

    Args:
        given: Inputs or outputs of the batch.
        known: Whether nothing can be unknown any more. In a preview, first-boot data may be, and
            with it the generation: neither decides where a machine can go.
    """
    common, nodes = given.get("common") or {}, given.get("nodes") or []
    if not isinstance(common, Mapping) or not isinstance(nodes, list):
        return []
    found: list[Inputs] = []
    for node in nodes:
        if not isinstance(node, Mapping):
            continue
        item = {**common, **node, **({"life": given["life"]} if given.get("life") else {})}
        if not known:
            for name in SECRETS:
                if item.get(name) == UNKNOWN:
                    item.pop(name)
            if item.get("generation") == UNKNOWN:
                item["generation"] = _UNKNOWN_GENERATION
            if item.get("life") == UNKNOWN:
                item["life"] = UNKNOWN_LIFE
        found.append(item)
    return found


def _machines(given: Inputs) -> set[tuple[str, str]]:
    """Owner and generation of each machine."""
    return {(str(item["owner"]), str(item.get("generation"))) for item in _inputs(given)}


def _owners(given: Inputs) -> set[str]:
    return {str(item["owner"]) for item in _inputs(given)}


def _kept(given: Inputs) -> dict[str, Any]:
    """What the state keeps: enough to find and remove a machine, nothing secret."""
    nodes = [inputs_kept(node) for node in given.get("nodes") or []]
    return {**{key: given.get(key) for key in ("group", "width", "common", "life")}, "nodes": nodes}


def _decides(given: Inputs) -> Any:
    common, nodes = given.get("common"), given.get("nodes") or []
    if not isinstance(common, Mapping) or not isinstance(nodes, list):
        return UNKNOWN
    without = (*SECRETS, *_DIGESTS)
    rows = [{k: v for k, v in node.items() if k not in without} for node in nodes]
    return rows, {key: common.get(key) for key in _REACHED_BY}


def _asks_later(given: Inputs) -> bool:
    """Whether nothing is asked in a preview: it is switched off, something is not known yet, or no
    credentials are there, as in a preview that is only to show what would be done."""
    if given.get("preflight") == "create":
        return True
    common = given.get("common")
    nodes = given.get("nodes")
    if not isinstance(common, Mapping) or not isinstance(nodes, list) or has_unknown(common):
        return True
    key = str((common.get("endpoint") or {}).get("credentialsKey") or "vsphere")
    try:
        credentials(key, setting)
    except VsphereError:
        return True
    return False
