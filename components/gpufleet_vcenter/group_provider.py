# pyright: standard
"""The provider of a group of machines: it lists the machines that carry the id of the group, and
makes the declared set from them."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
from gpufleet_vcenter.errors import VsphereError, failed
from gpufleet_vcenter.group_inputs import GroupInputs, placed, state_of
from gpufleet_vcenter.group_plan import (
    GroupStep,
    Machine,
    StepKind,
    formerly,
    refusals_of,
    settled,
    steps_of,
)
from gpufleet_vcenter.group_run import GroupRun, recorded
from gpufleet_vcenter.identity import UNKNOWN_LIFE, stack_of
from gpufleet_vcenter.lookup import datacenter_of, references
from gpufleet_vcenter.machine import look
from gpufleet_vcenter.opened import VsphereProvider, declared, logged_in
from gpufleet_vcenter.owned import clones_in_flight
from gpufleet_vcenter.properties import Objects, has_unknown, names_of
from gpufleet_vcenter.remove import GroupMachine, await_clones_of, machines_of
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import Endpoint, normalised, problems
from gpufleet_vcenter.tasks import in_words

_READ_AT_ONCE = 16


class VsphereGpuNodeGroupProvider(VsphereProvider):
    """Make, read, change and remove the machines of a group."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """Validate the inputs, and show what vCenter has to become, unless a setting prevents that
        it is asked.

        The inputs come back with the generations of machines that stay, with vCenter's references
        of what they name (`objects`), and with what is to be done (`plan`).
        """
        given, before = GroupInputs.of(normalised(news)), state_of(normalised(_olds))
        if given is None:
            return CheckResult(news, [])
        failures = [
            CheckFailure(path, reason)
            for key, node in given.nodes.items()
            for path, reason in _problems(key, node)
        ]
        if failures:
            return CheckResult(news, failures)
        try:
            objects, rows, session = _looked_at(given, before, normalised(_olds))
        except VsphereError as failure:
            steps = steps_of(before, given.nodes, None, given.objects)
            if not all(step.is_setting for step in steps):
                return CheckResult(news, [CheckFailure("", str(failure))])
            warn(f"the machines of {given.group} were not looked at: {failure}")
            objects, rows, session = normalised(_olds).get("objects") or {}, None, None
        nodes = settled(before, given.nodes, objects)
        steps = steps_of(before, nodes, rows, objects)
        reasons = refusals_of(steps, given.excluded)
        if not reasons and session is not None:
            reasons = _without_place(session, given, steps)
        plan = {step.name: step.text for step in steps if not step.is_setting}
        if session is not None:
            plan |= _in_flight(session, given)
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
        """Which machines come, go, or are to be other ones."""
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
        if not all(node.get("instanceUuid") for node in before.values()):
            changed.append("nodes")  # of the former resources
        return DetailedDiff(changed, added=added, removed=removed)

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Make all machines that are not there."""
        given = _known(props)
        made = CreateResult(given.group, _reconciled(given, {}, given.group))
        _MADE.add(given.group)
        return made

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """What the machines are now; one that is gone is left out."""
        outs = normalised(props)
        before = state_of(outs)
        if not before or not all(node.get("instanceUuid") for node in before.values()):
            return ReadResult(id_, dict(props))
        with ThreadPoolExecutor(_READ_AT_ONCE) as pool:
            seen = pool.map(lambda node: look(str(node["instanceUuid"]), node), before.values())
            machines = {key: found for key, found in zip(before, seen, strict=True) if found}
        return ReadResult(id_, {**outs, **_outs(machines)})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Make the declared set from what is there.

        Raises:
            VsphereError: it is not possible, or would end machines that run without the word for
                it; then nothing was changed.
            NotReadyError: a machine is not what is declared; the state has the others.
        """
        return UpdateResult(_reconciled(_known(_news), state_of(normalised(_olds)), _id))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Remove every machine of the group, also those that a killed run made."""
        outs = normalised(_props)
        before = state_of(outs)
        if not before:
            return  # the resource of the id removes what carries it
        some = next(iter(before.values()))
        _refuse_rename(str(outs["group"]), before)
        session = logged_in(Endpoint.model_validate(some["endpoint"]))
        known = {key: node for key, node in before.items() if _has_uuid(node)}
        width, life = int(outs.get("rolloutWidth") or outs["width"]), str(some.get("life") or "")
        run = GroupRun(session, str(outs["group"]), width, width, {}, some, known)
        run.sweep(life, str(outs.get("names") or ""))


_MADE: set[str] = set()
"""Groups that this process made: an update makes some, and a destroy none."""


def _refuse_rename(group: str, before: Mapping[str, Machine]) -> None:
    """Refuse to end a group whose place another one takes in the same update, which is what another
    name of a pool does, without the word for it.

    Raises:
        VsphereError: its machines run, and the pool had no `updatePolicy: replace`.
    """
    word = VsphereUpdatePolicy.REPLACE.value
    running = [node for node in before.values() if node.get("powerState") == "poweredOn"]
    names = [str(node["name"]) for node in running if node.get("updatePolicy") != word]
    others = _MADE - {group}
    if names and any(stack_of(other) == stack_of(group) for other in others):
        raise failed("replacement-impossible/renamed", group=group, names=names, word=word)


def _has_uuid(node: Machine) -> bool:
    return bool(node.get("instanceUuid"))


def _listed(failures: Mapping[str, str]) -> str:
    return "; ".join(text for _, text in sorted(failures.items()))


def _outs(machines: Mapping[str, Machine]) -> dict[str, Any]:
    """What the state keeps of the machines, and the ids that other resources read."""
    ids = ("instanceUuid", "providerId")
    return {
        "nodes": dict(machines),
        "ids": {key: {name: node[name] for name in ids} for key, node in machines.items()},
    }


def _had(machines: Mapping[str, Machine], name: str) -> Any:
    return next(iter(machines.values()), {}).get(name)


def _run(session: Session, given: GroupInputs, before: Mapping[str, Machine]) -> GroupRun:
    return GroupRun(
        session,
        given.group,
        given.creation_width,
        given.rollout_width,
        given.after,
        next(iter((*given.nodes.values(), *before.values())), {}),
        {key: node for key, node in before.items() if _has_uuid(node)},
    )


def _problems(key: str, node: Machine) -> list[tuple[str, str]]:
    unknown = {name for name, value in node.items() if has_unknown(value)}
    return [
        (f"nodes.{key}.{path}", reason)
        for path, reason in problems(declared(node))
        if path.split(".", 1)[0] not in unknown
    ]


def _known(props: dict[str, Any]) -> GroupInputs:
    given = GroupInputs.of(normalised(props))
    assert given is not None, "everything is known in an update"
    return given


def _looked_at(
    given: GroupInputs, before: Mapping[str, Machine], olds: Mapping[str, Any]
) -> tuple[Objects, tuple[GroupMachine, ...] | None, Session | None]:
    """What names lead to, and the machines of the group; nothing where vCenter is not asked."""
    known: Objects = {**(olds.get("objects") or {}), **given.objects}
    if given.asks_later() or not (given.nodes or before):
        return known, None, None
    session = logged_in(_endpoint(given, before))
    with in_words(f"looking at the machines of {given.group}"):
        objects = _objects(session, given, before, known)
        return objects, _rows(session, given, before), session


def _endpoint(given: GroupInputs, before: Mapping[str, Machine]) -> Endpoint:
    some = next(iter((*given.nodes.values(), *before.values())))
    return Endpoint.model_validate(some["endpoint"])


def _objects(
    session: Session, given: GroupInputs, before: Mapping[str, Machine], known: Objects
) -> Objects:
    """What the names of both declarations lead to: what is known stays."""
    names: dict[str, tuple[str, str]] = {}
    for node in (*given.nodes.values(), *before.values()):
        names |= names_of(node)
    lacking = {key: name for key, name in names.items() if key not in known}
    found = {key: reference for key, reference in known.items() if key in names}
    if lacking:
        some = next(iter((*given.nodes.values(), *before.values())))
        found |= references(session, str(some["place"]["datacenter"]), lacking)
    return found


def _rows(
    session: Session, given: GroupInputs, before: Mapping[str, Machine]
) -> tuple[GroupMachine, ...] | None:
    """The machines of the group; those without an id only where the state has them without one."""
    if given.life == UNKNOWN_LIFE and not before:
        return None  # the id is yet to be made: no machine carries it
    places = {
        str(node["place"]["datacenter"]) for node in (*given.nodes.values(), *before.values())
    }
    centers = {datacenter_of(session, name)._moId: name for name in sorted(places)}
    former = {key for key, node in before.items() if not node.get("life")}
    rows: list[GroupMachine] = []
    for name in centers.values():
        center = datacenter_of(session, name)
        rows += machines_of(session, center, given.group, given.life)
        if former:
            listed = machines_of(session, center, given.group, "")
            rows += [row for row in listed if not row.life and row.key in former]
    return tuple(rows)


def _without_place(session: Session, given: GroupInputs, steps: Sequence[GroupStep]) -> list[str]:
    known = [replace(step, new=placed(step.new)) if step.new else step for step in steps]
    return _run(session, given, {}).reasons(known)


def _in_flight(session: Session, given: GroupInputs) -> dict[str, str]:
    """Clones that an update that was cut off has begun: nothing is known of them yet."""
    names = clones_in_flight(session) if given.names else ()
    return {name: "complete: its clone is in flight" for name in names if given.has(name)}


def _reconciled(given: GroupInputs, before: Mapping[str, Machine], id_: str) -> dict[str, Any]:
    """The outputs, once the machines are what is declared."""
    nodes = settled(before, given.nodes, given.objects)
    steps = steps_of(before, nodes, None, given.objects)
    known = bool(before) and all(_has_uuid(node) for node in before.values())
    apart = _had(before, "separateHosts") == _had(nodes, "separateHosts")
    if not given.plan and known and apart and all(step.is_setting for step in steps):
        changed = {step.key: recorded(step) for step in steps}
        return {**given.kept(), **_outs({**before, **changed})}
    if not (nodes or before):
        return {**given.kept(), **_outs({})}
    session = logged_in(_endpoint(given, before))
    run = _run(session, given, before)
    with in_words(f"looking at the machines of {given.group}"):
        if _in_flight(session, given):
            await_clones_of(session, run.common, given.group, given.names)
        objects = _objects(session, given, before, given.objects)
        rows = _rows(session, given, before)
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
        raise NotReadyError(_listed(run.failures), id_, outs)
    return outs
