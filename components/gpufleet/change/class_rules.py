"""Findings about differences by their class."""

from collections.abc import Iterable, Sequence

from gpufleet.change.plan import FieldDifference, PoolChange, ResourceOperation
from gpufleet.findings import Finding, error, findings_in, warning
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.platform_rules import platform_rules

_finding = findings_in(__file__)

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
    path = "cluster.kubernetesVersion"
    if step < 0:
        yield _finding("kubernetes-downgrade", path, limit=before, found=after)
    if step > 1:
        following = f"1.{int(before.split('.')[1]) + 1}"
        yield _finding(
            "kubernetes-minor-skipped", path, before=before, found=after, limit=following
        )


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
    if new.nodes.maximum < change.nodes:
        yield _finding(
            "change-removes-nodes",
            new.path,
            new=new.name,
            nodes=change.nodes,
            found=new.nodes.maximum,
        )
    gone = [one.resource for one in change.engine if one.operation is ResourceOperation.DELETE]
    nodes = [
        one for one in gone if one.partition("/")[0] in platform_rules(new.platform).node_kinds
    ]
    if nodes:
        yield _finding("change-removes-nodes/all", new.path, nodes=nodes, new=new.name)
    off = list(
        dict.fromkeys(
            one.field.rpartition("/")[2].partition(".")[2] if "/" in one.field else one.field
            for one in (*change.differences, *change.inputs)
            if one.leaf_class is LeafClass.RESTART
        )
    )
    if off:
        yield _finding("change-restarts-machines", new.path, fields=off, new=new.name)
    before = {(taint.key, taint.value) for taint in old.taints if taint.effect == "NoExecute"}
    fresh = [
        taint.key
        for taint in new.taints
        if taint.effect == "NoExecute" and (taint.key, taint.value) not in before
    ]
    if fresh:
        yield _finding("change-evicts-pods", new.path, taints=fresh, new=new.name)
