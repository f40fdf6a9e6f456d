# pyright: standard
"""The plan of a group of machines: one list of steps from its declaration, its state, and the
machines in vCenter. Pure, and the same in a preview, an update and a removal. Declaration and state
are read from the engine's current properties, and from those of former resource types."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy
from gpufleet_vcenter.credentials import credentials
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.identity import UNKNOWN_LIFE, Standing, key_of
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.outputs import CUSTOM_TIMEOUT, SECRETS, digest, inputs_kept
from gpufleet_vcenter.properties import (
    PROPERTIES,
    UNKNOWN,
    WORD,
    MachineChange,
    MachineChangeKind,
    Objects,
    changes,
    has_unknown,
    refused,
    replaces,
    value_at,
)

Machine = Mapping[str, Any]
"""Inputs or outputs of one machine."""
_UNKNOWN_GENERATION = "0" * 12
_KEPT = ("group", "life", "width", "rolloutWidth", "order", "after", "names", "preflight")


@dataclass(frozen=True, slots=True)
class GroupInputs:
    """Declaration of a group."""

    group: str
    """`organisation/project/stack/group`."""
    life: str
    """Id of the stack's group; `UNKNOWN_LIFE`: it is yet to be made."""
    nodes: Mapping[str, Machine]
    """Inputs of each machine by key, in the order of changes; secret ones among them."""
    creation_width: int
    rollout_width: int
    after: Mapping[str, list[str]]
    """Key -> keys of machines that are changed before it."""
    excluded: tuple[str, ...]
    """Keys that the declaration excludes."""
    names: str
    """Prefix of the names of the machines; empty: unknown, in a state of 0.1.0."""
    objects: Objects
    """vCenter's reference of each declared name."""
    plan: Mapping[str, str]
    """Steps that `check` planned, by the names of machines."""
    given: Mapping[str, Any]

    @staticmethod
    def of(given: Mapping[str, Any]) -> "GroupInputs | None":
        """The inputs; None: the machines are not known yet."""
        nodes, order = given.get("nodes") or {}, given.get("order") or []
        if not isinstance(nodes, Mapping) or not isinstance(order, list) or has_unknown(order):
            return None
        life = str(given.get("life") or "")
        life = UNKNOWN_LIFE if life == UNKNOWN else life
        return GroupInputs(
            group=str(given["group"]),
            life=life,
            nodes={key: _merged(given, key, life) for key in order if key in nodes},
            creation_width=int(given["width"]),
            rollout_width=int(given.get("rolloutWidth") or given["width"]),
            after=given.get("after") or {},
            excluded=tuple(given.get("excluded") or ()),
            names=str(given.get("names") or ""),
            objects=given.get("objects") or {},
            plan=given.get("plan") or {},
            given=given,
        )

    def kept(self) -> dict[str, Any]:
        """Inputs of the group that the state keeps in addition to the machines."""
        return {key: self.given[key] for key in (*_KEPT, "objects") if key in self.given}

    def asks_later(self) -> bool:
        """Whether a preview does not call vCenter: it is switched off, an input is not known yet,
        or there are no credentials, as in a preview that only shows the plan."""
        unknown = any(has_unknown(placed(node)) for node in self.nodes.values())
        if unknown or self.given.get("preflight") == "create":
            return True
        endpoint = next((node["endpoint"] for node in self.nodes.values()), {})
        try:
            credentials(str(endpoint.get("credentialsKey") or "vsphere"))
        except VsphereError:
            return True
        return False


def _merged(given: Mapping[str, Any], key: str, life: str) -> dict[str, Any]:
    """Inputs of one machine: its own, its first-boot data, and the id."""
    boot = given.get("boot") or {}
    secret = dict.fromkeys(SECRETS[:1], UNKNOWN) if boot == UNKNOWN else boot.get(key) or {}
    secret = dict.fromkeys(SECRETS[:1], UNKNOWN) if secret == UNKNOWN else secret
    more = {CUSTOM_TIMEOUT: given[CUSTOM_TIMEOUT]} if CUSTOM_TIMEOUT in given else {}
    node = {**given["nodes"][key], **secret, **more, "life": life}
    known = (given.get("generations") or {}).get(key) or node.get("generation")
    return {**node, "generation": known or generation_of(node)}


def generation_of(node: Machine) -> str:
    """Digest of the inputs that make another machine, 12 hexadecimal digits; `UNKNOWN` as long as
    one of them is. The state and the machine keep the one that it was made for."""
    kept = inputs_kept(node)
    values = {
        row.path: value_at(kept, row.path)
        for row in PROPERTIES.values()
        if row.kind is MachineChangeKind.REPLACE
        and not (row.left_alone(kept) or "drift" in row.flags)
    }
    known = not has_unknown(values)
    return digest(json.dumps(values, sort_keys=True))[:12] if known else UNKNOWN


def placed(node: Machine) -> dict[str, Any]:
    """Inputs that decide where a machine can go: in a preview, first-boot data may be unknown, and
    with it the generation."""
    known = {k: v for k, v in node.items() if not (k in SECRETS and v == UNKNOWN)}
    if known.get("generation") == UNKNOWN:
        known["generation"] = _UNKNOWN_GENERATION
    return known


def state_of(olds: Mapping[str, Any]) -> dict[str, Machine]:
    """Machines in a state, by key. States of the former resources have a list of machines, their
    common inputs next to it, and no uuids."""
    nodes, order = olds.get("nodes") or {}, olds.get("order") or []
    life = {"life": olds["life"]} if olds.get("life") not in (None, UNKNOWN) else {}
    if isinstance(nodes, list):
        common = olds.get("common") or {}
        return {key_of(str(row["owner"])): {**common, **row, **life} for row in nodes}
    if not isinstance(nodes, Mapping):
        return {}
    ordered = [*(key for key in order if key in nodes), *(key for key in nodes if key not in order)]
    boot = olds.get("boot") or {}  # inputs have it, and outputs its digests
    secret: Mapping[str, Any] = boot if isinstance(boot, Mapping) else {}
    made = {key: {"generation": value} for key, value in (olds.get("generations") or {}).items()}
    return {
        key: {**nodes[key], **(secret.get(key) or {}), **made.get(key, {}), **life}
        for key in ordered
    }


def with_uuid(before: Mapping[str, Machine]) -> dict[str, Machine]:
    """Machines whose uuid is in the state: not machines of the former resources."""
    return {key: node for key, node in before.items() if node.get("instanceUuid")}


class StepKind(StrEnum):
    """Kind of a step for one machine."""

    MAKE = "make"
    TAKE = "complete"
    """A machine that an earlier run began, or another stack made, becomes this machine."""
    CHANGE = "change"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class GroupStep:
    """One machine that a group has to do something with."""

    kind: StepKind
    name: str
    key: str
    new: Machine = field(default_factory=dict[str, Any])
    """Inputs; empty: the machine is removed."""
    old: Machine = field(default_factory=dict[str, Any])
    """The machine in the state; empty: it is not in the state."""
    changes: tuple[MachineChange, ...] = ()
    row: Observed | None = None
    """The machine as vCenter lists it; None: it does not exist, or was not read."""
    next: Observed | None = None
    """Its replacement that an earlier run prepared."""

    @property
    def uuid(self) -> str:
        """Instance uuid of the machine that is changed, completed or removed; empty: unknown."""
        known = str(self.old.get("instanceUuid") or "")
        return known if self.row is None else self.row.instance_uuid

    @property
    def text(self) -> str:
        """Text of the step in a preview."""
        if self.kind is StepKind.REMOVE and not self.old:
            state = "runs" if self.row is not None and self.row.is_on else "is there"
            return f"remove: {self.name} {state}, and nothing declares it"
        paths = ", ".join(change.path for change in self.changes)
        return f"{self.kind.value}: {paths}" if paths else self.kind.value

    @property
    def is_setting(self) -> bool:
        """Whether vCenter is not called for it."""
        return self.kind is StepKind.CHANGE and all(
            change.kind is MachineChangeKind.SETTING for change in self.changes
        )

    @property
    def policy(self) -> str:
        """Update policy of the running machine."""
        return str(self.new.get("updatePolicy", VsphereUpdatePolicy.REFUSE.value))

    @property
    def needs_place(self) -> bool:
        """Whether a host must have room for it."""
        off = any(change.kind is MachineChangeKind.POWERED_OFF for change in self.changes)
        restarts = off and self.policy == VsphereUpdatePolicy.RESTART.value
        return self.kind in (StepKind.MAKE, StepKind.REPLACE) or restarts

    @property
    def refusals(self) -> list[tuple[str, str]]:
        """Property and reason of changes that are impossible, or need a permission."""
        if self.kind is StepKind.REPLACE and not self.changes:
            if self.policy == VsphereUpdatePolicy.REPLACE.value:
                return []
            made = "it runs, and was made for another declaration (generation)"
            return [("", f"{made}: {WORD}")]
        drifted: Mapping[str, Any] = self.old.get("drifted") or {}
        # A property changed in vCenter affects this machine only, not the whole update.
        declared = tuple(change for change in self.changes if change.path not in drifted)
        return refused(declared, self.policy) if self.old else []


def planned(
    before: Mapping[str, Machine],
    wanted: Mapping[str, Machine],
    rows: Sequence[Observed] | None = None,
    objects: Objects | None = None,
) -> tuple[dict[str, Machine], tuple[GroupStep, ...]]:
    """The declaration, in which machines that stay the same keep the generation that the state has;
    and all steps, in the order of the declaration, removals last.

    Args:
        before: Machines in the state, by key: outputs, or inputs where a preview has only these.
        wanted: The declaration.
        rows: Machines of the group in vCenter. Default: they were not read.
        objects: vCenter's reference of each declared name. Default: none is known.
    """
    objects = objects or {}
    nodes: dict[str, Machine] = {}
    steps: list[GroupStep] = []
    used: set[str] = set()
    for key, given in wanted.items():
        old = before.get(key) or {}
        found = changes(inputs_kept(old), inputs_kept(given), objects)
        # Its generation then stays, whatever went into the digest when the machine was made.
        same = MachineChangeKind.REPLACE not in {change.kind for change in found}
        known = {"generation": old["generation"]} if same and old.get("generation") else {}
        nodes[key] = new = {**given, **known}
        mine = [row for row in rows or () if row.key == key and row.standing is not Standing.COPY]
        step = _step(key, before.get(key), new, None if rows is None else mine, found)
        current = step.row or _current(old, mine)
        used |= {row.instance_uuid for row in (current, step.next) if row is not None}
        used |= {row.instance_uuid for row in mine if row.standing is Standing.OURS}
        if step.kind is not StepKind.CHANGE or step.changes:
            steps.append(step)
    for key, old in before.items():
        if key not in wanted:
            mine = [row for row in rows or () if row.key == key]
            row = _current(old, mine)
            used |= {row.instance_uuid} if row is not None else set()
            steps.append(GroupStep(StepKind.REMOVE, str(old.get("name")), key, old=old, row=row))
    steps += [
        GroupStep(StepKind.REMOVE, row.name, row.key, row=row)
        for row in rows or ()
        if row.instance_uuid not in used and row.standing is not Standing.COPY
    ]
    return nodes, tuple(steps)


def refusals_of(steps: Sequence[GroupStep], excluded: Collection[str] = ()) -> list[str]:
    """Each reason once, with the machines that it applies to. The declaration may exclude keys
    (`vsphere.exclude`). Default: none."""
    found: dict[tuple[str, str], list[str]] = {}
    for step in steps:
        for row in step.refusals:
            found.setdefault(row, []).append(step.name)
    reasons = [
        f"{', '.join(names)}: {path}: {reason}" if path else f"{', '.join(names)}: {reason}"
        for (path, reason), names in found.items()
    ]
    # Machines that go while others come: another name of a machine would end it.
    new = [step for step in steps if step.kind is StepKind.MAKE and not step.old]
    dropped = (step for step in steps if step.kind is StepKind.REMOVE and step.old)
    gone = ", ".join(step.name for step in dropped if step.key not in excluded)
    if gone and new and new[0].policy != VsphereUpdatePolicy.REPLACE.value:
        come = ", ".join(step.name for step in new)
        reasons.append(f"{gone}: declared no more, while {come} is new: {WORD}")
    return reasons


def _step(
    key: str,
    old: Machine | None,
    new: Machine,
    mine: Sequence[Observed] | None,
    found: tuple[MachineChange, ...],
) -> GroupStep:
    step = GroupStep(StepKind.MAKE, str(new.get("name")), key, new=new)
    current = _current(old or {}, mine or ())
    begun = _begun(new, mine or (), current)
    if old is None:
        return _without_state(step, current, begun)
    known = str(old.get("instanceUuid") or "")
    if current is not None and (
        current.standing is Standing.PENDING or known not in ("", current.instance_uuid)
    ):
        return _without_state(step, current, begun)  # an interrupted update replaced it
    if current is not None and current.generation == new.get("generation"):
        # It is as declared, although the state differs; only the loss of its node replaces it.
        other = MachineChangeKind.REPLACE
        found = tuple(one for one in found if one.kind is not other or one.path == "nodeReady")
    step = replace(step, old=old, changes=found, row=current)
    if mine is not None and current is None:
        if begun is not None:
            return replace(step, kind=StepKind.TAKE, old={}, changes=(), row=begun)
        if not replaces(found, step.policy):
            return replace(step, changes=())  # it no longer exists
    if replaces(found, step.policy):
        return replace(step, kind=StepKind.REPLACE, next=begun)
    return replace(step, kind=StepKind.CHANGE)


def _without_state(step: GroupStep, current: Observed | None, begun: Observed | None) -> GroupStep:
    """Step for a machine that is in the declaration and not in the state."""
    row = begun if current is None else current
    if row is None:
        return replace(step, kind=StepKind.TAKE) if step.new.get("adopt") else step
    if row.generation == step.new.get("generation") or has_unknown(step.new.get("generation")):
        return replace(step, kind=StepKind.TAKE, row=row)
    return replace(step, kind=StepKind.REPLACE, row=row)


def _current(old: Machine, mine: Sequence[Observed]) -> Observed | None:
    """The machine that the state refers to; without a uuid in it, the complete one."""
    uuid = str(old.get("instanceUuid") or "")
    known = [row for row in mine if row.instance_uuid == uuid]
    complete = [row for row in mine if row.standing is Standing.OURS]
    alike = [row for row in complete if row.generation == old.get("generation")]
    return next(iter(known or alike or complete), None)


def _begun(new: Machine, mine: Sequence[Observed], current: Observed | None) -> Observed | None:
    """The incomplete machine that an earlier run began for this declaration."""
    generation = new.get("generation")
    rows = (row for row in mine if row.standing is Standing.PENDING and row is not current)
    return next((row for row in rows if generation in (row.generation, UNKNOWN)), None)
