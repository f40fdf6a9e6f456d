"""The provider of `VsphereGpuNode`: it turns calls of the engine into the operations here.

The class is in an importable module and has no attributes, so that the state holds its name
only, never code and never credentials; it is the same text in every run.
"""

from collections.abc import Mapping
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
from pyVmomi import vim

from gpufleet.components_base.resource_plugin import DetailedDiff, NotReadyError
from gpufleet.platforms.vsphere.vcenter.adapters import network_names
from gpufleet.platforms.vsphere.vcenter.changes import (
    MachineChange,
    MachineChangeKind,
    changes,
    has_unknown,
    impossible,
    is_same_machine,
    refusals,
    replaces,
)
from gpufleet.platforms.vsphere.vcenter.cluster_node import node_of
from gpufleet.platforms.vsphere.vcenter.create import create, run_declared
from gpufleet.platforms.vsphere.vcenter.described import (
    check_description,
    found_on,
)
from gpufleet.platforms.vsphere.vcenter.drs import check_cluster
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.faults import in_words
from gpufleet.platforms.vsphere.vcenter.lookup import by_name
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.opened import (
    VsphereProvider,
    declared,
    logged_in,
    read_settings,
)
from gpufleet.platforms.vsphere.vcenter.outputs import (
    MachineContext,
    inputs_kept,
    observed_of,
    outputs,
)
from gpufleet.platforms.vsphere.vcenter.owned import MachineWork, work_on
from gpufleet.platforms.vsphere.vcenter.power import await_ready, still_there
from gpufleet.platforms.vsphere.vcenter.preflight import validate_new
from gpufleet.platforms.vsphere.vcenter.reading import one
from gpufleet.platforms.vsphere.vcenter.remove import remove
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings, normalised, problems


class VsphereGpuNodeProvider(VsphereProvider):
    """Create, read, change and remove one machine."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """Validate the inputs without a network: shape, limits, and changes that would fail
        later."""
        given = normalised(news)
        unknown = {key for key, value in given.items() if has_unknown(value)}
        failures = [
            CheckFailure(path, reason)
            for path, reason in problems(declared(given))
            if path.split(".", 1)[0] not in unknown
        ]
        if not failures and _olds:
            old, new = inputs_kept(normalised(_olds)), inputs_kept(given)
            failures = [CheckFailure(path, reason) for path, reason in refusals(old, new)]
            if is_same_machine(old, new):
                news = {**news, "generation": old["generation"]}
        return CheckResult(news, failures)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Compare what the state says of the machine with what is declared."""
        new = inputs_kept(normalised(_news))
        found = changes(normalised(_olds), new)
        policy = str(new.get("updatePolicy", "refuse"))
        return DetailedDiff([change.path for change in found], replaces(found, policy))

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Make the machine, or go on with one that an earlier run began."""
        given = normalised(props)
        work = _opened(given)
        with in_words(f"making {work.settings.name}"):
            live, adopted, late = create(work)
            seen = _seen(work, live, {"adopted": adopted})
        outs = outputs(given, work.settings, live, seen)
        if late is not None:
            raise NotReadyError(str(late), live.instance_uuid, outs) from None
        return CreateResult(live.instance_uuid, outs)

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """What the machine is now; a machine that is gone has no id."""
        given = normalised(props)
        work = _opened(given, id_)
        with in_words(f"reading {work.settings.name}"):
            live = work.find(str(given.get("moRef") or ""))
            if live is None:
                folder = work.settings.place.folder
                if folder is not None:
                    # A folder that this user may not see hides its machines, too.
                    by_name(work.session, work.datacenter, vim.Folder, folder, "folder")
                return ReadResult("", {})
            seen = _with_node(work, live, _seen(work, live, given))
        return ReadResult(id_, outputs(given, work.settings, live, seen))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Change what differs between declaration and machine; safe to run again.

        Where only the provider's own behaviour changes, vCenter is not called.
        """
        given, olds = normalised(_news), normalised(_olds)
        found = changes(olds, inputs_kept(given))
        if all(change.kind is MachineChangeKind.SETTING for change in found):
            return UpdateResult({**observed_of(olds), **inputs_kept(given)})
        work = _opened(given, _id)
        settings = work.settings
        _refuse_impossible(settings, found)
        with in_words(f"changing {settings.name}"):
            live = work.find(str(olds.get("moRef") or ""))
            if live is None:
                raise VsphereError(
                    Code.NOT_FOUND,
                    f"{settings.name} (instance uuid {work.identity.instance_uuid}) is gone from "
                    "vCenter",
                    "run `pulumi refresh`, then `pulumi up` to recreate it",
                )
            check_description(work.session, settings)
            check_cluster(settings, work.place)
            live = run_declared(work, live, read_settings(olds))
            live = still_there(work.session, await_ready(work, live))
            seen = _seen(work, live, olds)
        return UpdateResult(outputs(given, settings, live, seen))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Remove the machine. One that is gone already is fine."""
        work = _opened(normalised(_props), _id)
        with in_words(f"removing {work.settings.name}"):
            remove(work, str(_props.get("biosUuid") or ""), str(_props.get("moRef") or ""))


def _opened(given: Mapping[str, Any], known_uuid: str = "") -> MachineWork:
    settings = read_settings(given)
    return work_on(logged_in(settings.endpoint), settings, known_uuid)


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
        found_on(work.session, work.settings, live),
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
    again = frozenset((settings.owner,))
    reasons = validate_new(work.session, [settings], frozenset(), again)
    return replace(seen, node_lost_since=since, cannot_be_replaced="; ".join(reasons))


def _network_names(work: MachineWork, live: Observed) -> dict[str, str]:
    """Names of the networks the machine is on; asked only where adapters are declared."""
    if all(network is None for network, _ in work.settings.place.adapters):
        return {}
    return network_names(work.session, live.networks)


def _host_name(session: Session, live: Observed) -> str:
    if live.host is None:
        return ""
    found = one(session, live.host, vim.HostSystem, ("name",))
    return "" if found is None else str(found["name"])
