"""GpuAdmissionPolicies: the admission policies of the rules, installed by Pulumi."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.inputs import declared, refuse
from gpufleet.findings import FleetError, error
from gpufleet_policies.fronts.admission.policies import (
    EXEMPT_NAMESPACES,
    Enforcement,
    Policy,
    policies,
)
from gpufleet_policies.rules.settings import read_settings


class GpuAdmissionPoliciesArgs(TypedDict):
    """Inputs of `GpuAdmissionPolicies`."""

    enforcement: NotRequired[str]
    """One of `warn`, `deny`: action of mandatory policies. Default `warn`: the client gets a
    warning, and the audit log an entry; advisory policies always warn."""
    settings: NotRequired[dict[str, Any]]
    """Policy settings as in gpu-policy.yaml: `profile`, `rules`, `thresholds`, `fleet`. Default:
    the levels of production. Their `exceptions` do not reach the cluster, annotations of objects
    do."""
    exempt_namespaces: NotRequired[list[str]]
    """Namespaces without checks. Default: kube-system and those of the GPU operators."""


class GpuAdmissionPolicies(pulumi.ComponentResource):
    """ValidatingAdmissionPolicies with their bindings, for every rule one object decides.

    The net under the other fronts: it also sees what `kubectl` and operators make. One per
    cluster; needs Kubernetes 1.30 or newer.
    """

    policy_names: pulumi.Output[list[str]]
    """Names of the policies; their bindings have the same."""
    rules: pulumi.Output[list[str]]
    """Ids of the rules the cluster checks."""

    def __init__(
        self,
        name: str,
        args: GpuAdmissionPoliciesArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Install the policies.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument or a setting is wrong; the text holds all problems.
        """
        component = f'GpuAdmissionPolicies "{name}"'
        given = declared(component, GpuAdmissionPoliciesArgs, cast("dict[str, Any]", args))
        made = _policies(component, given)
        super().__init__("gpufleet:index:GpuAdmissionPolicies", name, {}, opts)
        for one in made:
            short = one.name.removeprefix("gpufleet-")
            policy = ManifestObject(
                f"{name}-{short}", one.policy, pulumi.ResourceOptions(parent=self)
            )
            ManifestObject(
                f"{name}-{short}-binding",
                one.binding,
                pulumi.ResourceOptions(parent=self, depends_on=[policy]),
            )
        self.policy_names = pulumi.Output.from_input([one.name for one in made])
        checked = dict.fromkeys(rule for one in made for rule in one.rules)
        self.rules = pulumi.Output.from_input(list(checked))
        self.register_outputs({"policyNames": self.policy_names, "rules": self.rules})


def _policies(component: str, given: dict[str, Any]) -> tuple[Policy, ...]:
    enforcement = given.get("enforcement", Enforcement.WARN.value)
    if enforcement not in list(Enforcement):
        allowed = ", ".join(Enforcement)
        refuse(
            component,
            [error("argument-invalid", "enforcement", f"{enforcement!r} is not one of {allowed}")],
        )
    try:
        settings = read_settings(given.get("settings", {}), "settings")
    except FleetError as problem:
        refuse(component, problem.findings)
    return policies(
        settings,
        enforcement=Enforcement(enforcement),
        exempt_namespaces=given.get("exemptNamespaces", EXEMPT_NAMESPACES),
    )
