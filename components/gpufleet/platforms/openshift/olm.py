"""Operators of OpenShift as objects: namespace, OperatorGroup, Subscription, and the settings of
Node Feature Discovery.

Formats, read 2026-11-22: operator-framework/api `pkg/operators` (OperatorGroup v1, Subscription
v1alpha1), openshift/cluster-nfd-operator `api/v1` and Red Hat's documentation of it (4.20),
NVIDIA/cloud-native-docs `openshift/install-gpu-ocp.rst`.
"""

from typing import Any

from gpufleet.catalogue import Catalogue, Package
from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.documents.data_files import data_part
from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, Fleet, OperatorSubscription
from gpufleet.fleet.nic_cluster_policy import PCI_CLASSES
from gpufleet.platforms.openshift.cluster_policy import cluster_policy
from gpufleet.platforms.openshift.shape import OBJECTS
from gpufleet.render.manifests import PRIVILEGED, gpu_operator_release_values
from gpufleet.spec.addons import Addons
from gpufleet.spec.base import Ownership
from gpufleet.spec.cluster import OPENSHIFT_BEHIND
from gpufleet.spec.olm import Approval, LifecycleManager, OperatorPackage

INSTALLED = "jsonpath={.status.installedCSV}"
"""State of a Subscription once its operator is installed and its kinds exist."""
MONITORED = {"openshift.io/cluster-monitoring": "true"}
"""Label of namespaces whose metrics OpenShift's own Prometheus collects."""
DISCOVERY = "nfd-instance"


def operator_group(operator: OperatorSubscription) -> dict[str, Any]:
    """The OperatorGroup: an operator of its own namespace."""
    spec, version = {"targetNamespaces": [operator.namespace]}, "operators.coreos.com/v1"
    return manifest(version, "OperatorGroup", operator.group, operator.namespace, spec=spec)


def subscription(operator: OperatorSubscription) -> dict[str, Any]:
    """The Subscription."""
    spec: dict[str, Any] = {
        "name": operator.package,
        "channel": operator.channel,
        "source": operator.catalog,
        "sourceNamespace": operator.catalog_namespace,
        "installPlanApproval": "Manual" if operator.manual else "Automatic",
    }
    if operator.starting_csv is not None:
        spec["startingCSV"] = operator.starting_csv
    version = "operators.coreos.com/v1alpha1"
    return manifest(version, "Subscription", operator.package, operator.namespace, spec=spec)


def namespace(operator: OperatorSubscription) -> dict[str, Any]:
    """The namespace, for tools that apply files."""
    return manifest("v1", "Namespace", operator.namespace, labels={**MONITORED, **PRIVILEGED})


def node_feature_discovery(fleet: Fleet, operator: OperatorSubscription) -> dict[str, Any]:
    """The NodeFeatureDiscovery: network and display controllers are labelled by their vendor, also
    on tainted nodes."""
    tolerations = [GPU_TOLERATION, *fleet.addons.gpu_operator.tolerations]
    spec = data_part(
        OBJECTS,
        "nodeFeatureDiscovery",
        image=discovery_image(fleet.spec.addons, fleet.spec.cluster.kubernetes_version),
        tolerations=[one.as_dict() for one in tolerations],
        worker=yaml_text(data_part(OBJECTS, "discoveryWorker", classes=list(PCI_CLASSES))),
    )
    kind = "NodeFeatureDiscovery"
    return manifest("nfd.openshift.io/v1", kind, DISCOVERY, operator.namespace, spec=spec)


def fleet_cluster_policy(fleet: Fleet) -> dict[str, Any]:
    """The ClusterPolicy of a fleet, with its ConfigMaps of layouts and sharing named."""
    return cluster_policy(gpu_operator_release_values(fleet))


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
    """The requested operator. `version` is that of the add-on, if it has one."""
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
    """The subscription of the GPU Operator or Network Operator, in the version of its add-on."""
    addon = addons.gpu_operator if name == GPU_OPERATOR else addons.network_operator
    version = addon.version or catalogue.chart(name).version
    return subscribed(addons.olm, catalogue.package(name), version, addon.ownership)


def discovery_subscription(
    addons: Addons, catalogue: Catalogue, ownership: Ownership
) -> OperatorSubscription:
    """The subscription of Node Feature Discovery, created with the operators that need it."""
    return subscribed(addons.olm, catalogue.package(NODE_FEATURE_DISCOVERY), None, ownership)


def discovery_image(addons: Addons, kubernetes_version: str) -> str:
    """Image of a NodeFeatureDiscovery object."""
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
