"""Failures between two versions, and changes that should not be combined.

Records are rows of the catalogue (`transitions.jsonl`), each with its source. A version without a
row or a pin of the edition is not recorded, and an error until it is accepted.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

from gpufleet.catalogue import Catalogue, load
from gpufleet.catalogue.transitions import Transition, ordinal
from gpufleet.change.classified import ADDONS, declared_addon, installed
from gpufleet.change.plan import FieldDifference, NodeChangeKind, PoolChange
from gpufleet.findings import Finding, findings_in, warning
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.gpu_operator_chart import operator_values
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.render.gpu_operator_values import fleet_operator_settings
from gpufleet.spec.addons import CHARTS
from gpufleet.spec.base import Ownership

_finding = findings_in(__file__)

KUBERNETES = "kubernetes"


def validate_transitions(old: Fleet, new: Fleet, reason: str | None) -> Iterator[Finding]:
    """Findings about versions of charts, Kubernetes and node images that both fleets have."""
    before, after = (_catalogue(fleet) for fleet in (old, new))
    for section in ADDONS:
        yield from _removed(old, new, section)
    for section, chart in CHARTS.items():
        if not (installed(old, section) and installed(new, section)):
            continue
        path = f"addons.{section}.version"
        one, two = (
            declared_addon(fleet, section).version or catalogue.chart(chart).version
            for fleet, catalogue in ((old, before), (new, after))
        )
        if ordinal(one) == ordinal(two):
            continue
        yield from _crossed(new, chart, path, one, two, old)
        yield from _of_chart(after, chart, path, (one, two), reason)
    one, two = (fleet.spec.cluster.kubernetes_version for fleet in (old, new))
    yield from _crossed(new, KUBERNETES, "cluster.kubernetesVersion", one, two)
    yield from _of_driver(old, new)


def validate_images(old: Fleet, new: Fleet, name: str) -> Iterator[Finding]:
    """Findings about the node image of a pool that both fleets have."""
    one, two, catalogue = old.pool(name), new.pool(name), _catalogue(new)
    if one.image is None or two.image is None:
        return
    path = f"{two.path}.image"
    if one.image.key != two.image.key:
        rows = catalogue.transitions.get(one.image.key, ())
        yield from (_breaks(row, path) for row in rows if row.at == two.image.key)
        return
    before, after = (platform_rules(pool.platform).image_release(pool) for pool in (one, two))
    if after is not None and before != after:
        rows = catalogue.transitions.get(two.image.key, ())
        dated = (row for row in rows if row.at.isdigit())
        yield from (_breaks(row, path) for row in dated if row.applies(before or "0", after))


def validate_together(
    cluster: Sequence[FieldDifference], changes: Sequence[PoolChange]
) -> Iterator[Finding]:
    """Changes that hide each other's failures: one at a time shows the cause."""
    classes = {one.leaf_class for one in cluster}
    kubernetes = LeafClass.CONTROL_PLANE in classes
    driver = LeafClass.DRIVER in classes
    recut = [c.name for c in changes if c.kind is NodeChangeKind.RECUT]
    images = [c.name for c in changes if any(one.field == "image" for one in c.differences)]
    fields = [one.field for one in cluster]
    operators = [f for f in fields if f.startswith("addons.") and f.endswith("version")]
    for there, what in (
        (kubernetes and bool(operators), f"Kubernetes and {', '.join(operators)}"),
        (kubernetes and driver and not operators, "Kubernetes and the driver"),
        (driver and bool(recut), f"the driver and the partition of {', '.join(recut)}"),
        (kubernetes and bool(recut), f"Kubernetes and the partition of {', '.join(recut)}"),
        (driver and bool(images), f"the driver and the image of {', '.join(images)}"),
    ):
        if there:
            yield _finding("change-together", what=what)


def _removed(old: Fleet, new: Fleet, section: str) -> Iterator[Finding]:
    """An add-on that `pulumi up` deletes."""
    one, two = declared_addon(old, section), declared_addon(new, section)
    path = f"addons.{section}"
    if not installed(old, section) or one.ownership is not Ownership.MANAGED:
        return
    if installed(new, section) and two.ownership is not Ownership.MANAGED:
        found = two.ownership.value
        yield _finding("change-gives-up-addon", path, section=section, found=found)
    elif two.enabled is False and one.enabled is not False:
        yield _finding("change-removes-addon", path, section=section)


def _catalogue(fleet: Fleet) -> Catalogue:
    return load(fleet.spec.catalogue, overlay=fleet.spec.catalogue_overlay)


def _crossed(
    fleet: Fleet, subject: str, path: str, old: str, new: str, before: Fleet | None = None
) -> Iterator[Finding]:
    drivers = fleet.addons.gpu_operator.driver
    for row in _catalogue(fleet).transitions.get(subject, ()):
        there = row.platform in {None, fleet.spec.platform.value}
        if not there or not row.applies(old, new) or (row.driver and not drivers):
            continue
        if row.switches is not None:
            was, now = (on and _operator_value(on, row.switches) for on in (before, fleet))
            if was or not now:
                continue
        yield _breaks(row, path, f"{subject} {old} -> {new}: ")


def _operator_value(fleet: Fleet, key: str) -> Any:
    values = merged(
        operator_values(fleet_operator_settings(fleet)), fleet.spec.addons.gpu_operator.values
    )
    return reduce(lambda one, part: one.get(part, {}), key.split("."), values)


def _breaks(row: Transition, path: str, head: str = "") -> Finding:
    return warning(
        "change-breaks",
        path,
        f"{head}from {row.at} on {row.breaks}",
        row.first,
        facts=[{"fact": row.breaks, "source": row.source.key}],
    )


def _of_chart(
    catalogue: Catalogue, chart: str, path: str, versions: tuple[str, str], reason: str | None
) -> Iterable[Finding]:
    old, new = versions
    if ordinal(new) < ordinal(old):
        yield _finding("chart-downgrade", path, chart=chart, found=new, limit=old)
    recorded = (row.at for row in catalogue.transitions.get(chart, ()))
    known = {catalogue.chart(chart).version, *recorded}
    if ordinal(new) not in {ordinal(one) for one in known}:
        take = catalogue.chart(chart).version
        if reason is None:
            yield _finding(
                "change-version-unrecorded", path, chart=chart, old=old, found=new, known=take
            )
        else:
            yield _finding(
                "change-version-unrecorded/accepted",
                path,
                chart=chart,
                old=old,
                found=new,
                known=take,
                reason=reason,
            )


def _of_driver(old: Fleet, new: Fleet) -> Iterator[Finding]:
    if not (old.addons.gpu_operator.driver and new.addons.gpu_operator.driver):
        return
    one, two = (fleet.spec.addons.gpu_operator.driver for fleet in (old, new))
    if two.version is not None and one.version != two.version:
        path = "addons.gpuOperator.driver.version"
        yield from _crossed(new, "driver", path, one.version or "", two.version)
    if one.precompiled and not two.precompiled:
        rows = _catalogue(new).transitions.get("driver-precompiled", ())
        path = "addons.gpuOperator.driver.precompiled"
        yield from (_breaks(row, path) for row in rows)
    policy = two.upgrade_policy
    changed = one.version != two.version or (
        old.addons.gpu_operator.version != new.addons.gpu_operator.version
    )
    if not changed or policy is None:
        return
    if not policy.auto_upgrade:
        yield _finding("change-driver-waits")
    elif not policy.drain.enabled:
        yield _finding("change-driver-without-drain")
