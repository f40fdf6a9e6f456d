"""Carrying out the steps of a group: many machines at a time, and none that runs is lost."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from gpufleet.components_base.resource_plugin import warn
from gpufleet_vcenter.create import clone, rooms_of
from gpufleet_vcenter.drs import group_of, keep_apart
from gpufleet_vcenter.errors import Code, VsphereError, failed, said
from gpufleet_vcenter.group_plan import GroupStep, Machine, StepKind, refusals_of, steps_of
from gpufleet_vcenter.identity import Standing
from gpufleet_vcenter.inventory import read_host
from gpufleet_vcenter.lookup import datacenter_of, machines_with
from gpufleet_vcenter.machine import change, look, make
from gpufleet_vcenter.observed import observe
from gpufleet_vcenter.opened import logged_in, read_settings
from gpufleet_vcenter.outputs import inputs_kept, observed_of
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.placement import Wish, slots_of
from gpufleet_vcenter.preflight import check_before, validate_new
from gpufleet_vcenter.remove import await_clones_of, drop, drop_found, each, machines_of
from gpufleet_vcenter.rooms import Rooms
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import Endpoint
from gpufleet_vcenter.tasks import in_words

NEXT = "-next"
"""End of the name of a replacement while the machine that it replaces is there."""


@dataclass(slots=True)
class GroupRun:
    """One update of a group."""

    group: str
    """Owner of the group."""
    common: Machine
    """Inputs of one of the machines: how those are reached that only vCenter has."""
    creation_width: int
    """Machines that are made at a time."""
    rollout_width: int
    """Machines that are changed, replaced or removed at a time."""
    after: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Key -> keys of machines that are changed before it."""
    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])
    """Outputs of each machine, by key: of before, and in the end of what there is."""
    failures: dict[str, str] = field(default_factory=dict[str, str])
    """Name of a machine -> why it is not what is declared."""
    session: Session = field(init=False)

    def __post_init__(self) -> None:
        """Log in."""
        self.session = logged_in(Endpoint.model_validate(self.common["endpoint"]))

    def validate(self, steps: Sequence[GroupStep], excluded: Collection[str]) -> None:
        """Refuse the steps, before anything is done.

        Args:
            steps: What is to be done.
            excluded: Keys that the declaration says are to go.

        Raises:
            VsphereError: a change is not possible, or ends machines that run without a word; the
                text has every reason.
        """
        wrong = refusals_of(steps, excluded)
        again = [step for step in steps if step.needs_place and step.kind is not StepKind.MAKE]
        if not wrong and again:
            wrong = self.reasons([step for step in steps if step in again or not step.new])
        if wrong:
            count = sum(bool(step.refusals) for step in steps) or len(again)
            raise failed(
                "replacement-impossible/refused",
                count=count,
                reasons="; ".join(dict.fromkeys(wrong)),
            )

    def reasons(self, steps: Sequence[GroupStep]) -> list[str]:
        """What prevents the steps that need a place, as vCenter is now."""
        absent = [read_settings(step.new) for step in steps if step.needs_place]
        leaving = {step.uuid for step in steps if step.kind is not StepKind.MAKE} - {""}
        return validate_new(self.session, absent, frozenset(leaving))

    def carry_out(self, steps: Sequence[GroupStep]) -> None:
        """Do all of it. What fails is in `failures`; nothing that others need is undone."""
        begun = [step for step in steps if step.kind is StepKind.REMOVE and _is_pending(step)]
        gone = [step for step in steps if step.kind is StepKind.REMOVE and step not in begun]
        made = [step for step in steps if step.kind in (StepKind.MAKE, StepKind.TAKE)]
        rolled = [step for step in steps if step.kind in (StepKind.CHANGE, StepKind.REPLACE)]
        self._prepare([step for step in rolled if step.kind is StepKind.REPLACE])
        self._each(begun, self.rollout_width, self._remove)
        rooms = self._rooms(made)
        self._each(made, self.creation_width, lambda step: self._make(step, rooms))
        self._roll(rolled)
        if gone and not self.failures.keys() & {step.name for step in rolled}:
            self._each(gone, self.rollout_width, self._remove)
            # What had no place may have one now.
            again = [step for step in made if self.failures.pop(step.name, None) is not None]
            self._each(again, self.creation_width, self._make)

    def sweep(self, life: str, names: str) -> None:
        """Remove all machines of the group, also those that a killed run made. A copy that someone
        made of one stays, and is named in a warning.

        Args:
            life: Id of the stack; machines of another one stay.
            names: What the names of the group's machines begin with; empty: unknown.

        Raises:
            VsphereError: one could not be removed; the others are.
        """
        session, place = self.session, self.common["place"]["datacenter"]
        await_clones_of(session, self.common, self.group, names)
        with in_words(f"looking for machines of {self.group}"):
            found = machines_of(session, datacenter_of(session, place), self.group, life)
        rows = [row for row in found if row.life == life]
        for row in rows:
            if row.standing is Standing.COPY and row.uuid not in session.checked:
                session.checked.add(row.uuid)
                warn(said("foreign-machine/copy", machine=row))
        steps = steps_of(dict(self.machines), {}, rows, {})
        self._each(steps, self.rollout_width, self._remove)
        if self.failures:
            listed = "; ".join(f"{name}: {text}" for name, text in sorted(self.failures.items()))
            raise failed("fault/sweep", group=self.group, listed=listed)

    def separate(self, wanted: Mapping[str, Machine], had: Any) -> None:
        """Write the DRS rule that keeps the machines of the group on different hosts, or remove the
        one that it had."""
        declared = [read_settings(wanted[key]) for key in wanted if key in self.machines]
        if not declared or not (had or declared[0].separate_hosts):
            return
        works = [
            MachineWork(self.session, item, str(self.machines[key]["instanceUuid"]))
            for key, item in zip((k for k in wanted if k in self.machines), declared, strict=True)
        ]
        with in_words(f"separating the machines of {self.group}"):
            owned = (work.find() for work in works)
            keep_apart(works[0], [live.reference for live in owned if live is not None])

    def _each(
        self, steps: Sequence[GroupStep], width: int, do: Callable[[GroupStep], object]
    ) -> None:
        tasks = [(step.name, lambda step=step: do(step)) for step in steps]
        self.failures |= each(tasks, width)

    def _rooms(self, steps: Sequence[GroupStep]) -> Rooms | None:
        if not steps:
            return None
        works = [MachineWork(self.session, read_settings(step.new)) for step in steps]
        rooms = rooms_of(works[0])
        new = {
            work.uuid: work.settings
            for work, step in zip(works, steps, strict=True)
            if step.kind is StepKind.MAKE and not step.old
        }
        with suppress(VsphereError), in_words(f"looking for the place of {steps[0].name}"):
            # What prevents it is said of each machine that it concerns.
            if new:
                rooms.checked = check_before(works[0], len(new))
                rooms.assign(new, rooms.checked[0], group_of(works[0]))
        return rooms

    def _make(self, step: GroupStep, rooms: Rooms | None = None) -> None:
        known = "" if step.row is None else step.row.uuid
        if step.old and not known:  # the state has it, and vCenter does not list it
            seen = look(step.uuid, step.old) if step.uuid else None
            if seen is not None:
                self.machines[step.key] = change(step.uuid, seen, step.new)
                return
            self.machines.pop(step.key, None)
        self._made(step, known, rooms)

    def _made(self, step: GroupStep, known_uuid: str, rooms: Rooms | None = None) -> None:
        made = make(step.new, known_uuid, rooms)
        self.machines[step.key] = made.outs
        if made.late is not None:
            raise made.late

    def _remove(self, step: GroupStep) -> None:
        """The machine that runs goes, by what the state has of it, or by its marks."""
        if step.old and step.uuid:
            drop(step.uuid, step.old)
        elif step.row is not None:
            drop_found(self.session, step.new or self.common, step.row)
        if step.old:
            self.machines.pop(step.key, None)

    def _roll(self, steps: Sequence[GroupStep]) -> None:
        """Change and replace: the first machine alone, then lanes. One that fails stops its lane,
        the first one all."""
        place = {step.key: number for number, step in enumerate(steps)}
        with ThreadPoolExecutor(max(1, self.rollout_width)) as pool:
            done: list[Future[bool]] = []
            for number, step in enumerate(steps):
                lane = {max(number - self.rollout_width, 0)} if number else set[int]()
                wave = {place[key] for key in self.after.get(step.key, ()) if key in place}
                before = [done[one] for one in sorted(lane | wave) if one < number]
                done.append(pool.submit(self._turn, step, before))
        for one in done:
            one.result()

    def _turn(self, step: GroupStep, before: Sequence["Future[bool]"]) -> bool:
        if not all(one.result() for one in before):
            return False
        do = self._replace if step.kind is StepKind.REPLACE else self._change
        self.failures |= (failed := each([(step.name, lambda: do(step))], 1))
        return not failed

    def _change(self, step: GroupStep) -> None:
        done = recorded(step) if step.is_setting else None
        self.machines[step.key] = done or change(step.uuid, step.old, step.new, step.changes)

    def _replace(self, step: GroupStep) -> None:
        self._remove(step)
        self._made(step, "" if step.next is None else step.next.uuid)

    def _prepare(self, steps: Sequence[GroupStep]) -> None:
        """Clone the replacements, while what they replace still runs.

        Raises:
            VsphereError: one cannot be made; then nothing was changed.
        """
        tasks = [
            (step.name, lambda step=step: _clone_replacement(self.session, step))
            for step in steps
            if step.row is not None
        ]
        failures = each(tasks, self.creation_width)
        if failures:
            raise failed(
                "replacement-impossible/refused",
                count=len(steps),
                reasons="; ".join(text for _, text in sorted(failures.items())),
            )


def recorded(step: GroupStep) -> dict[str, Any]:
    """Outputs of a machine of which only the provider's own behaviour changes."""
    return {**observed_of(step.old), **inputs_kept(step.new)}


def _is_pending(step: GroupStep) -> bool:
    return step.row is not None and step.row.standing is Standing.PENDING


def _clone_replacement(session: Session, step: GroupStep) -> None:
    """Clone the replacement of a machine that still runs next to the one that it replaces.

    The replacement takes name and GPUs once the old machine has gone: both cannot have them. Where
    the datastore has no room for both, or the replacement goes to another host, nothing is cloned.
    """
    work = MachineWork(session, read_settings(step.new), pending=True)
    settings = work.settings
    with in_words(f"making the replacement of {settings.name}"):
        assert step.row is not None
        found = machines_with(session, work.datacenter, step.row.uuid)
        old = observe(session, found[0]) if len(found) == 1 else None
        if old is None or old.host is None or old.instance_uuid == work.uuid:
            return
        if step.next is not None or work.find() is not None:
            return
        try:
            reach, _ = check_before(work)
        except VsphereError as failure:
            if failure.code is Code.DATASTORE_FULL:
                return  # validated with the old machine gone
            raise
        host = read_host(session, old.host).without((old.instance_uuid,))
        if work.place.pod is None and slots_of(host, Wish(settings, reach)).free:
            other_name = settings.model_copy(update={"name": f"{settings.name}{NEXT}"})
            clone(replace(work, settings=other_name), old.host, work.place.datastore)
