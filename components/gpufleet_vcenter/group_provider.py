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
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)

from gpufleet.components_base.resource_plugin import DetailedDiff, NotReadyError, warn
from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy
from gpufleet_vcenter.credentials import StackSettings
from gpufleet_vcenter.drs import remove_rule
from gpufleet_vcenter.errors import VsphereError, failed
from gpufleet_vcenter.group_plan import (
    GroupInputs,
    Machine,
    StepKind,
    planned,
    refusals_of,
    state_of,
    with_uuid,
)
from gpufleet_vcenter.group_run import GroupRun, change, look
from gpufleet_vcenter.identity import stack_of
from gpufleet_vcenter.lookup import FoundPlace
from gpufleet_vcenter.outputs import declared
from gpufleet_vcenter.properties import has_unknown, value_at
from gpufleet_vcenter.settings import NodeSettings, Place, normalised, problems_of
from gpufleet_vcenter.tasks import in_words

_READ_AT_ONCE = 16


class _Provider(ResourceProvider):
    def configure(self, req: ConfigureRequest) -> None:
        """Keep the way to the stack's settings, of which nothing is read yet."""
        StackSettings.read = req.config.get


class VsphereGpuNodeGroupProvider(_Provider):
    """Make, read, change and remove the machines of a group."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """Validate the inputs, and show the planned changes, unless a setting prevents calls to
        vCenter.

        The returned inputs have the generation of each machine (`generations`), vCenter's
        references of the named objects (`objects`), and the planned steps (`plan`).
        """
        given, olds = GroupInputs.of(normalised(news)), normalised(_olds)
        if given is None:
            return CheckResult(news, [])
        failures = [
            CheckFailure(f"nodes.{key}.{path or 'userData'}", reason)
            for key, node in given.nodes.items()
            for path, reason in problems_of(NodeSettings, declared(node))
            if not has_unknown(node.get(path.partition(".")[0]))
        ]
        if failures:
            return CheckResult(news, failures)
        before, known = state_of(olds), olds.get("objects") or {}
        objects, rows, run = {**known, **given.objects}, None, None
        try:
            if (given.nodes or before) and not given.asks_later():
                run = GroupRun(given, before)
                with in_words(f"looking at the machines of {given.group}"):
                    objects, rows = run.look(objects)
        except VsphereError as failure:
            _, steps = planned(before, given.nodes, None, given.objects)
            if not all(step.is_setting for step in steps):
                return CheckResult(news, [CheckFailure("", str(failure))])
            warn(f"the machines of {given.group} were not looked at: {failure}")
            objects, run = known, None
        nodes, steps = planned(before, given.nodes, rows, objects)
        reasons = refusals_of(steps, given.excluded)
        plan = {step.name: step.text for step in steps if not step.is_setting}
        if run is not None:
            reasons = reasons or run.reasons(steps)
            plan |= dict.fromkeys(run.in_flight(), "complete: its clone is in flight")
        checked = {
            **news,
            "generations": {key: node["generation"] for key, node in nodes.items()},
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
        changed: list[str] = []
        added: list[str] = []
        removed: list[str] = []
        _, steps = planned(before, given.nodes, None, given.objects)
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
        if len(with_uuid(before)) < len(before):
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
        if not before or len(with_uuid(before)) < len(before):
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
        before = state_of(normalised(_props))
        if before:  # the resource of the id removes machines that no state has
            given = _known(_props)
            _refuse_rename(given.group, before)
            GroupRun(given, before).sweep()


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


def _outs(machines: Mapping[str, Machine]) -> dict[str, Any]:
    """Outputs of the machines for the state, and the ids that other resources read."""
    ids = ("instanceUuid", "providerId")
    return {
        "nodes": dict(machines),
        "ids": {key: {name: node[name] for name in ids} for key, node in machines.items()},
    }


def _known(props: dict[str, Any]) -> GroupInputs:
    given = GroupInputs.of(normalised(props))
    assert given is not None, "everything is known in an update"
    return given


def _reconciled(given: GroupInputs, before: Mapping[str, Machine], id_: str) -> dict[str, Any]:
    """The outputs, after the machines are as declared."""
    if not (given.nodes or before):
        return {**given.kept(), **_outs({})}
    nodes, steps = planned(before, given.nodes, None, given.objects)
    former = len(with_uuid(before)) < len(before)
    apart = {node.get("separateHosts") for node in (*before.values(), *nodes.values())}
    same = before and len(apart) == 1 and not (given.plan or former)
    if same and all(step.is_setting for step in steps):
        changed = {s.key: change(s.uuid, s.old, s.new, s.changes) for s in steps}
        return {**given.kept(), **_outs({**before, **changed})}
    run = GroupRun(given, before)
    with in_words(f"looking at the machines of {given.group}"):
        if run.in_flight():
            run.await_clones()
        objects, rows = run.look(given.objects)
    nodes, steps = planned(before, given.nodes, rows, objects)
    if former:  # the state has what they were declared as, and not how they are: that is read
        nodes, steps = planned(with_uuid(before), nodes, rows, objects)
    run.validate(steps)
    run.carry_out(steps)
    try:
        run.separate(nodes)
    except VsphereError as failure:
        run.failures[given.group] = str(failure)
    there = {key: run.machines[key] for key in (*nodes, *before) if key in run.machines}
    outs = {**given.kept(), **_outs(there)}
    if run.failures:
        texts = (text for _, text in sorted(run.failures.items()))
        raise NotReadyError("; ".join(texts), id_, outs)
    return outs


_REACHED_BY = (
    *("place.datacenter", "endpoint", "kubernetes", "timeouts", "deletePolicy", "separateHosts"),
)
_KEPT = ("group", "common", "width", "names")


class VsphereGpuNodeOwnerProvider(_Provider):
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
        given, common = _known(_props), normalised(_props)["common"]
        run = GroupRun(given, {}, common)
        run.sweep()
        if common.get("separateHosts"):
            with in_words(f"removing the DRS rule of {given.group}"):
                place = FoundPlace(run.session, Place.model_validate(common["place"]))
                remove_rule(run.session, place.compute, given.group, given.life)


def _decides(given: Mapping[str, Any]) -> dict[str, Any]:
    common: Any = given.get("common")
    if isinstance(common, Mapping):
        common = [value_at(common, path) for path in _REACHED_BY]
    # A state of an earlier version has no names; they follow from the group.
    return {**_kept(given), "common": common, "names": None}


def _kept(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: given.get(key) for key in _KEPT}
