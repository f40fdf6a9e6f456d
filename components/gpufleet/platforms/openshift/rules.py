"""Findings about add-ons that OpenShift cannot run: charts of operators that Lifecycle Manager
installs, settings that its objects lack, drivers without an image."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, findings_in, rules_in
from gpufleet.fleet.model import AddonPlan, Pool
from gpufleet.platforms.openshift.cluster_policy import without_a_place
from gpufleet.platforms.openshift.machine_clouds import (
    CLOUDS,
    makes_machines,
    options_of,
    sizes_of,
    zones_of,
)
from gpufleet.platforms.openshift.shape import MAX_NAME, machine_set_name
from gpufleet.spec.addons import ClusterAutoscaler
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec

_finding, _rules = findings_in(__file__), rules_in(__file__)


def validate_openshift(spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan) -> list[Finding]:
    """Findings on OpenShift."""
    return list(_validate(spec, pools, plan))


def _validate(spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan) -> Iterable[Finding]:
    addons, operator = spec.addons, spec.addons.gpu_operator
    for pool in pools:
        yield from validate_pool(pool, spec.resource_prefix, spec)
    yield from CLOUDS[spec.platform].validate_fleet(spec)
    typed, raw = operator.driver, operator.values
    driver = {
        part: _said(value_at(raw, f"driver.{part}"), getattr(typed, part))
        for part in ("repository", "image", "version")
    }
    network, olm = addons.network_operator, addons.olm
    pairs = {
        "gpuOperator": (operator.version, olm.gpu_operator.starting_csv),
        "networkOperator": (network.version, olm.network_operator.starting_csv),
    }
    yield from _rules(
        "fleet",
        spec=spec,
        threshold=ClusterAutoscaler().scale_down_gpu_utilization_threshold,
        operator_keys=list(without_a_place(raw)),
        network_keys=sorted(network.values),
        differing=[
            {"place": f"addons.olm.{name}", "section": name, "csv": csv, "version": version}
            for name, (version, csv) in pairs.items()
            if version is not None and csv is not None and version.removeprefix("v") not in csv
        ],
        driver=driver,
        parts=" and ".join(part for part, value in driver.items() if value),
        precompiled=_said(value_at(raw, "driver.usePrecompiled"), typed.precompiled),
        approved=[one.name for one in plan.subscriptions if one.ownership is Ownership.MANAGED],
    )


def _said(written: Any, typed: Any) -> Any:
    return typed if written is None else written


_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def validate_pool(pool: Pool, prefix: str, spec: FleetSpec) -> Iterable[Finding]:
    """Findings on one pool. `prefix` is the prefix of its MachineSet's name."""
    options = options_of(pool) if makes_machines(pool) else None
    place = f"{pool.path}.{pool.platform.name.value}"
    yield from _rules("pool", pool.path, pool=pool, options=options, place=place)
    yield from CLOUDS[pool.platform.name].validate_pool(pool, spec)
    if options is None:
        return
    yield from _from_zero(pool)
    if pool.ownership is not Ownership.EXISTING:
        yield from _pool_name(pool, prefix)


def _from_zero(pool: Pool) -> Iterable[Finding]:
    """Annotations describe an empty group, and hold one extended resource."""
    offered = sorted(name for name, count in pool.advertised.items() if count > 0)
    zones = zones_of(pool)
    fewest = min((sizes_of(pool, zone)[0] for zone in zones), default=1)
    known = {"offered": offered, "fewest": fewest, "least": max(1, len(zones))}
    yield from _rules("empty", pool.path, pool=pool, **known)


def _pool_name(pool: Pool, prefix: str) -> Iterable[Finding]:
    if _NAME.fullmatch(prefix) is None:
        yield _finding("openshift-name-illegal", found=prefix, lowered=_lowered(prefix))
        return
    for zone in pool.spec.zones:
        if _NAME.fullmatch(zone) is None:
            yield _finding(
                "openshift-name-illegal/zone", pool.path, found=zone, lowered=_lowered(zone)
            )
    try:
        for zone in zones_of(pool):
            machine_set_name(prefix, pool, zone)
    except ValueError as problem:
        yield error(
            "openshift-name-too-long",
            f"{pool.path}.name",
            str(problem),
            "write a shorter namePrefix",
            limit=MAX_NAME,
        )


def _lowered(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "gpu"
