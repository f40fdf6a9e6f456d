"""Kinds that no rule reads: those that cannot concern a GPU, those of which the definition says all
that is known, and all the others.

Sources: Kubernetes API reference 1.36, groups and kinds; the API references of the named projects.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.contract.schemas import has_schema

_GROUPS = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "gateway.networking.k8s.io",
        "snapshot.storage.k8s.io",
        "cert-manager.io",
        "external-secrets.io",
        "networking.istio.io",
        "security.istio.io",
        "route.openshift.io",
        # What releases and kustomizations come from; `contract.wrappers` reads what it needs.
        "source.toolkit.fluxcd.io",
        "kustomize.toolkit.fluxcd.io",
        "notification.toolkit.fluxcd.io",
        "image.toolkit.fluxcd.io",
    }
)
"""API groups without a kind that makes pods or nodes, or configures what serves GPUs."""

_KINDS = frozenset(
    {
        ("", "Binding"),
        ("", "ComponentStatus"),
        ("", "Endpoints"),
        ("", "Event"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Secret"),
        ("", "Service"),
        ("", "ServiceAccount"),
        ("apps", "ControllerRevision"),
        ("argoproj.io", "AppProject"),
        # Room for pods to come, by a PodTemplate that runs nothing.
        ("autoscaling.x-k8s.io", "ProvisioningRequest"),
        ("scheduling.volcano.sh", "PodGroup"),
        ("scheduling.volcano.sh", "Queue"),
        ("bitnami.com", "SealedSecret"),
        ("monitoring.coreos.com", "PodMonitor"),
        ("monitoring.coreos.com", "Probe"),
        ("monitoring.coreos.com", "PrometheusRule"),
        ("monitoring.coreos.com", "ServiceMonitor"),
        ("project.openshift.io", "Project"),
    }
)

_BY_DEFINITION = {
    "autoscaling.openshift.io": ("ClusterAutoscaler", "MachineAutoscaler"),
    "machineconfiguration.openshift.io": ("KubeletConfig", "MachineConfig", "MachineConfigPool"),
    "operators.coreos.com": ("CatalogSource", "InstallPlan", "OperatorGroup", "Subscription"),
}
"""API group -> kinds of GPU nodes and operators that are validated by their definition alone."""


def is_validated_by_definition(document: Mapping[str, Any], group: str, kind: str) -> bool:
    """Whether an object's definition is known, and no rule would say more about its kind."""
    return kind in _BY_DEFINITION.get(group, ()) and has_schema(document.get("apiVersion"), kind)


def cannot_concern_gpus(group: str, kind: str) -> bool:
    """Whether objects of a kind neither make pods or nodes nor configure what serves GPUs."""
    return group in _GROUPS or (group, kind) in _KINDS
