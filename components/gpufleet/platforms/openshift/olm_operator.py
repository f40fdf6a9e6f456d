"""OlmOperator: an operator that Operator Lifecycle Manager installs on OpenShift."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.arguments import OlmOperatorArgs
from gpufleet.catalogue import UnknownKeyError, load
from gpufleet.components_base.cluster_objects import ManifestObject, awaited, operator_namespace
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options
from gpufleet.components_base.inputs import checked, refuse
from gpufleet.findings import error
from gpufleet.fleet.model import OperatorSubscription
from gpufleet.platforms.openshift.olm import (
    INSTALLED,
    MONITORED,
    operator_group,
    subscribed,
    subscription,
)
from gpufleet.spec.base import Ownership
from gpufleet.spec.olm import DeclaredOlmOperator

WAIT = "pulumi.com/waitFor"
"""Annotation with which the Kubernetes provider waits for a condition of an object."""


@dataclass(frozen=True, kw_only=True)
class OlmOperatorPlan(ComponentPlan):
    """One requested operator."""

    operator: OperatorSubscription


class OlmOperator(GpuComponent[OlmOperatorPlan]):
    """An operator on OpenShift: its namespace, OperatorGroup and Subscription, pinned.

    Dependent resources are created when the operator is installed and its kinds exist. Removing it
    removes the namespace with the operator; the kinds stay.
    """

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    channel: pulumi.Output[str]
    """Channel of its updates."""
    starting_csv: pulumi.Output[str | None]
    """ClusterServiceVersion to start with; absent: the latest of the channel."""

    def __init__(self, name: str, args: OlmOperatorArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: OlmOperatorPlan) -> Mapping[str, object]:
        operator = plan.operator
        made = operator_namespace(self, name, f"{name}-namespace", operator.namespace, MONITORED)
        namespace = made.metadata["name"]
        own, members = pulumi.ResourceOptions(parent=self), operator_group(operator)
        group = ManifestObject(f"{name}-group", _within(members, namespace), own)
        document = _within(subscription(operator), namespace)
        if operator.wait_minutes:
            document["metadata"]["annotations"] = {WAIT: INSTALLED}
        opts = awaited(self, f"{max(operator.wait_minutes, 1)}m", group)
        ManifestObject(f"{name}-subscription", document, opts)
        return {
            "namespace": namespace,
            "channel": operator.channel,
            "starting_csv": operator.starting_csv,
        }


def _planned(component: str, args: OlmOperatorArgs) -> OlmOperatorPlan:
    given = checked(component, OlmOperatorArgs, args, DeclaredOlmOperator)
    try:
        catalogue = load(given.catalogue)
        package = catalogue.package(given.operator)
    except UnknownKeyError as unknown:
        refuse(component, [error("olm-operator-unknown", "operator", str(unknown))])
    version = given.version
    if version is None and package.name in catalogue.charts:
        version = catalogue.chart(package.name).version
    operator = subscribed(given.settings, package, version, Ownership.MANAGED)
    return OlmOperatorPlan(operator=operator)


def _within(document: dict[str, Any], namespace: pulumi.Output[str]) -> dict[str, Any]:
    """The document in the created namespace, so that the namespace is created first."""
    return {**document, "metadata": {**document["metadata"], "namespace": namespace}}
