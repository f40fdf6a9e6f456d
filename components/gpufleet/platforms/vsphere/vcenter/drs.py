"""DRS groups of virtual machines: which hosts their rules leave, and putting a machine in."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.cluster_change import change_cluster
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace
from gpufleet.platforms.vsphere.vcenter.reading import one, properties
from gpufleet.platforms.vsphere.vcenter.session import Session

_PATHS = ("name", "configurationEx.group", "configurationEx.rule")
_CHANGING = threading.Lock()
"""A group is written whole: two writers of this process would undo each other."""


@dataclass(frozen=True, slots=True)
class DrsGroup:
    """A group of virtual machines and what the cluster's mandatory rules say of it."""

    name: str
    machines: tuple[Any, ...]
    only: frozenset[str] | None
    """Names of the hosts it must run on; None: any."""
    never: frozenset[str]
    """Names of the hosts it must not run on."""

    def allows(self, host: str) -> bool:
        """Whether its machines may run on the host."""
        return host not in self.never and (self.only is None or host in self.only)


def drs_group(session: Session, found: FoundPlace, name: str) -> DrsGroup:
    """The group as it is now.

    Raises:
        VsphereError: the place is no cluster, or has no such group; the text names those it has.
    """
    if not found.is_cluster:
        raise VsphereError(
            Code.DRS_GROUP,
            f"vmGroup is {name!r}, and a standalone host has no DRS groups",
            "name a cluster, or leave vmGroup out",
        )
    known = one(session, found.compute, vim.ClusterComputeResource, _PATHS) or {}
    groups = list(known.get("configurationEx.group") or ())
    machines = {item.name: item for item in groups if isinstance(item, vim.cluster.VmGroup)}
    if name not in machines:
        listed = ", ".join(sorted(machines)) or "none"
        raise VsphereError(
            Code.DRS_GROUP,
            f"cluster {known.get('name', '')} has no DRS group of virtual machines named {name!r}; "
            f"it has {listed}",
            "create the group in the cluster's settings, or correct vmGroup",
        )
    hosts = {item.name: item for item in groups if isinstance(item, vim.cluster.HostGroup)}
    only, never = _rules(session, name, known.get("configurationEx.rule") or (), hosts)
    return DrsGroup(name, tuple(machines[name].vm or ()), only, never)


def _rules(
    session: Session, name: str, rules: Iterable[Any], hosts: dict[str, Any]
) -> tuple[frozenset[str] | None, frozenset[str]]:
    only: frozenset[str] | None = None
    never: frozenset[str] = frozenset()
    for rule in rules:
        binding = isinstance(rule, vim.cluster.VmHostRuleInfo) and rule.enabled and rule.mandatory
        if not binding or rule.vmGroupName != name:
            continue
        if rule.affineHostGroupName in hosts:
            members = _names(session, hosts[rule.affineHostGroupName])
            only = members if only is None else only & members
        if rule.antiAffineHostGroupName in hosts:
            never |= _names(session, hosts[rule.antiAffineHostGroupName])
    return only, never


def _names(session: Session, group: Any) -> frozenset[str]:
    rows = properties(session, list(group.host or ()), vim.HostSystem, ("name",))
    return frozenset(str(found["name"]) for _, found in rows if "name" in found)


def put_in(session: Session, found: FoundPlace, name: str, machine: Any, seconds: int) -> None:
    """Put a machine into the group; one that is in it already is fine.

    Raises:
        VsphereError: the group is gone, or vCenter refuses.
    """
    _rewrite(session, found, name, machine, seconds, inside=True)


def take_out(session: Session, found: FoundPlace, name: str, machine: Any, seconds: int) -> None:
    """Take a machine out of the group; one that is not in it is fine, and so is a group that is
    gone.

    Raises:
        VsphereError: vCenter refuses.
    """
    try:
        _rewrite(session, found, name, machine, seconds, inside=False)
    except VsphereError as problem:
        if problem.code is not Code.DRS_GROUP:
            raise


def _rewrite(
    session: Session,
    found: FoundPlace,
    name: str,
    machine: Any,
    seconds: int,
    *,
    inside: bool,
) -> None:
    def lacking() -> Any | None:
        group = drs_group(session, found, name)
        if (machine in group.machines) is inside:
            return None
        others = [item for item in group.machines if item != machine]
        return vim.cluster.ConfigSpecEx(
            groupSpec=[
                vim.cluster.GroupSpec(
                    operation=vim.option.ArrayUpdateSpec.Operation.edit,
                    info=vim.cluster.VmGroup(
                        name=name, vm=[*others, machine] if inside else others
                    ),
                )
            ]
        )

    change_cluster(
        session,
        found.compute,
        lacking,
        seconds,
        doing=f"changing the DRS group {name}",
        subject=f"the DRS group {name}",
        left="the group may change yet",
        alone=_CHANGING,
    )
