"""Pools of other stacks may only use layouts and ways of sharing of their cluster's add-ons.

A node whose label names a configuration that is not in the ConfigMaps advertises nothing: the
device plugin's pod stays in its init container, and mig-manager reports `failed`.
"""

import difflib
from collections.abc import Collection, Mapping
from typing import cast

import pulumi

from gpufleet.components_base.inputs import refuse
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL

_finding, _rules = findings_in(__file__), rules_in(__file__)

CHOOSING = (MIG_CONFIG_LABEL, DEVICE_PLUGIN_CONFIG_LABEL)
"""Labels by which a node selects a configuration."""


def validate_labels(
    labels: Mapping[str, str], configurations: Collection[str], pool: str
) -> list[Finding]:
    """A finding for each label that names a configuration that the add-ons lack."""
    findings: list[Finding] = []
    for label in CHOOSING:
        wanted = labels.get(label)
        if wanted is None or wanted in configurations:
            continue
        known = sorted(configurations)
        near = difflib.get_close_matches(wanted, known, 1, 0.5)
        shown = {"known": known, "listed": ", ".join(known) or "none", "near": near}
        findings += _rules("labels", "", pool=pool, label=label, wanted=wanted, **shown)
    return findings


def validate_known_labels(
    labels: Mapping[str, str], configurations: pulumi.Input[list[str]] | None, pool: str
) -> list[Finding]:
    """As `validate_labels`, if the configurations are known before deployment."""
    return validate_labels(labels, configurations, pool) if isinstance(configurations, list) else []


def checked_labels(
    component: str,
    pool: str,
    labels: Mapping[str, str],
    configurations: pulumi.Input[list[str]] | None,
) -> pulumi.Input[Mapping[str, str]]:
    """The labels, once they are known to name configurations of the add-ons.

    If the configurations are already known or not compared, the labels are returned at once:
    `validate_known_labels` compares those. Raises InvalidArgumentsError when an Output is known:
    before the node is created.
    """
    if configurations is None or isinstance(configurations, list):
        return labels

    def check(names: object) -> Mapping[str, str]:
        if not isinstance(names, list):
            refuse(component, [_finding("configurations-not-known", found=type(names).__name__)])
        findings = validate_labels(labels, cast("list[str]", names), pool)
        if findings:
            refuse(component, findings)
        return labels

    return pulumi.Output.from_input(configurations).apply(check)
