# pyright: standard
"""Execution of the steps of a group: many machines at a time, without loss of a running one. The
functions for one machine (make, look, change) can be repeated."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

from gpufleet.components_base.resource_plugin import CANCELLED, warn
from gpufleet_vcenter.cluster_node import node_of
from gpufleet_vcenter.converge import await_ready
from gpufleet_vcenter.create import clone_replacement, create, run_declared
from gpufleet_vcenter.described import check_description
from gpufleet_vcenter.drs import check_cluster, keep_apart
from gpufleet_vcenter.errors import VsphereError, failed, said
from gpufleet_vcenter.group_plan import (
    GroupInputs,
    GroupStep,
    Machine,
    StepKind,
    placed,
    planned,
    refusals_of,
    with_uuid,
)
from gpufleet_vcenter.identity import UNKNOWN_LIFE, Standing
from gpufleet_vcenter.lookup import datacenter_of, looked_up, references
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.outputs import (
    OBSERVED,
    MachineContext,
    inputs_kept,
    outputs,
    read_settings,
    seen_now,
)
from gpufleet_vcenter.owned import MachineWork, clones_in_flight, logged_in, still_there
from gpufleet_vcenter.placement import Wish, assign
from gpufleet_vcenter.preflight import check_before, validate_new
from gpufleet_vcenter.properties import (
    MachineChange,
    MachineChangeKind,
    Objects,
    changes,
    impossible,
    names_of,
)
from gpufleet_vcenter.remove import await_clones_of, drop, machines_of
from gpufleet_vcenter.settings import Endpoint
from gpufleet_vcenter.tasks import in_words


def make(
    given: Mapping[str, Any], known_uuid: str = "", checked: Wish | None = None
) -> tuple[dict[str, Any], VsphereError | None]:
    """Make the machine, or complete one that an earlier run began. Returns its outputs, and the
    reason if it is not ready in time: it then runs and stays, because a removal gains nothing.

    Args:
        given: Inputs.
        known_uuid: Uuid of the machine that an earlier run began. Default: it is computed.
        checked: Requirements of all machines of its group on a host. Default: they are read.

    Raises:
        VsphereError: it cannot be made; the text states what remains.
    """
    work = _opened(given, known_uuid)
    with in_words(f"making {work.settings.name}"):
        live, adopted = create(work, checked)
        late: VsphereError | None = None
        try:
            live = await_ready(work, live)
        except VsphereError as failure:
            late = failure.with_left(said("timeout/stays", live=live))
            live = still_there(work.session, live)
        seen = seen_now(work, live, {"adopted": adopted})
    return outputs(given, work.settings, live, seen), late


def look(uuid: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The current outputs of a machine, by its inputs or previous outputs; None: it no longer
    exists."""
    work = _opened(given, uuid)
    with in_words(f"reading {work.settings.name}"):
        live = work.find(str(given.get("moRef") or ""))
        if live is None:
            folder = work.settings.place.folder
            if folder is not None:
                # A folder that this user may not see hides its machines, too.
                looked_up(work.session, work.place.datacenter, "folder", folder)
            return None
        seen = _with_node(work, live, seen_now(work, live, given))
    return outputs(given, work.settings, live, seen)


def change(
    uuid: str,
    olds: Mapping[str, Any],
    given: Mapping[str, Any],
    found: tuple[MachineChange, ...] | None = None,
) -> dict[str, Any]:
    """Change a machine where it differs from its declaration; safe to repeat. If only the
    provider's own behaviour changes, vCenter is not called. Default of the differences: they are
    computed."""
    found = changes(olds, inputs_kept(given)) if found is None else found
    if all(one.kind is MachineChangeKind.SETTING for one in found):
        seen = {key: olds[key] for key in OBSERVED if key in olds}
        return {**seen, **inputs_kept(given)}
    work = _opened(given, uuid)
    settings = work.settings
    # Not known in `check`: it sees the previous inputs, and not the machines in vCenter.
    wrong = [f"{change.path}: {reason}" for change in found if (reason := impossible(change))]
    if wrong:
        raise VsphereError("vsphere-unsupported", f"changing {settings.name}: {'; '.join(wrong)}")
    with in_words(f"changing {settings.name}"):
        live = work.find(str(olds.get("moRef") or ""))
        if live is None:
            raise failed("not-found/machine", settings=settings, work=work)
        check_description(work.session, settings)
        check_cluster(settings, work.place)
        live = run_declared(work, live, read_settings(olds))
        live = await_ready(work, live)
        seen = seen_now(work, live, olds)
    return outputs(given, settings, live, seen)


def _opened(given: Mapping[str, Any], known_uuid: str = "") -> MachineWork:
    settings = read_settings(given)
    return MachineWork(logged_in(settings.endpoint), settings, known_uuid)


def _with_node(work: MachineWork, live: Observed, seen: MachineContext) -> MachineContext:
    """Adds the lost state of the node, if lost nodes are replaced: only if vCenter has room for the
    new machine."""
    settings, minutes = work.settings, work.settings.replace_not_ready_minutes
    if minutes is None or settings.kubernetes is None:
        return seen
    node = node_of(settings, live.bios_uuid)
    since = "" if node is None else node.lost_since(minutes)
    if not since:
        return seen
    reasons = validate_new(work.session, [settings], frozenset((live.instance_uuid,)))
    return replace(seen, node_lost_since=since, cannot_be_replaced="; ".join(reasons))


class GroupRun:
    """One look at a group, one update, or its removal."""

    def __init__(
        self, given: GroupInputs, before: Mapping[str, Machine], common: Machine | None = None
    ) -> None:
        """Log in.

        Args:
            given: The declaration; for a removal what the state has of it.
            before: Machines in the state, by key.
            common: Access to machines that only vCenter has. Default: that of one of the machines.
        """
        self.given, self.before = given, before
        self.common = common or next(iter((*given.nodes.values(), *before.values())))
        self.machines = with_uuid(before)
        """Outputs of each machine, by key: first the previous ones, at the end the current ones."""
        self.failures: dict[str, str] = {}
        """Name of a machine -> reason why it is not as declared."""
        self.session = logged_in(Endpoint.model_validate(self.common["endpoint"]))

    def look(self, known: Objects) -> tuple[Objects, tuple[Observed, ...] | None]:
        """vCenter's references of the names in declaration and state; known references stay. And
        the machines of the group; None: its id is yet to be made, so that no machine carries it."""
        nodes = (*self.given.nodes.values(), *self.before.values())
        names = {key: name for node in nodes for key, name in names_of(node).items()}
        lacking = {key: name for key, name in names.items() if key not in known}
        found = {key: reference for key, reference in known.items() if key in names}
        if lacking:
            found |= references(self.session, str(self.common["place"]["datacenter"]), lacking)
        if self.given.life == UNKNOWN_LIFE and not self.before:
            return found, None
        places = sorted({str(node["place"]["datacenter"]) for node in nodes})
        centers = dict.fromkeys(datacenter_of(self.session, name) for name in places)
        rows = (row for one in centers for row in machines_of(self.session, one, self.given.life))
        return found, tuple(rows)

    def in_flight(self) -> list[str]:
        """Names of the group's machines that a clone makes now, which an interrupted update has
        begun, and of which the state has nothing yet."""
        known = clones_in_flight(self.session) if self.given.names else ()
        return [name for name in known if name.startswith(self.given.names)]

    def await_clones(self) -> None:
        """Wait for the clones in flight that may be the group's."""
        await_clones_of(self.session, self.common, self.given.group, self.given.names)

    def validate(self, steps: Sequence[GroupStep]) -> None:
        """Refuse the steps, before anything is done.

        Raises:
            VsphereError: a change is not possible, or ends machines that run without a word; the
                text has every reason.
        """
        wrong = refusals_of(steps, self.given.excluded)
        again = [step for step in steps if step.needs_place and step.kind is not StepKind.MAKE]
        if not wrong and again:
            wrong = self.reasons([step for step in steps if step in again or not step.new])
        if wrong:
            raise _refused(sum(bool(step.refusals) for step in steps) or len(again), wrong)

    def reasons(self, steps: Sequence[GroupStep]) -> list[str]:
        """Reasons that prevent the steps that need a place, in the current vCenter."""
        absent = [read_settings(placed(step.new)) for step in steps if step.needs_place]
        leaving = {step.uuid for step in steps if step.kind is not StepKind.MAKE} - {""}
        return validate_new(self.session, absent, frozenset(leaving))

    def carry_out(self, steps: Sequence[GroupStep]) -> None:
        """Carry out all steps. Failures are in `failures`; no step that others need is reverted."""
        width, rolling = self.given.creation_width, self.given.rollout_width
        gone = [step for step in steps if step.kind is StepKind.REMOVE]
        begun = [step for step in gone if step.row and step.row.standing is Standing.PENDING]
        gone = [step for step in gone if step not in begun]
        made = [step for step in steps if step.kind in (StepKind.MAKE, StepKind.TAKE)]
        rolled = [step for step in steps if step.kind in (StepKind.CHANGE, StepKind.REPLACE)]
        self._prepare([step for step in rolled if step.kind is StepKind.REPLACE])
        self.failures |= each(begun, rolling, self._remove)
        checked = self._checked(made)
        self.failures |= each(made, width, lambda step: self._make(step, checked))
        self._roll(rolled)
        if gone and not self.failures.keys() & {step.name for step in rolled}:
            self.failures |= each(gone, rolling, self._remove)
            # A machine without a place may have one now.
            again = [step for step in made if self.failures.pop(step.name, None) is not None]
            self.failures |= each(again, width, self._make)

    def sweep(self) -> None:
        """Remove all machines of the group, also machines that a killed run made. A copy made
        outside stays, and a warning names it.

        Raises:
            VsphereError: one could not be removed; the others are.
        """
        session, group = self.session, self.given.group
        self.await_clones()
        with in_words(f"looking for machines of {group}"):
            center = datacenter_of(session, self.common["place"]["datacenter"])
            rows = machines_of(session, center, self.given.life)
        for row in rows:
            if row.standing is Standing.COPY and row.instance_uuid not in session.checked:
                session.checked.add(row.instance_uuid)
                warn(said("foreign-machine/copy", machine=row))
        _, steps = planned(self.machines, {}, rows)
        self.failures |= each(steps, self.given.rollout_width, self._remove)
        if self.failures:
            listed = "; ".join(f"{name}: {text}" for name, text in sorted(self.failures.items()))
            raise failed("fault/sweep", group=group, listed=listed)

    def separate(self, wanted: Mapping[str, Machine]) -> None:
        """Write the DRS rule that keeps the machines of the group on different hosts, or remove the
        one that it had."""
        had = any(node.get("separateHosts") for node in self.before.values())
        works = [
            MachineWork(self.session, read_settings(node), str(self.machines[key]["instanceUuid"]))
            for key, node in wanted.items()
            if key in self.machines
        ]
        if not works or not (had or works[0].settings.separate_hosts):
            return
        with in_words(f"separating the machines of {self.given.group}"):
            owned = (work.find() for work in works)
            keep_apart(works[0], [live.reference for live in owned if live is not None])

    def _checked(self, steps: Sequence[GroupStep]) -> Wish | None:
        """Requirements of the new machines on a host, and a claim of a host for each that fits now;
        None: they are checked one by one, and each reports what prevents it."""
        new = [step.new for step in steps if step.kind is StepKind.MAKE and not step.old]
        if new:
            with suppress(VsphereError), in_words(f"looking for the place of {steps[0].name}"):
                works = [MachineWork(self.session, read_settings(node)) for node in new]
                wish = check_before(works[0], len(works))
                assign(works, wish)
                return wish
        return None

    def _make(self, step: GroupStep, checked: Wish | None = None) -> None:
        known = "" if step.row is None else step.row.instance_uuid
        if step.old and not known:  # the state has it, and vCenter does not list it
            seen = look(step.uuid, step.old) if step.uuid else None
            if seen is not None:
                self.machines[step.key] = change(step.uuid, seen, step.new)
                return
            self.machines.pop(step.key, None)
        self._made(step, known, checked)

    def _made(self, step: GroupStep, known_uuid: str, checked: Wish | None = None) -> None:
        self.machines[step.key], late = make(step.new, known_uuid, checked)
        if late is not None:
            raise late

    def _remove(self, step: GroupStep) -> None:
        """Remove the running machine, found by its state or by its marks."""
        if step.old and step.uuid:
            drop(step.uuid, step.old)
        elif step.row is not None:
            drop(step.row.instance_uuid, _outputs_of(step.row, step.new or self.common))
        if step.old:
            self.machines.pop(step.key, None)

    def _roll(self, steps: Sequence[GroupStep]) -> None:
        """Change and replace: the first machine alone, then lanes. One that fails stops its lane,
        the first one all."""
        place = {step.key: number for number, step in enumerate(steps)}
        width, after = self.given.rollout_width, self.given.after
        with ThreadPoolExecutor(max(1, width)) as pool:
            done: list[Future[bool]] = []
            for number, step in enumerate(steps):
                lane = {max(number - width, 0)} if number else set[int]()
                wave = {place[key] for key in after.get(step.key, ()) if key in place}
                before = [done[turn] for turn in sorted(lane | wave) if turn < number]
                done.append(pool.submit(self._turn, step, before))
        for turn in done:
            turn.result()

    def _turn(self, step: GroupStep, before: Sequence["Future[bool]"]) -> bool:
        if not all(one.result() for one in before):
            return False
        do = self._replace if step.kind is StepKind.REPLACE else self._change
        self.failures |= (failed := each([step], 1, do))
        return not failed

    def _change(self, step: GroupStep) -> None:
        self.machines[step.key] = change(step.uuid, step.old, step.new, step.changes)

    def _replace(self, step: GroupStep) -> None:
        self._remove(step)
        self._made(step, "" if step.next is None else step.next.instance_uuid)

    def _prepare(self, steps: Sequence[GroupStep]) -> None:
        """Clone the replacements while the old machines still run.

        Raises:
            VsphereError: one cannot be made; then nothing was changed.
        """
        lacking = [step for step in steps if step.row is not None and step.next is None]

        def clone(step: GroupStep) -> None:
            work = MachineWork(self.session, read_settings(step.new), pending=True)
            clone_replacement(work, step.uuid)

        failures = each(lacking, self.given.creation_width, clone)
        if failures:
            raise _refused(len(steps), [text for _, text in sorted(failures.items())])


def _refused(count: int, reasons: Sequence[str]) -> VsphereError:
    listed = "; ".join(dict.fromkeys(reasons))
    return failed("replacement-impossible/refused", count=count, reasons=listed)


def each(
    steps: Sequence[GroupStep], width: int, do: Callable[[GroupStep], object]
) -> dict[str, str]:
    """Run all steps, `width` at a time, also after a failure; no step begins after an interrupt.

    Returns name of the machine -> failure.
    """
    failures: dict[str, str] = {}

    def attempt(step: GroupStep) -> None:
        try:
            if CANCELLED.is_set():
                raise failed("interrupted", doing="the next machine")
            do(step)
        except VsphereError as failure:
            failures[step.name] = str(failure)

    with ThreadPoolExecutor(max(1, min(width, len(steps) or 1))) as pool:
        for done in [pool.submit(attempt, step) for step in steps]:
            done.result()
    return failures


_OWN = ("adopt", "addresses", "userData", "vendorData", "moRef")
"""Inputs that differ between machines of a group besides the marks, and secret inputs."""


def _outputs_of(row: Observed, common: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs of a machine as a state would have them, from those of another one of its group."""
    known = {key: value for key, value in common.items() if key not in _OWN}
    own = {"name": row.name, "owner": row.owner, "generation": row.generation}
    # A pool may leave its devices to its machines; a removal does not look at them.
    own |= {"gpu": {"mode": "vgpu", "profile": "any"}}
    return {**known, **own, "life": row.life, "biosUuid": row.bios_uuid}
