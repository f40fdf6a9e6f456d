"""Findings about differences by their class."""

from collections.abc import Iterable, Sequence

from gpufleet.change.plan import FieldDifference, PoolChange, ResourceOperation
from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.spec.base import Ownership

_SHOWN = 8
_LONG = 60
"""Characters of a value above which it is not repeated."""


def unknown(
    found: Sequence[FieldDifference], path: str, who: str, reason: str | None
) -> Iterable[Finding]:
    """One finding for all differences that no class explains: an error until it is accepted
    with a reason."""
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
        yield error(
            "kubernetes-downgrade",
            path,
            f"Kubernetes {before} -> {after}: a control plane cannot go back to an older minor "
            "version",
            f'write "{before}", or make another cluster and move the work',
            found=after,
            limit=before,
        )
    if step > 1:
        following = f"1.{int(before.split('.')[1]) + 1}"
        yield error(
            "kubernetes-minor-skipped",
            path,
            f"Kubernetes {before} -> {after}: a control plane goes up one minor version at a time",
            f'write "{following}" first, and each one after it in turn',
            found=after,
            limit=following,
        )


def validate_addons(found: Sequence[FieldDifference]) -> Iterable[Finding]:
    """Add-ons whose pods restart, and drivers that are loaded anew."""
    for leaf_class, code, text, fix in (
        (
            LeafClass.OPERAND,
            "change-restarts-operands",
            "its pods restart in the whole cluster, on every pool at once",
            "read the release notes of each version between; change no layout in the same update",
        ),
        (
            LeafClass.DRIVER,
            "change-reloads-driver",
            "the driver is loaded anew on each node, whose GPU pods must leave first",
            "set driver.upgradePolicy, and change no layout in the same update",
        ),
    ):
        addons: dict[str, list[FieldDifference]] = {}
        for one in found:
            if one.leaf_class is leaf_class:
                addons.setdefault(_addon(one.field), []).append(one)
        if leaf_class is LeafClass.OPERAND and any(
            one.leaf_class is LeafClass.DRIVER and one.field.startswith("addons.") for one in found
        ):
            addons.pop("addons.gpuOperator", None)
        for path, fields in addons.items():
            shown = ", ".join(f"{one.field} from {one.old} to {one.new}" for one in fields[:_SHOWN])
            yield warning(code, path, f"{shown}: {text}", fix, fields=[one.field for one in fields])


def validate_refused(path: str, what: str, found: Sequence[FieldDifference]) -> Iterable[Finding]:
    """Differences that the provider, or the API server, does not take: whatever is declared, or
    without the word that the reason names."""
    fields = [one for one in found if one.leaf_class is LeafClass.REFUSED or one.refusal]
    if fields:
        shown = ", ".join(map(_short, fields[:_SHOWN]))
        reasons = dict.fromkeys(one.refusal for one in fields if one.refusal)
        yield error(
            "change-refused",
            path,
            f"these differences of {what} are refused, by its provider or by the API server: "
            f"{shown}",
            "; ".join(reasons)
            or "take them back, or declare it under a new name and move the work",
            fields=[one.field for one in fields],
        )


def _short(one: FieldDifference) -> str:
    """A difference with its values, where they are not long."""
    long = max(len(one.old), len(one.new)) > _LONG
    return one.field if long else f"{one.field} ({one.old} -> {one.new})"


def validate_ownership(old: Pool, new: Pool) -> Iterable[Finding]:
    """Nodes that `pulumi up` deletes because it is to make them no longer, or elsewhere."""
    if old.platform != new.platform:
        yield error(
            "change-moves-platform",
            "platform",
            f"{new.name} moves from {old.platform.name} to {new.platform.name}: another cluster "
            "with other nodes, and nothing of the old one is moved there",
            "make a stack of its own for the new cluster, move the work, then remove the old one",
        )
    elif old.ownership is Ownership.MANAGED:
        yield error(
            "change-gives-up-nodes",
            f"{new.path}.ownership",
            f"{new.name} becomes `{new.ownership.value}`: `pulumi up` deletes what it made for the "
            "pool, nodes included",
            "run `pulumi state delete` for its resources before, or write `ownership: managed`",
            found=new.ownership.value,
        )
    elif new.spec.import_id is None:
        yield warning(
            "change-doubles-nodes",
            f"{new.path}.ownership",
            f"{new.name} becomes `managed` without importId: `pulumi up` makes new nodes next to "
            "those that exist",
            "write importId, the id of the node group that exists",
        )


def _addon(field: str) -> str:
    """`addons.gpuOperator`, or the file, of a field."""
    name, _, inside = field.partition(" ")
    return name if inside or "/" in name else ".".join(field.split(".")[:2])


def validate_nodes(old: Pool, new: Pool, change: PoolChange) -> Iterable[Finding]:
    """Machines that are powered off or go, and taints that evict pods."""
    if new.nodes.maximum < change.nodes:
        yield warning(
            "change-removes-nodes",
            f"{new.path}.nodes.max",
            f"{new.name} has {change.nodes} nodes and may have {new.nodes.maximum}: the others go",
            "drain them first",
            found=new.nodes.maximum,
            nodes=change.nodes,
        )
    gone = [one.resource for one in change.engine if one.operation is ResourceOperation.DELETE]
    nodes = [
        one for one in gone if one.partition("/")[0] in platform_rules(new.platform).node_kinds
    ]
    if nodes:
        yield warning(
            "change-removes-nodes",
            new.path,
            f"{', '.join(nodes)} of {new.name} go",
            "drain them first",
            nodes=nodes,
        )
    off = list(
        dict.fromkeys(
            one.field.rpartition("/")[2].partition(".")[2] if "/" in one.field else one.field
            for one in (*change.differences, *change.inputs)
            if one.leaf_class is LeafClass.RESTART
        )
    )
    if off:
        yield warning(
            "change-restarts-machines",
            new.path,
            f"{', '.join(off)} of {new.name} need its machines powered off: the update policy "
            "decides whether they are refused, restarted or replaced",
            "drain the nodes first",
            fields=off,
        )
    before = {(taint.key, taint.value) for taint in old.taints if taint.effect == "NoExecute"}
    fresh = [
        taint.key
        for taint in new.taints
        if taint.effect == "NoExecute" and (taint.key, taint.value) not in before
    ]
    if fresh:
        yield warning(
            "change-evicts-pods",
            f"{new.path}.taints",
            f"NoExecute taints {', '.join(fresh)} evict every pod of {new.name} that does not "
            "tolerate them, at once and past disruption budgets",
            "write NoSchedule, or give the pods the toleration first",
            taints=fresh,
        )
