"""Findings about add-ons that OpenShift cannot run: charts of operators that Lifecycle Manager
installs, settings that its objects lack, drivers without an image."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, findings_in, rules_in
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, AddonPlan, Pool
from gpufleet.platforms.openshift.cluster_policy import without_a_place
from gpufleet.platforms.openshift.machine_clouds import (
    CLOUDS,
    makes_machines,
    options_of,
    sizes_of,
    zones_of,
)
from gpufleet.platforms.openshift.shape import MAX_NAME, machine_set_name
from gpufleet.spec.addons import Addons, ClusterAutoscaler, GpuOperator
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.olm import Approval, OperatorPackage

_finding, _rules = findings_in(__file__), rules_in(__file__)

_SCALER = "addons.clusterAutoscaler"


def validate_openshift(spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan) -> list[Finding]:
    """Findings on OpenShift."""
    return list(_validate(spec, pools, plan))


def _validate(spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan) -> Iterable[Finding]:
    addons = spec.addons
    prefix = spec.resource_prefix
    for pool in pools:
        yield from validate_pool(pool, prefix, spec)
    yield from CLOUDS[spec.platform].validate_fleet(spec)
    threshold = ClusterAutoscaler().scale_down_gpu_utilization_threshold
    yield from _rules("fleet", spec=spec, threshold=threshold)
    yield from _charts(addons)
    yield from _versions(addons)
    yield from _driver(addons.gpu_operator)
    yield from _autoscaler(addons.cluster_autoscaler)
    approved = [one.name for one in plan.subscriptions if one.ownership is Ownership.MANAGED]
    if addons.olm.approval is Approval.MANUAL and approved:
        yield _finding(
            "olm-approval-needed", operators=approved, wait_minutes=addons.olm.wait_minutes
        )


def _charts(addons: Addons) -> Iterator[Finding]:
    for path, values, keys in (
        (
            "addons.gpuOperator.values",
            addons.gpu_operator.values,
            list(without_a_place(addons.gpu_operator.values)),
        ),
        (
            "addons.networkOperator.values",
            addons.network_operator.values,
            sorted(addons.network_operator.values),
        ),
    ):
        if values and keys:
            yield _finding("helm-values-without-chart", path, found=keys)
    for name, enabled in (
        ("devicePlugin", addons.device_plugin.enabled),
        ("draDriver", addons.dra_driver.enabled),
    ):
        if enabled:
            yield _finding("openshift-chart-instead-of-operator", f"addons.{name}", found=True)


def _versions(addons: Addons) -> Iterator[Finding]:
    pairs: tuple[tuple[str, str | None, OperatorPackage], ...] = (
        (GPU_OPERATOR, addons.gpu_operator.version, addons.olm.gpu_operator),
        (NETWORK_OPERATOR, addons.network_operator.version, addons.olm.network_operator),
    )
    for name, version, package in pairs:
        csv = package.starting_csv
        if version is None or csv is None or version.removeprefix("v") in csv:
            continue
        section = "gpuOperator" if name == GPU_OPERATOR else "networkOperator"
        yield _finding(
            "olm-versions-differ",
            f"addons.olm.{section}",
            found=csv,
            version=version,
            section=section,
        )


def _driver(operator: GpuOperator) -> Iterator[Finding]:
    typed = operator.driver
    given = {
        part: _said(value_at(operator.values, f"driver.{part}"), value)
        for part, value in (
            ("repository", typed.repository),
            ("image", typed.image),
            ("version", typed.version),
        )
    }
    named = [part for part, value in given.items() if value]
    if named and not given["version"]:
        yield error(
            "openshift-driver-image-incomplete",
            "addons.gpuOperator.driver.version",
            f"{' and '.join(named)} of the driver image {'is' if len(named) == 1 else 'are'} "
            "written and its version is not: the operator takes all three from the ClusterPolicy, "
            "or none",
            "write the version, or remove the others",
            found=given,
        )
    precompiled = _said(value_at(operator.values, "driver.usePrecompiled"), typed.precompiled)
    if precompiled and not given["repository"]:
        yield _finding("openshift-driver-precompiled")


def _autoscaler(addon: ClusterAutoscaler) -> Iterator[Finding]:
    written = addon.model_fields_set
    for name in ("version", "values"):
        if name in written and getattr(addon, name):
            yield _finding("openshift-autoscaler-chart", f"{_SCALER}.{name}")


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
    fewest = min((sizes_of(pool, zone)[0] for zone in zones_of(pool)), default=1)
    if fewest == 0 and len(offered) > 1:
        yield _finding(
            "openshift-scale-from-zero",
            pool.path,
            fix=(
                f"write min: {max(1, len(zones_of(pool)))}, so that the autoscaler sees a node, "
                "or a pool for each profile"
            ),
            resources=offered,
            found=pool.nodes.minimum,
        )


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
