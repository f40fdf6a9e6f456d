"""What a cluster fixes by itself: MutatingAdmissionPolicies of rules at level `remediate`.

The same condition that the rule's validating policy refuses decides here whether an object is
changed, so that nothing is left to refuse. An object with the rule's exception is left as it is,
whatever its date: whether the exception counts, the validating policy says.

Sources: Kubernetes 1.36 documentation, Mutating Admission Policy, from which version on the API is
stable; lists and maps of a pod are atomic to apply configurations, so every change is a JSON patch.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gpufleet.findings import Level
from gpufleet.rules.rule import Profile
from gpufleet_policies.fronts.admission.check import Constants, cel
from gpufleet_policies.fronts.admission.policies import (
    EXEMPT_NAMESPACES,
    PREFIX,
    exempting,
    manifest,
    matching,
    variables,
)
from gpufleet_policies.fronts.admission.remediations import MENDS, Mend
from gpufleet_policies.fronts.admission.targets import AdmissionTarget
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.settings import RuleSettings


@dataclass(frozen=True, slots=True)
class MendingPolicy:
    """One MutatingAdmissionPolicy with its binding."""

    name: str
    target: AdmissionTarget
    rules: tuple[str, ...]
    policy: dict[str, Any]
    binding: dict[str, Any]


def remediation_policies(
    settings: RuleSettings | None = None,
    *,
    queue: str = "",
    exempt_namespaces: Iterable[str] = EXEMPT_NAMESPACES,
) -> tuple[MendingPolicy, ...]:
    """A policy for each target with a rule that the settings set to `remediate`; in stable order.

    `queue` is the LocalQueue that jobs without one are given; empty: they are given none.
    """
    chosen = settings or RuleSettings()
    constants = Constants(chosen.thresholds, queue=queue)
    exempt = tuple(exempt_namespaces)
    found = sorted(_assigned(chosen, constants), key=lambda row: row[0])
    made: list[MendingPolicy] = []
    for name, rows in groupby(found, key=lambda row: row[0]):
        pairs = [(target, remediate) for _, target, remediate in rows]
        target, remediations = pairs[0][0], [remediate for _, remediate in pairs]
        full = f"{PREFIX}-mend-{name}"
        made.append(
            MendingPolicy(
                full,
                target,
                tuple(remediate.rule for remediate in remediations),
                _policy(full, target, remediations, constants),
                manifest(
                    "MutatingAdmissionPolicyBinding",
                    full,
                    {"policyName": full, **exempting(exempt)},
                ),
            )
        )
    return tuple(made)


def _assigned(
    settings: RuleSettings, constants: Constants
) -> Iterator[tuple[str, AdmissionTarget, Mend]]:
    profile = settings.profile or Profile.PROD
    for remediate in MENDS:
        if settings.level(by_id()[remediate.rule], profile) is not Level.REMEDIATE:
            continue
        for target in remediate.targets:
            if cel(remediate.condition, target, constants):
                yield target.name, target, remediate


def _policy(
    name: str, target: AdmissionTarget, remediations: list[Mend], constants: Constants
) -> dict[str, Any]:
    needed = [v for v in variables(target, (), constants) if v["name"] not in ("today", "kept")]
    spec = {
        "variables": needed,
        "mutations": [_mutation(remediate, target, constants) for remediate in remediations],
    }
    on_update = remediations[0].on_update
    return matching("MutatingAdmissionPolicy", name, target, spec, on_update=on_update)


def _mutation(remediate: Mend, target: AdmissionTarget, constants: Constants) -> dict[str, Any]:
    kept = f"variables.annotationMaps.exists(a, 'gpufleet.dev/ignore-{remediate.rule}' in a)"
    wrong = f"!{kept} && ({cel(remediate.condition, target, constants)})"
    operations = cel(remediate.operations, target, constants)
    return {
        "patchType": "JSONPatch",
        "jsonPatch": {"expression": f"({wrong}) ? ({operations}) : []"},
    }
