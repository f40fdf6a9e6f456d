"""Operators of OpenShift as objects: namespace, OperatorGroup, Subscription, and the settings of
Node Feature Discovery.

Formats, read 2026-11-22: operator-framework/api `pkg/operators` (OperatorGroup v1, Subscription
v1alpha1), openshift/cluster-nfd-operator `api/v1` and Red Hat's documentation of it (4.20),
NVIDIA/cloud-native-docs `openshift/install-gpu-ocp.rst`.
"""

from typing import Any

from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.manifest import MANAGED_BY
from gpufleet.fleet.model import Fleet, OperatorSubscription
from gpufleet.fleet.network_operator_chart import PCI_CLASSES
from gpufleet.platforms.openshift.cluster_policy import cluster_policy
from gpufleet.platforms.openshift.lifecycle import discovery_image
from gpufleet.render.gpu_operator_values import mig_parted_files, plugin_files
from gpufleet.render.manifests import PRIVILEGED, gpu_operator_release_values

INSTALLED = "jsonpath={.status.installedCSV}"
"""What a Subscription has once its operator is installed and its kinds exist."""
MONITORED = {"openshift.io/cluster-monitoring": "true"}
"""Label of namespaces whose metrics OpenShift's own Prometheus collects."""
DISCOVERY = "nfd-instance"


def operator_group(operator: OperatorSubscription) -> dict[str, Any]:
    """The OperatorGroup: an operator of its own namespace."""
    return {
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {
            "name": operator.group,
            "namespace": operator.namespace,
            "labels": dict(MANAGED_BY),
        },
        "spec": {"targetNamespaces": [operator.namespace]},
    }


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
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": {
            "name": operator.package,
            "namespace": operator.namespace,
            "labels": dict(MANAGED_BY),
        },
        "spec": spec,
    }


def namespace(operator: OperatorSubscription) -> dict[str, Any]:
    """The namespace, for tools that apply files."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": operator.namespace,
            "labels": {
                **MANAGED_BY,
                **MONITORED,
                **PRIVILEGED,
            },
        },
    }


def node_feature_discovery(fleet: Fleet, operator: OperatorSubscription) -> dict[str, Any]:
    """The NodeFeatureDiscovery: network and display controllers are labelled by their vendor, on
    tainted nodes too."""
    worker = {
        "sources": {
            "pci": {"deviceClassWhitelist": list(PCI_CLASSES), "deviceLabelFields": ["vendor"]}
        }
    }
    tolerations = [GPU_TOLERATION, *fleet.addons.gpu_operator.tolerations]
    return {
        "apiVersion": "nfd.openshift.io/v1",
        "kind": "NodeFeatureDiscovery",
        "metadata": {
            "name": DISCOVERY,
            "namespace": operator.namespace,
            "labels": dict(MANAGED_BY),
        },
        "spec": {
            "operand": {
                "image": discovery_image(fleet.spec.addons, fleet.spec.cluster.kubernetes_version),
                "workerTolerations": [one.as_dict() for one in tolerations],
            },
            "workerConfig": {"configData": yaml_text(worker)},
        },
    }


def fleet_cluster_policy(fleet: Fleet) -> dict[str, Any]:
    """The ClusterPolicy of a fleet, with its ConfigMaps of layouts and sharing named."""
    return cluster_policy(
        gpu_operator_release_values(fleet, mig_parted_files(fleet), plugin_files(fleet))
    )
