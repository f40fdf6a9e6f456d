"""What is done with one machine of a group: make, look and change it. Idempotent."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyVmomi import vim

from gpufleet_vcenter.adapters import found_network
from gpufleet_vcenter.changes import MachineChange, changes, impossible
from gpufleet_vcenter.cluster_node import node_of
from gpufleet_vcenter.converge import await_ready
from gpufleet_vcenter.create import create, run_declared
from gpufleet_vcenter.described import check_description, found_on
from gpufleet_vcenter.drs import check_cluster
from gpufleet_vcenter.errors import Code, VsphereError, failed
from gpufleet_vcenter.lookup import by_name
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.opened import logged_in, read_settings
from gpufleet_vcenter.outputs import MachineContext, inputs_kept, observed_of, outputs
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.preflight import validate_new
from gpufleet_vcenter.properties import MachineChangeKind
from gpufleet_vcenter.reading import one
from gpufleet_vcenter.rooms import Rooms
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.tasks import in_words


@dataclass(frozen=True, slots=True)
class MadeMachine:
    """A machine that was made."""

    outs: dict[str, Any]
    late: VsphereError | None
    """Why it is not ready, where it is late: it runs then and stays."""

    @property
    def uuid(self) -> str:
        """Its instance uuid."""
        return str(self.outs["instanceUuid"])


def make(given: Mapping[str, Any], known_uuid: str = "", rooms: Rooms | None = None) -> MadeMachine:
    """Make the machine, or go on with one that an earlier run began.

    Args:
        given: Inputs.
        known_uuid: Of the one that an earlier run began. Default: it is computed.
        rooms: Inventory shared with machines that are made at the same time. Default: its own.

    Raises:
        VsphereError: it cannot be made; the text says what was left.
    """
    work = _opened(given, known_uuid)
    with in_words(f"making {work.settings.name}"):
        live, adopted, late = create(work, rooms)
        seen = _seen(work, live, {"adopted": adopted})
    return MadeMachine(outputs(given, work.settings, live, seen), late)


def look(uuid: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The outputs of a machine as it is now; None: it is gone.

    Args:
        uuid: Its instance uuid.
        given: Inputs, or the outputs of before.
    """
    work = _opened(given, uuid)
    with in_words(f"reading {work.settings.name}"):
        live = work.find(str(given.get("moRef") or ""))
        if live is None:
            folder = work.settings.place.folder
            if folder is not None:
                # A folder that this user may not see hides its machines, too.
                by_name(work.session, work.datacenter, vim.Folder, folder, "folder")
            return None
        seen = _with_node(work, live, _seen(work, live, given))
    return outputs(given, work.settings, live, seen)


def change(
    uuid: str,
    olds: Mapping[str, Any],
    given: Mapping[str, Any],
    found: tuple[MachineChange, ...] | None = None,
) -> dict[str, Any]:
    """Change what differs between declaration and machine; safe to run again.

    Where only the provider's own behaviour changes, vCenter is not called.

    Args:
        uuid: Its instance uuid.
        olds: Outputs of before.
        given: Inputs.
        found: What differs. Default: it is compared.
    """
    found = changes(olds, inputs_kept(given)) if found is None else found
    if all(one.kind is MachineChangeKind.SETTING for one in found):
        return {**observed_of(olds), **inputs_kept(given)}
    work = _opened(given, uuid)
    settings = work.settings
    _refuse_impossible(settings, found)
    with in_words(f"changing {settings.name}"):
        live = work.find(str(olds.get("moRef") or ""))
        if live is None:
            raise failed("not-found/machine", settings=settings, work=work)
        check_description(work.session, settings)
        check_cluster(settings, work.place)
        live = run_declared(work, live, read_settings(olds))
        live = await_ready(work, live)
        seen = _seen(work, live, olds)
    return outputs(given, settings, live, seen)


def _opened(given: Mapping[str, Any], known_uuid: str = "") -> MachineWork:
    settings = read_settings(given)
    return MachineWork(logged_in(settings.endpoint), settings, known_uuid)


def _refuse_impossible(settings: NodeSettings, found: tuple[MachineChange, ...]) -> None:
    """What `check` could not know: it sees the inputs of before, and not what vCenter has."""
    wrong = [f"{change.path}: {reason}" for change in found if (reason := impossible(change))]
    if wrong:
        raise VsphereError(Code.UNSUPPORTED, f"changing {settings.name}: {'; '.join(wrong)}")


def _seen(work: MachineWork, live: Observed, olds: Mapping[str, Any]) -> MachineContext:
    return MachineContext(
        _host_name(work.session, live),
        bool(olds.get("adopted", False)),
        str(olds.get("firmware") or ""),
        *found_on(work.session, work.settings, live),
        _network_names(work, live),
    )


def _with_node(work: MachineWork, live: Observed, seen: MachineContext) -> MachineContext:
    """What the cluster says of the node, where a lost one is to be replaced: only if vCenter has
    room for the new machine."""
    settings, minutes = work.settings, work.settings.replace_not_ready_minutes
    if minutes is None or settings.kubernetes is None:
        return seen
    with node_of(settings, live.bios_uuid) as node:
        since = "" if node is None else node.lost_since(minutes)
    if not since:
        return seen
    reasons = validate_new(work.session, [settings], frozenset((live.instance_uuid,)))
    return replace(seen, node_lost_since=since, cannot_be_replaced="; ".join(reasons))


def _network_names(work: MachineWork, live: Observed) -> dict[str, str]:
    """Names of the networks the machine is on; asked only where adapters are declared."""
    if all(network is None for network, _ in work.settings.place.adapters):
        return {}
    found = (found_network(work.session, network) for network in live.networks)
    return {network.id: network.name for network in found}


def _host_name(session: Session, live: Observed) -> str:
    if live.host is None:
        return ""
    found = one(session, live.host, vim.HostSystem, ("name",))
    return "" if found is None else str(found["name"])
