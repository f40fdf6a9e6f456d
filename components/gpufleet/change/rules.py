"""Findings against a change, and facts to know before it starts."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.catalogue.features import numbers
from gpufleet.change.plan import FieldDifference, NodeChangeKind, PoolChange, ResourceOperation
from gpufleet.change.steps import changes_mode
from gpufleet.contract.mig_mode import reboots
from gpufleet.findings import Finding, error, findings_in, warning
from gpufleet.findings.row_rules import rules_in
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.partition.partition import Partition
from gpufleet.spec.pool import Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)

_STOPS = read_rows(Path(__file__).parent, "stops")
STOPS = tuple(row["text"] for row in _STOPS if row["of"] == "waves")
"""When to stop. The first node that does not offer the new resources stops `pulumi up`."""
NEW_STOPS = tuple(row["text"] for row in _STOPS if row["of"] == "replacement")
"""When to stop a change that a provisioner makes."""


def validate_cluster(old: Fleet, new: Fleet) -> Iterator[Finding]:
    """Changes of every node at once, with or without waves."""
    before, after = old.addons.gpu_operator, new.addons.gpu_operator
    cut = [p.name for p in old.pools if p.partition.mig_enabled]
    if {before.mig_strategy, after.mig_strategy} == {"single", "mixed"}:
        yield _finding(
            "change-strategy-for-everyone", old=before.mig_strategy, new=after.mig_strategy, cut=cut
        )
    if before.mig_manager and not after.mig_manager and after.enabled:
        left = [p.name for p in new.pools if p.name in cut and p.previous is None]
        if left:
            yield _finding("mig-manager-leaves-too-early", pools=left)
    first = numbers(before.version) < WITH_DRIVER_OBJECTS <= numbers(after.version)
    if first and after.separate_drivers and not before.separate_drivers and before.driver:
        yield _finding("operator-upgrade-in-one-step", old=before.version, new=after.version)


WITH_DRIVER_OBJECTS = (26, 7, 0)
"""First release that moves the driver from the ClusterPolicy to NVIDIADriver objects with its pods
in place (NVIDIA/cloud-native-docs#459)."""


def validate_pool(old: Pool, new: Pool, change: PoolChange, fleet: Fleet) -> list[Finding]:
    """Findings about the change of one pool."""
    findings: list[Finding] = [*_previous(old, new, change), *_two_advertisers(old, new)]
    if change.kind in {NodeChangeKind.NEW_NODES, NodeChangeKind.NEW_POOL}:
        findings.append(_replaced(new, change))
    if change.kind is NodeChangeKind.CUT_OVER:
        return [*findings, *_waves(old, new, change)]
    if change.kind is not NodeChangeKind.RECUT or change.nodes == 0:
        return findings
    findings += [*_waves(old, new, change), *_mode(old, new, fleet), *_pods(old, new, change)]
    return findings


def _previous(old: Pool, new: Pool, change: PoolChange) -> Iterable[Finding]:
    if new.previous is None or not change.kind.facts.get("in_place"):
        return
    if _shape(new.previous.partition) != _shape(old.partition) and new.spec.change is not None:
        yield _finding(
            "change-previous-is-another",
            new.path,
            new=new.name,
            found=dict(new.previous.partition.advertised),
            wanted=dict(old.partition.advertised),
        )


def _two_advertisers(old: Pool, new: Pool) -> Iterable[Finding]:
    """Labels reach all nodes of a pool at once: the DRA driver starts while the plugin runs."""
    dra = [pool.partition.dra is not None for pool in (old, new)]
    neither = old.previous is not None and (old.previous.partition.dra is not None) == dra[1]
    if dra[0] == dra[1] or new.previous is not None or neither:
        return
    ways = ("dra", old.spec.sharing.mode) if dra[0] else (old.spec.sharing.mode, "dra")
    managed = new.provisioner is Provisioner.MANAGED and not old.served_by_platform
    yield _finding(
        "change-two-advertisers",
        new.path,
        fix=(
            "declare `change: {previous: ...}` with the old sharing, and make the steps node by "
            "node"
            if managed
            else "make a second pool with the new sharing, move the workloads, then remove this one"
        ),
        new=new.name,
        limit=ways[0],
        found=ways[1],
    )


def _shape(partition: Partition) -> object:
    return (
        partition.mode,
        partition.replicas,
        partition.rename,
        [dict(gpu.devices) for gpu in partition.gpus],
        dict(partition.advertised),
    )


def _replaced(new: Pool, change: PoolChange) -> Finding:
    platform = new.platform.facts.title
    first = change.kind is NodeChangeKind.NEW_POOL
    return _finding(
        "change-by-replacement",
        new.path,
        who=platform if first else f"{new.provisioner.value} provisioning",
        new=new.name,
        first=f", and {platform} deletes the old pool first" if first else "",
        kind=change.kind.value,
    )


def _waves(old: Pool, new: Pool, change: PoolChange) -> Iterable[Finding]:
    sharing = old.spec.sharing.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return _rules("waves", new.path, new=new, change=change, sharing=sharing)


def _mode(old: Pool, new: Pool, fleet: Fleet) -> Iterable[Finding]:
    switched = changes_mode(old.partition, new.partition)
    rebooting = reboots(fleet.addons.gpu_operator.mig_env)
    return _rules("mode", new=new, switched=switched, reboots=rebooting)


def _pods(old: Pool, new: Pool, change: PoolChange) -> Iterable[Finding]:
    gone = sorted(set(old.advertised) - set(new.advertised))
    fresh = sorted(set(new.advertised) - set(old.advertised))
    return _rules("recut", new.path, pool=new, change=change, gone=gone, fresh=fresh)


# Findings about differences by their class.

_SHOWN = 8
_LONG = 60
"""Length of a value in characters above which it is not repeated."""


def unknown(
    found: Sequence[FieldDifference], path: str, who: str, reason: str | None
) -> Iterable[Finding]:
    """One finding for all differences without a class: an error until it is accepted with a
    reason."""
    fields = [one for one in found if one.leaf_class is LeafClass.UNKNOWN]
    if not fields:
        return
    shown = ", ".join(f"{one.field} ({one.old} -> {one.new})" for one in fields[:_SHOWN])
    more = f" and {len(fields) - _SHOWN} more" if len(fields) > _SHOWN else ""
    accepted = "" if reason is None else f"; accepted: {reason}"
    yield (error if reason is None else warning)(
        "change-unknown",
        path,
        f"it is not known what these differences do to {who}: {shown}{more}{accepted}",
        "look at `pulumi preview --diff`, then repeat with --accept-unknown REASON",
        fields=[one.field for one in fields],
        reason=reason,
    )


def validate_versions(old: Fleet, new: Fleet) -> Iterable[Finding]:
    """Minor versions of the API server go up, one by one (kubernetes/website
    `content/en/releases/version-skew-policy.md`, Supported component upgrade order)."""
    before, after = (one.spec.cluster.kubernetes_version for one in (old, new))
    step = int(after.split(".")[1]) - int(before.split(".")[1])
    following = f"1.{int(before.split('.')[1]) + 1}"
    return _rules("versions", before=before, after=after, step=step, following=following)


def validate_addons(found: Sequence[FieldDifference]) -> Iterable[Finding]:
    """Add-ons whose pods restart, and drivers that are reloaded."""
    operands, drivers = (_by_addon(found, one) for one in (LeafClass.OPERAND, LeafClass.DRIVER))
    if any(path.startswith("addons.") for path in drivers):
        operands.pop("addons.gpuOperator", None)
    for path, fields in operands.items():
        names = [one.field for one in fields]
        yield _finding("change-restarts-operands", path, shown=_changed(fields), fields=names)
    for path, fields in drivers.items():
        names = [one.field for one in fields]
        yield _finding("change-reloads-driver", path, shown=_changed(fields), fields=names)


def _by_addon(
    found: Sequence[FieldDifference], leaf_class: LeafClass
) -> dict[str, list[FieldDifference]]:
    addons: dict[str, list[FieldDifference]] = {}
    for one in found:
        if one.leaf_class is leaf_class:
            addons.setdefault(_addon(one.field), []).append(one)
    return addons


def _changed(fields: Sequence[FieldDifference]) -> str:
    return ", ".join(f"{one.field} from {one.old} to {one.new}" for one in fields[:_SHOWN])


def validate_refused(path: str, what: str, found: Sequence[FieldDifference]) -> Iterable[Finding]:
    """Differences that the provider, or the API server, refuses: always, or without the setting
    that the reason names."""
    fields = [one for one in found if one.leaf_class is LeafClass.REFUSED or one.refusal]
    if fields:
        shown = ", ".join(map(_short, fields[:_SHOWN]))
        reasons = dict.fromkeys(one.refusal for one in fields if one.refusal)
        yield _finding(
            "change-refused",
            path,
            fix=(
                "; ".join(reasons)
                or "take them back, or declare it under a new name and move the work"
            ),
            what=what,
            shown=shown,
            fields=[one.field for one in fields],
        )


def _short(one: FieldDifference) -> str:
    """A difference with its values, if they are short."""
    long = max(len(one.old), len(one.new)) > _LONG
    return one.field if long else f"{one.field} ({one.old} -> {one.new})"


def _addon(field: str) -> str:
    """`addons.gpuOperator`, or the file, of a field."""
    name, _, inside = field.partition(" ")
    return name if inside or "/" in name else ".".join(field.split(".")[:2])


def validate_nodes(old: Pool, new: Pool, change: PoolChange) -> Iterable[Finding]:
    """Machines that are powered off or removed, and taints that evict pods."""
    gone = [one.resource for one in change.engine if one.operation is ResourceOperation.DELETE]
    removed = [
        one for one in gone if one.partition("/")[0] in platform_rules(new.platform).node_kinds
    ]
    off = list(
        dict.fromkeys(
            one.field.rpartition("/")[2].partition(".")[2] if "/" in one.field else one.field
            for one in (*change.differences, *change.inputs)
            if one.leaf_class is LeafClass.RESTART
        )
    )
    before = {(taint.key, taint.value) for taint in old.taints if taint.effect == "NoExecute"}
    evicting = [
        taint.key
        for taint in new.taints
        if taint.effect == "NoExecute" and (taint.key, taint.value) not in before
    ]
    known = {"removed": removed, "off": off, "evicting": evicting}
    return _rules("nodes", new.path, new=new, change=change, **known)
