# pyright: standard
"""The provider of a group of machines: it lists the machines that carry the id of the group, and
makes the declared set from them. That of the id, which is in the state before any machine is made,
and ends all machines that carry it."""

import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    UpdateResult,
)

from gpufleet.components_base.resource_plugin import DetailedDiff, NotReadyError, warn
from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy
from gpufleet_vcenter.drs import remove_rule
from gpufleet_vcenter.errors import VsphereError, failed
from gpufleet_vcenter.group_plan import (
    GroupInputs,
    Machine,
    StepKind,
    formerly,
    refusals_of,
    settled,
    state_of,
    steps_of,
)
from gpufleet_vcenter.group_run import GroupRun, change, look
from gpufleet_vcenter.identity import UNKNOWN_LIFE, stack_of
from gpufleet_vcenter.lookup import FoundPlace, datacenter_of, references
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.opened import VsphereProvider, declared
from gpufleet_vcenter.owned import clones_in_flight
from gpufleet_vcenter.properties import Objects, has_unknown, names_of
from gpufleet_vcenter.remove import await_clones_of, machines_of
from gpufleet_vcenter.settings import Place, normalised, problems
from gpufleet_vcenter.tasks import in_words

_READ_AT_ONCE = 16


class VsphereGpuNodeGroupProvider(VsphereProvider):
    """Make, read, change and remove the machines of a group."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """Validate the inputs, and show the planned changes, unless a setting prevents calls to
        vCenter.

        The returned inputs have the generations of machines that stay, vCenter's references of the
        named objects (`objects`), and the planned steps (`plan`).
        """
        given, before = GroupInputs.of(normalised(news)), state_of(normalised(_olds))
        if given is None:
            return CheckResult(news, [])
        failures = [
            CheckFailure(f"nodes.{key}.{path}", reason)
            for key, node in given.nodes.items()
            for path, reason in problems(declared(node))
            if not has_unknown(node.get(path.partition(".")[0]))
        ]
        if failures:
            return CheckResult(news, failures)
        try:
            objects, rows, run = _looked_at(given, before, normalised(_olds))
        except VsphereError as failure:
            steps = steps_of(before, given.nodes, None, given.objects)
            if not all(step.is_setting for step in steps):
                return CheckResult(news, [CheckFailure("", str(failure))])
            warn(f"the machines of {given.group} were not looked at: {failure}")
            objects, rows, run = normalised(_olds).get("objects") or {}, None, None
        nodes = settled(before, given.nodes, objects)
        steps = steps_of(before, nodes, rows, objects)
        reasons = refusals_of(steps, given.excluded)
        plan = {step.name: step.text for step in steps if not step.is_setting}
        if run is not None:
            reasons = reasons or run.reasons(steps)
            plan |= _in_flight(run, given)
        same = {
            key: {**news["nodes"][key], "generation": node.get("generation")}
            for key, node in nodes.items()
        }
        checked = {
            **news,
            "nodes": news["nodes"] if same == news["nodes"] else same,
            **({"objects": objects} if objects else {}),
            **({"plan": plan} if plan else {}),
        }
        return CheckResult(checked, [CheckFailure("", reason) for reason in reasons])

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Machines that are added, removed or replaced."""
        olds, given = normalised(_olds), GroupInputs.of(normalised(_news))
        if given is None:
            return DetailedDiff(["nodes"])
        before = state_of(olds)
        nodes = settled(before, given.nodes, given.objects)
        changed: list[str] = []
        added: list[str] = []
        removed: list[str] = []
        steps = steps_of(before, nodes, None, given.objects)
        for step in steps:
            path = f"nodes.{step.key}"
            if step.kind is StepKind.REMOVE:
                removed.append(path)
            elif not step.old:
                added.append(path)
            else:
                changed += [f"{path}.{change.path}" for change in step.changes]
        named = {step.name for step in steps}
        added += [f"plan.{name}" for name in given.plan if name not in named]
        if len(_with_uuid(before)) < len(before):
            changed.append("nodes")  # of the former resources
        return DetailedDiff(changed, added=added, removed=removed)

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Make all machines that are not there."""
        given = _known(props)
        made = CreateResult(given.group, _reconciled(given, {}, given.group))
        _MADE.add(given.group)
        return made

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """Current machines; a machine that no longer exists is left out."""
        outs = normalised(props)
        before = state_of(outs)
        if not before or len(_with_uuid(before)) < len(before):
            return ReadResult(id_, dict(props))
        with ThreadPoolExecutor(_READ_AT_ONCE) as pool:
            seen = pool.map(lambda node: look(str(node["instanceUuid"]), node), before.values())
            machines = {key: found for key, found in zip(before, seen, strict=True) if found}
        return ReadResult(id_, {**outs, **_outs(machines)})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Change the existing machines into the declared set.

        Raises:
            VsphereError: it is not possible, or would stop running machines without the permission;
                then nothing was changed.
            NotReadyError: a machine is not as declared; the state has the others.
        """
        return UpdateResult(_reconciled(_known(_news), state_of(normalised(_olds)), _id))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Remove every machine of the group, also machines that a killed run made."""
        outs = normalised(_props)
        before = state_of(outs)
        if not before:
            return  # the resource of the id removes machines with the id
        some, group = next(iter(before.values())), str(outs["group"])
        _refuse_rename(group, before)
        width = int(outs.get("rolloutWidth") or outs["width"])
        run = GroupRun(group, some, width, width, machines=_with_uuid(before))
        run.sweep(str(some.get("life") or ""), str(outs.get("names") or ""))


_MADE: set[str] = set()
"""Groups that this process made: an update makes some, and a destroy none."""


def _refuse_rename(group: str, before: Mapping[str, Machine]) -> None:
    """Refuse to remove a group that another group replaces in the same update, as with a renamed
    pool, unless this is permitted.

    Raises:
        VsphereError: its machines run, and the pool had no `updatePolicy: replace`.
    """
    word = VsphereUpdatePolicy.REPLACE.value
    running = [node for node in before.values() if node.get("powerState") == "poweredOn"]
    names = [str(node["name"]) for node in running if node.get("updatePolicy") != word]
    others = _MADE - {group}
    if names and any(stack_of(other) == stack_of(group) for other in others):
        raise failed("replacement-impossible/renamed", group=group, names=names, word=word)


def _with_uuid(before: Mapping[str, Machine]) -> dict[str, Machine]:
    """Machines whose uuid is in the state: not machines of the former resources."""
    return {key: node for key, node in before.items() if node.get("instanceUuid")}


def _outs(machines: Mapping[str, Machine]) -> dict[str, Any]:
    """Outputs of the machines for the state, and the ids that other resources read."""
    ids = ("instanceUuid", "providerId")
    return {
        "nodes": dict(machines),
        "ids": {key: {name: node[name] for name in ids} for key, node in machines.items()},
    }


def _had(machines: Mapping[str, Machine], name: str) -> Any:
    return next(iter(machines.values()), {}).get(name)


def _run(given: GroupInputs, before: Mapping[str, Machine]) -> GroupRun:
    some = next(iter((*given.nodes.values(), *before.values())))
    widths = given.creation_width, given.rollout_width
    return GroupRun(given.group, some, *widths, given.after, _with_uuid(before))


def _known(props: dict[str, Any]) -> GroupInputs:
    given = GroupInputs.of(normalised(props))
    assert given is not None, "everything is known in an update"
    return given


def _looked_at(
    given: GroupInputs, before: Mapping[str, Machine], olds: Mapping[str, Any]
) -> tuple[Objects, tuple[Observed, ...] | None, GroupRun | None]:
    """References of names, and the machines of the group; empty if vCenter is not called."""
    known: Objects = {**(olds.get("objects") or {}), **given.objects}
    if given.asks_later() or not (given.nodes or before):
        return known, None, None
    run = _run(given, before)
    with in_words(f"looking at the machines of {given.group}"):
        return _objects(run, given, before, known), _rows(run, given, before), run


def _objects(
    run: GroupRun, given: GroupInputs, before: Mapping[str, Machine], known: Objects
) -> Objects:
    """References of the names in both declarations; known references stay."""
    names: dict[str, tuple[str, str]] = {}
    for node in (*given.nodes.values(), *before.values()):
        names |= names_of(node)
    lacking = {key: name for key, name in names.items() if key not in known}
    found = {key: reference for key, reference in known.items() if key in names}
    if lacking:
        found |= references(run.session, str(run.common["place"]["datacenter"]), lacking)
    return found


def _rows(
    run: GroupRun, given: GroupInputs, before: Mapping[str, Machine]
) -> tuple[Observed, ...] | None:
    """The machines of the group; machines without an id only if the state has them without one."""
    if given.life == UNKNOWN_LIFE and not before:
        return None  # the id is yet to be made: no machine carries it
    places = {
        str(node["place"]["datacenter"]) for node in (*given.nodes.values(), *before.values())
    }
    centers = (datacenter_of(run.session, name) for name in sorted(places))
    former = {key for key, node in before.items() if not node.get("life")}
    rows: list[Observed] = []
    for center in {center._moId: center for center in centers}.values():
        rows += machines_of(run.session, center, given.group, given.life)
        if former:
            listed = machines_of(run.session, center, given.group, "")
            rows += [row for row in listed if not row.life and row.key in former]
    return tuple(rows)


def _in_flight(run: GroupRun, given: GroupInputs) -> dict[str, str]:
    """Clones that an interrupted update has begun, of which the state has nothing yet."""
    names = clones_in_flight(run.session) if given.names else ()
    ours = (name for name in names if name.startswith(given.names))
    return dict.fromkeys(ours, "complete: its clone is in flight")


def _reconciled(given: GroupInputs, before: Mapping[str, Machine], id_: str) -> dict[str, Any]:
    """The outputs, after the machines are as declared."""
    nodes = settled(before, given.nodes, given.objects)
    steps = steps_of(before, nodes, None, given.objects)
    known = bool(before) and len(_with_uuid(before)) == len(before)
    apart = _had(before, "separateHosts") == _had(nodes, "separateHosts")
    if not given.plan and known and apart and all(step.is_setting for step in steps):
        changed = {s.key: change(s.uuid, s.old, s.new, s.changes) for s in steps}
        return {**given.kept(), **_outs({**before, **changed})}
    if not (nodes or before):
        return {**given.kept(), **_outs({})}
    run = _run(given, before)
    with in_words(f"looking at the machines of {given.group}"):
        if _in_flight(run, given):
            await_clones_of(run.session, run.common, given.group, given.names)
        objects = _objects(run, given, before, given.objects)
        rows = _rows(run, given, before)
    nodes = settled(before, given.nodes, objects)
    steps = steps_of(before, nodes, rows, objects)
    steps += formerly(before, nodes, rows or (), steps)
    run.validate(steps, given.excluded)
    run.carry_out(steps)
    try:
        run.separate(nodes, _had(before, "separateHosts"))
    except VsphereError as failure:
        run.failures[given.group] = str(failure)
    there = {key: run.machines[key] for key in (*nodes, *before) if key in run.machines}
    outs = {**given.kept(), **_outs(there)}
    if run.failures:
        texts = (text for _, text in sorted(run.failures.items()))
        raise NotReadyError("; ".join(texts), id_, outs)
    return outs


_REACHED_BY = ("endpoint", "kubernetes", "timeouts", "deletePolicy", "separateHosts")
_KEPT = ("group", "common", "width", "names")


class VsphereGpuNodeOwnerProvider(VsphereProvider):
    """Id of a group of machines. It is made before any machine, so that a killed run leaves no
    machine that the next run, or a destroy, cannot find."""

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
        """Remove the remaining machines, which a killed run made and no state has."""
        old = normalised(_props)
        width, group, common = int(old["width"]), str(old["group"]), old["common"]
        run = GroupRun(group, common, width, width)
        run.sweep(_id, str(old.get("names") or ""))
        if common.get("separateHosts"):
            with in_words(f"removing the DRS rule of {group}"):
                place = FoundPlace(run.session, Place.model_validate(common["place"]))
                remove_rule(run.session, place.compute, group, _id)


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
