# pyright: standard
"""DRS of a cluster: groups of machines and their rules, the DRS behaviour of one machine, and the
rule that keeps the machines of a group on different hosts.

All are settings of the cluster, which other people and programs change as well.
"""

import hashlib
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_snake
from pyVmomi import vim

from gpufleet.spec.platforms.vsphere_devices import DrsBehavior
from gpufleet_vcenter.errors import VsphereError, failed
from gpufleet_vcenter.lookup import FoundPlace
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.reading import one, properties
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.tasks import Begin, changed_until

_Rule = vim.cluster.AntiAffinityRuleSpec
_Operation = vim.option.ArrayUpdateSpec.Operation
_CHANGING = threading.Lock()
"""A group or a rule is written whole: two writers of this process would undo each other."""


@dataclass(frozen=True, slots=True)
class DrsGroup:
    """A group of virtual machines and its mandatory rules in the cluster."""

    name: str
    machines: tuple[Any, ...]
    only: frozenset[str] | None
    """Names of the hosts it must run on; None: any."""
    never: frozenset[str]
    """Names of the hosts it must not run on."""

    def allows(self, host: str) -> bool:
        """Whether its machines may run on the host."""
        return host not in self.never and (self.only is None or host in self.only)


@dataclass(frozen=True, slots=True)
class DrsCluster:
    """A cluster whose settings are read and changed."""

    session: Session
    compute: Any
    seconds: int
    """Longest one change may take."""

    def rows(self, part: str) -> list[Any]:
        """The cluster's current `group`, `rule` or `drsVmConfig`."""
        path = f"configurationEx.{part}"
        known = one(self.session, self.compute, vim.ClusterComputeResource, (path,)) or {}
        return list(known.get(path) or ())

    def change(
        self,
        what: str,
        lacking: Callable[[], Any | None],
        alone: AbstractContextManager[Any] = _CHANGING,
    ) -> None:
        """Change the cluster until it is as declared, as `changed_until` does: `lacking` reads it
        and returns the change. Lock during the whole change by default: that of all changes in
        this process."""

        def start() -> Begin | None:
            spec, write = lacking(), self.compute.ReconfigureComputeResource_Task
            return spec and (f"changing {what}", lambda: write(spec, True))

        with alone:
            changed_until(self.session, self.compute, start, self.seconds, what, "cluster")


def _cluster(work: MachineWork) -> DrsCluster:
    return DrsCluster(work.session, work.place.compute, work.settings.timeouts.reconfigure)


_OF_A_CLUSTER = ("vmGroup", "drsBehavior", "separateHosts")


def check_cluster(settings: NodeSettings, found: FoundPlace) -> None:
    """Refuse inputs that need DRS if the place has no DRS.

    Raises:
        VsphereError: the place is a standalone host.
    """
    declared = {name: getattr(settings, to_snake(name)) for name in _OF_A_CLUSTER}
    wrong = [f"{name} is {value}" for name, value in declared.items() if value is not None]
    if wrong and not found.is_cluster:
        of_group = settings.vm_group is not None
        row = "drs-group/standalone" if of_group else "drs-behavior/standalone"
        raise failed(row, wrong=wrong)


def drs_group(work: MachineWork, name: str) -> DrsGroup:
    """The current group.

    Raises:
        VsphereError: the cluster has no such group; the text names its groups.
    """

    def hosts_of(group: Any) -> frozenset[str]:
        rows = properties(work.session, list(group.host or ()), vim.HostSystem, ("name",))
        return frozenset(str(found["name"]) for _, found in rows if "name" in found)

    cluster = _cluster(work)
    groups = cluster.rows("group")
    machines = {item.name: item for item in groups if isinstance(item, vim.cluster.VmGroup)}
    if name not in machines:
        raise failed("drs-group", work=work, name=name, listed=sorted(machines))
    hosts = {item.name: item for item in groups if isinstance(item, vim.cluster.HostGroup)}
    only: frozenset[str] | None = None
    never: frozenset[str] = frozenset()
    for rule in cluster.rows("rule"):
        binding = isinstance(rule, vim.cluster.VmHostRuleInfo) and rule.enabled and rule.mandatory
        if not binding or rule.vmGroupName != name:
            continue
        if rule.affineHostGroupName in hosts:
            members = hosts_of(hosts[rule.affineHostGroupName])
            only = members if only is None else only & members
        if rule.antiAffineHostGroupName in hosts:
            never |= hosts_of(hosts[rule.antiAffineHostGroupName])
    return DrsGroup(name, tuple(machines[name].vm or ()), only, never)


def regroup(work: MachineWork, name: str, *, inside: bool, machine: Any) -> None:
    """Add a machine to the group, or remove it. A machine that is already as declared is not an
    error; nor is a missing group when a machine is to be removed.

    Raises:
        VsphereError: the group no longer exists, or vCenter refuses.
    """

    def lacking() -> Any | None:
        machines = drs_group(work, name).machines
        if (machine in machines) is inside:
            return None
        members = [item for item in machines if item != machine] + [machine] * inside
        info = vim.cluster.VmGroup(name=name, vm=members)
        spec = vim.cluster.GroupSpec(operation=_Operation.edit, info=info)
        return vim.cluster.ConfigSpecEx(groupSpec=[spec])

    try:
        _cluster(work).change(f"the DRS group {name}", lacking)
    except VsphereError as problem:
        if inside or problem.code != "vsphere-drs-group":
            raise


def behave(work: MachineWork, live: Observed) -> None:
    """Write the machine's override, or remove it if none is declared. Safe to repeat: each machine
    has its own override, so no other override is lost.

    Raises:
        VsphereError: vCenter refuses.
    """
    if not work.place.is_cluster:
        return
    cluster, wanted = _cluster(work), work.settings.drs_behavior

    def lacking() -> Any | None:
        rows = cluster.rows("drsVmConfig")
        now = next((row for row in rows if row.key == live.reference), None)
        return override_change(wanted, now, live)

    cluster.change(f"what DRS may do with {live.name}", lacking, nullcontext())


def override_change(wanted: DrsBehavior | None, now: Any | None, live: Observed) -> Any | None:
    """The change of the cluster that writes the declared override; None: it is as declared."""
    enabled = wanted is not DrsBehavior.DISABLED
    if wanted is None:
        if now is None:
            return None
        row = vim.cluster.DrsVmConfigSpec(operation=_Operation.remove, removeKey=live.reference)
    elif now is not None and now.enabled is enabled and (not enabled or now.behavior == wanted):
        return None
    else:
        behavior = wanted.value if enabled else None
        row = vim.cluster.DrsVmConfigSpec(
            operation=_Operation.add if now is None else _Operation.edit,
            info=vim.cluster.DrsVmConfigInfo(
                key=live.reference, enabled=enabled, behavior=behavior
            ),
        )
    return vim.cluster.ConfigSpecEx(drsVmConfigSpec=[row])


def keep_apart(work: MachineWork, machines: Sequence[Any]) -> None:
    """Write the rule that keeps exactly these machines on different hosts; without a declaration it
    is removed. The group writes the whole rule, and a machine that is made later adds itself. A
    rule needs two machines; vCenter removes a destroyed machine from it."""
    of = work.settings
    wanted = of.separate_hosts if len(machines) > 1 else None
    _write_rule(_cluster(work), of.group, of.life, wanted, lambda _: machines)


def add(work: MachineWork, machine: Any) -> None:
    """Add a machine to the rule of its group, where that exists."""
    of = work.settings
    if (wanted := of.separate_hosts) is not None:
        cluster = _cluster(work)
        _write_rule(cluster, of.group, of.life, wanted, lambda has: has and {*has, machine})


def remove_rule(session: Session, compute: Any, group: str, life: str) -> None:
    """Remove the rule of a group; a missing rule is not an error."""
    _write_rule(DrsCluster(session, compute, 300), group, life, None, lambda _: ())


def _write_rule(
    cluster: DrsCluster,
    group: str,
    life: str,
    wanted: str | None,
    members: Callable[[Collection[Any]], Collection[Any]],
) -> None:
    """Write the rule, or remove it. Its name has a digest of the id, which decides: a stack that is
    renamed keeps its rule. Earlier versions had the group's names in the digest.

    Args:
        wanted: `required` or `preferred`; None: no rule.
        members: Machines that the rule has -> machines that it is to have; empty: no rule is made.
    """
    own, former = (hashlib.sha256(of.encode()).hexdigest() for of in (life, f"{group}|{life}"))
    name = f"gpufleet {group.rpartition('/')[2][:50]} {own[:8]}"
    ends = (f" {own[:8]}", f" {former[:8]}")

    def lacking() -> Any | None:
        rules = (row for row in cluster.rows("rule") if isinstance(row, _Rule))
        written = (row for row in rules if str(row.name).startswith("gpufleet "))
        there = next((row for row in written if str(row.name).endswith(ends)), None)
        has = () if there is None else tuple(there.vm)
        machines = set(members(has))
        if wanted is None or not machines:
            if there is None or wanted is not None:
                return None
            change = vim.cluster.RuleSpec(operation=_Operation.remove, removeKey=there.key)
            return vim.cluster.ConfigSpecEx(rulesSpec=[change])
        must = wanted == "required"
        if there and (there.enabled, bool(there.mandatory), set(has)) == (True, must, machines):
            return None
        rule = _Rule(
            name=name if there is None else there.name,
            enabled=True,
            mandatory=must,
            userCreated=True,
            vm=sorted(machines, key=str),
        )
        rule.key = None if there is None else there.key
        operation = _Operation.add if there is None else _Operation.edit
        change = vim.cluster.RuleSpec(operation=operation, info=rule)
        return vim.cluster.ConfigSpecEx(rulesSpec=[change])

    cluster.change(f"the DRS rule {name}", lacking)
