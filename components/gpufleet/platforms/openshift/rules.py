"""Findings about add-ons that OpenShift cannot run: charts of operators that Lifecycle Manager
installs, settings that its objects do not have, drivers without an image."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, info
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, AddonPlan, Pool
from gpufleet.platforms.openshift.cluster_policy import without_a_place
from gpufleet.platforms.openshift.machine_clouds import CLOUDS
from gpufleet.platforms.openshift.pool_rules import validate_pool
from gpufleet.spec.addons import Addons, ClusterAutoscaler, Expander, GpuOperator
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.olm import Approval, OperatorPackage

_SCALER = "addons.clusterAutoscaler"


def validate_openshift(spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan) -> list[Finding]:
    """Findings on OpenShift."""
    return list(_validate(spec, pools, plan))


def _validate(spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan) -> Iterable[Finding]:
    addons = spec.addons
    prefix = spec.name_prefix or spec.cluster.name
    for pool in pools:
        yield from validate_pool(pool, prefix, spec)
    yield from CLOUDS[spec.platform].validate_fleet(spec)
    yield from _charts(addons)
    yield from _versions(addons)
    yield from _driver(addons.gpu_operator)
    yield from _autoscaler(addons.cluster_autoscaler)
    if spec.queues is not None and spec.queues.atomic_scale_up:
        yield error(
            "openshift-provisioning-requests",
            "queues.atomicScaleUp",
            "OpenShift's autoscaler answers no ProvisioningRequests: such jobs would never start",
            "remove it",
        )
    approved = [one.name for one in plan.subscriptions if one.ownership is Ownership.MANAGED]
    if addons.olm.approval is Approval.MANUAL and approved:
        yield info(
            "olm-approval-needed",
            "addons.olm.approval",
            f"someone must approve the InstallPlans of {', '.join(approved)} while the update "
            f"waits, {addons.olm.wait_minutes} minutes at most",
            "write automatic, or approve them in the console",
            operators=approved,
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
            yield error(
                "helm-values-without-chart",
                path,
                f"{', '.join(keys)}: these are read by the operator's Helm chart, and on OpenShift "
                "Lifecycle Manager installs the operator, without a chart",
                "write what the ClusterPolicy has under gpuOperator, the NicClusterPolicy under "
                "networkOperator.policy, and remove the rest",
                found=keys,
            )
    if addons.images.registry is not None:
        yield error(
            "openshift-images-registry",
            "addons.images.registry",
            "operators from Lifecycle Manager name their images by digest; a repository without "
            "image and version would replace all three",
            "mirror them by an ImageDigestMirrorSet of the cluster, and the catalogue by "
            "addons.olm.certifiedCatalog",
            found=addons.images.registry,
        )
    for name, enabled in (
        ("devicePlugin", addons.device_plugin.enabled),
        ("draDriver", addons.dra_driver.enabled),
    ):
        if enabled:
            yield error(
                "openshift-chart-instead-of-operator",
                f"addons.{name}.enabled",
                "its pods mount host paths, which OpenShift admits for the GPU Operator's service "
                "accounts only",
                "remove it: the GPU Operator brings the device plugin",
                found=True,
            )


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
        yield error(
            "olm-versions-differ",
            f"addons.olm.{section}.startingCsv",
            f"{csv} is not of version {version}, which addons.{section}.version asks for",
            "remove one of the two",
            found=csv,
            version=version,
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
        yield error(
            "openshift-driver-precompiled",
            "addons.gpuOperator.driver.precompiled",
            "there is no public driver image with modules for kernels of Red Hat CoreOS: it is "
            "built for each release",
            "write repository, image and version of the one you built, or remove the line: the "
            "operator builds the driver in the cluster's Driver Toolkit image",
        )


def _autoscaler(addon: ClusterAutoscaler) -> Iterator[Finding]:
    written = addon.model_fields_set
    for name in ("version", "values"):
        if name in written and getattr(addon, name):
            yield error(
                "openshift-autoscaler-chart",
                f"{_SCALER}.{name}",
                "OpenShift brings its autoscaler; gpufleet writes the ClusterAutoscaler object "
                "that starts it, and no chart",
                "remove it",
            )
    if addon.expander is Expander.PRIORITY:
        yield error(
            "openshift-autoscaler-priority",
            f"{_SCALER}.expander",
            "the autoscaler reads priorities from a ConfigMap, which is not made on OpenShift",
            f"write {Expander.LEAST_WASTE.value}",
            found=addon.expander.value,
        )
    if addon.provisioning_requests:
        yield error(
            "openshift-provisioning-requests",
            f"{_SCALER}.provisioningRequests",
            "OpenShift's autoscaler answers no ProvisioningRequests",
            "remove it",
        )
    default = ClusterAutoscaler().scale_down_gpu_utilization_threshold
    if addon.scale_down_gpu_utilization_threshold != default:
        yield error(
            "openshift-autoscaler-gpu-threshold",
            f"{_SCALER}.scaleDownGpuUtilizationThreshold",
            "a ClusterAutoscaler has one threshold, of CPU and memory; that of GPU nodes is "
            f"always {default}",
            "remove it",
            found=addon.scale_down_gpu_utilization_threshold,
            limit=default,
        )


def _said(written: Any, typed: Any) -> Any:
    return typed if written is None else written
