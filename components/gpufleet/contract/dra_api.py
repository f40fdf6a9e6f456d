"""The version of resource.k8s.io for claims, templates and classes.

Kubernetes 1.32 and 1.33 need v1beta1 for claims to work, and serve v1beta2 only if it is also
switched on (kubernetes/website `tasks/configure-pod-container/assign-resources/
set-up-dra-cluster.md` of 1.33; openshift/cluster-kube-apiserver-operator pull request 1929).
"""

from collections.abc import Mapping
from types import MappingProxyType

GROUP = "resource.k8s.io/"
SERVED: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"v1": (1, 34), "v1beta2": (1, 33), "v1beta1": (1, 32)}
)
"""Version of the API -> first Kubernetes that has it (k8s.io/api v0.31.14 to v0.36.3, `resource`).
"""
FIRST_WITH_V1 = SERVED["v1"]
CHART_KEY = "resourceApiVersion"
"""Value of the driver's chart with the API version of its own classes."""


def claims_api(minor: tuple[int, int], written: object = None) -> str:
    """`apiVersion` of rendered objects: `written`, the chart's value, or the minor version's."""
    if isinstance(written, str) and written:
        return written
    return f"{GROUP}v1" if minor >= FIRST_WITH_V1 else f"{GROUP}v1beta1"
