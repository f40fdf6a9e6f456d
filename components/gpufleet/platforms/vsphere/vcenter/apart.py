# pyright: standard
"""The DRS rule that keeps the machines of a group on different hosts.

The group's batch writes it whole, and a machine that is made later adds itself. A rule needs two
machines; vCenter takes a machine that is destroyed out of it.
"""

import hashlib
import threading
from collections.abc import Sequence
from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.drs import change_cluster
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace
from gpufleet.platforms.vsphere.vcenter.reading import one
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings

_PATH = "configurationEx.rule"
_CHANGING = threading.Lock()
"""A rule is written whole: two writers of this process would undo each other."""
_Rule = vim.cluster.AntiAffinityRuleSpec


def rule_name(group: str, life: str) -> str:
    """Name of the rule of a group: the group's own, and a digest that tells stacks apart."""
    digest = hashlib.sha256(f"{group}|{life}".encode()).hexdigest()[:8]
    return f"gpufleet {group.rpartition('/')[2][:50]} {digest}"


def check_cluster(settings: NodeSettings, found: FoundPlace) -> None:
    """Refuse a rule where there is no DRS.

    Raises:
        VsphereError: the place is a standalone host.
    """
    if settings.separate_hosts is not None and not found.is_cluster:
        raise VsphereError(
            Code.DRS_BEHAVIOR,
            f"separateHosts is {settings.separate_hosts}, and a standalone host has no DRS",
            "name a cluster, or leave separateHosts out",
        )


def keep_apart(
    session: Session, settings: NodeSettings, found: FoundPlace, machines: Sequence[Any]
) -> None:
    """Write the rule over exactly these machines; without a declaration it goes."""
    wanted = settings.separate_hosts if len(machines) > 1 else None
    name = rule_name(settings.group, settings.life)
    _write(session, found.compute, name, wanted, machines, settings.timeouts.reconfigure)


def add(session: Session, settings: NodeSettings, found: FoundPlace, machine: Any) -> None:
    """Add a machine to the rule of its group, where that exists."""
    if settings.separate_hosts is None:
        return
    name = rule_name(settings.group, settings.life)
    there = _rule(session, found.compute, name)
    if there is not None and machine not in there.vm:
        seconds = settings.timeouts.reconfigure
        _write(session, found.compute, name, settings.separate_hosts, [*there.vm, machine], seconds)


def remove_rule(session: Session, compute: Any, group: str, life: str) -> None:
    """Remove the rule of a group; one that is gone is fine."""
    _write(session, compute, rule_name(group, life), None, (), 300)


def _rule(session: Session, compute: Any, name: str) -> Any | None:
    known = one(session, compute, vim.ClusterComputeResource, (_PATH,)) or {}
    rules = (row for row in known.get(_PATH) or () if isinstance(row, _Rule))
    return next((rule for rule in rules if rule.name == name), None)


def _write(
    session: Session,
    compute: Any,
    name: str,
    wanted: str | None,
    machines: Sequence[Any],
    seconds: int,
) -> None:
    def lacking() -> Any | None:
        there = _rule(session, compute, name)
        kinds = vim.option.ArrayUpdateSpec.Operation
        if wanted is None:
            if there is None:
                return None
            change = vim.cluster.RuleSpec(operation=kinds.remove, removeKey=there.key)
            return vim.cluster.ConfigSpecEx(rulesSpec=[change])
        must = wanted == "required"
        now = None if there is None else (there.enabled, bool(there.mandatory), set(there.vm))
        if now == (True, must, set(machines)):
            return None
        rule = _Rule(name=name, enabled=True, mandatory=must, userCreated=True, vm=list(machines))
        rule.key = None if there is None else there.key
        operation = kinds.add if there is None else kinds.edit
        return vim.cluster.ConfigSpecEx(
            rulesSpec=[vim.cluster.RuleSpec(operation=operation, info=rule)]
        )

    change_cluster(
        session,
        compute,
        lacking,
        seconds,
        doing=f"changing the DRS rule {name}",
        subject=f"the DRS rule {name}",
        left="the rule may change yet",
        alone=_CHANGING,
    )
