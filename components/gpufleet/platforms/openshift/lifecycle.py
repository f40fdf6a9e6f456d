"""Operators on OpenShift: which package, channel and version Lifecycle Manager is asked for."""

from gpufleet.catalogue import Catalogue, Package
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, OperatorSubscription
from gpufleet.spec.addons import Addons
from gpufleet.spec.base import Ownership
from gpufleet.spec.cluster import OPENSHIFT_BEHIND
from gpufleet.spec.olm import Approval, LifecycleManager, OperatorPackage

NODE_FEATURE_DISCOVERY = "node-feature-discovery"
NFD_IMAGE = "registry.redhat.io/openshift4/ose-node-feature-discovery-rhel9"
"""Image of Node Feature Discovery since OpenShift 4.13; its tag is the release (Red Hat
documentation, OpenShift 4.20, Node Feature Discovery Operator)."""


def release_of(kubernetes_version: str) -> str:
    """The OpenShift release that runs a Kubernetes minor, `4.21` for `1.34`."""
    return f"4.{int(kubernetes_version.split('.')[1]) - OPENSHIFT_BEHIND}"


def subscribed(
    olm: LifecycleManager, package: Package, version: str | None, ownership: Ownership
) -> OperatorSubscription:
    """What is asked for. `version` is that of the add-on, where it has one."""
    declared = _declared(olm, package.name)
    csv = declared.starting_csv
    if csv is None and version is not None:
        csv = f"{package.package}.v{version.removeprefix('v')}"
    return OperatorSubscription(
        name=package.name,
        package=package.package,
        catalog=olm.certified_catalog if package.catalog == "certified" else olm.redhat_catalog,
        catalog_namespace=olm.catalog_namespace,
        namespace=package.namespace,
        group=package.group,
        channel=declared.channel or package.channel or _channel(version),
        starting_csv=csv,
        manual=olm.approval is Approval.MANUAL,
        wait_minutes=olm.wait_minutes,
        ownership=ownership,
    )


def operator_subscription(name: str, addons: Addons, catalogue: Catalogue) -> OperatorSubscription:
    """The GPU Operator's or the Network Operator's, of the version its add-on has."""
    addon = addons.gpu_operator if name == GPU_OPERATOR else addons.network_operator
    version = addon.version or catalogue.chart(name).version
    return subscribed(addons.olm, catalogue.package(name), version, addon.ownership)


def discovery_subscription(
    addons: Addons, catalogue: Catalogue, ownership: Ownership
) -> OperatorSubscription:
    """Node Feature Discovery's, made by the one who makes the operators that need it."""
    return subscribed(addons.olm, catalogue.package(NODE_FEATURE_DISCOVERY), None, ownership)


def discovery_image(addons: Addons, kubernetes_version: str) -> str:
    """Image that a NodeFeatureDiscovery object names."""
    declared = addons.olm.node_feature_discovery.image
    return declared or f"{NFD_IMAGE}:v{release_of(kubernetes_version)}"


def _declared(olm: LifecycleManager, name: str) -> OperatorPackage:
    return {
        GPU_OPERATOR: olm.gpu_operator,
        NETWORK_OPERATOR: olm.network_operator,
        NODE_FEATURE_DISCOVERY: olm.node_feature_discovery,
    }[name]


def _channel(version: str | None) -> str:
    if version is None:
        return "stable"
    major, minor, *_ = version.removeprefix("v").split(".")
    return f"v{major}.{minor}"
