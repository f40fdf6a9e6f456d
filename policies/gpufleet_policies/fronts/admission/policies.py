"""The policies and bindings as manifests, out of the checks, the settings and the rule registry.

A rule that is off, or that no settings profile turns on, has no policy. A policy holds rules of
one target and one level, so that a binding can stop what is mandatory and only warn of the rest.
Everything starts as Warn and Audit; `Enforcement.DENY` turns mandatory policies into Deny.

Sources: Kubernetes 1.36 documentation, Validating Admission Policy; limits of an expression and of
a binding in `staging/src/k8s.io/apiserver/pkg/apis/cel/config.go`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any

from gpufleet.documents.whole_file import write_whole_text
from gpufleet.documents.writing import yaml_stream
from gpufleet.findings import Level
from gpufleet.rules.context import Thresholds
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.fronts.admission.check import (
    CHECKS,
    HOLDS_GPU,
    JUDGED_OWNERS,
    AdmissionTarget,
    ObjectCheck,
    cel,
    listed,
    quoted,
)
from gpufleet_policies.names import names
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.settings import RuleSettings

API_VERSION = "admissionregistration.k8s.io/v1"
PREFIX = "gpufleet"
EXEMPT_NAMESPACES = names("namespace of operators")
"""Namespaces of operators: what runs there belongs on GPU nodes."""


class Enforcement(StrEnum):
    """Action of a mandatory policy on an object that breaks it."""

    WARN = "warn"
    """Warns the client and writes an audit annotation; nothing is refused."""
    DENY = "deny"
    """Refuses it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One ValidatingAdmissionPolicy with its binding."""

    name: str
    target: AdmissionTarget
    level: Level
    rules: tuple[str, ...]
    policy: dict[str, Any]
    binding: dict[str, Any]


def expressible() -> tuple[str, ...]:
    """Ids of the registered rules an admission policy can check, in the order of the registry."""
    checked = {check.rule for check in CHECKS}
    return tuple(rule for rule in by_id() if rule in checked)


def policies(
    settings: RuleSettings | None = None,
    *,
    enforcement: Enforcement = Enforcement.WARN,
    exempt_namespaces: Iterable[str] = EXEMPT_NAMESPACES,
) -> tuple[Policy, ...]:
    """Every policy that the settings request, in a stable order.

    Without a profile in the settings the profile `prod` applies: the environment of a cluster is
    not known. Thresholds become constants. Exceptions on objects count in the cluster; exceptions
    of the settings do not.
    """
    chosen = settings or RuleSettings()
    thresholds = chosen.thresholds
    exempt = tuple(exempt_namespaces)
    found = sorted(_assigned(chosen, thresholds), key=lambda row: row[:2])
    made: list[Policy] = []
    for (target_name, level), rows in groupby(found, key=lambda row: row[:2]):
        checks = [row[2] for row in rows]
        target = next(t for c in checks for t in c.targets if t.name == target_name)
        name = f"{PREFIX}-pods-{target_name}-{level}"
        policy = _policy(name, target, checks, thresholds)
        actions = ["Warn", "Audit"]
        if enforcement is Enforcement.DENY and level == Level.MANDATORY:
            actions = ["Deny", "Audit"]
        made.append(
            Policy(
                name,
                target,
                Level(level),
                tuple(check.rule for check in checks),
                policy,
                _manifest(
                    "ValidatingAdmissionPolicyBinding",
                    name,
                    {"policyName": name, "validationActions": actions, **_exempting(exempt)},
                ),
            )
        )
    return tuple(made)


def _assigned(
    settings: RuleSettings, thresholds: Thresholds
) -> Iterator[tuple[str, str, ObjectCheck]]:
    profile = settings.profile or Profile.PROD
    for check in CHECKS:
        rule = by_id().get(check.rule)
        if rule is None:
            continue
        level = settings.level(rule, profile).enforced
        if level is Level.OFF:
            continue
        if check.at_most is Level.ADVISORY:
            level = Level.ADVISORY
        for target in check.targets:
            if check.offence is None or cel(check.offence, thresholds):
                yield target.name, level.value, check


def _policy(
    name: str, target: AdmissionTarget, checks: Sequence[ObjectCheck], thresholds: Thresholds
) -> dict[str, Any]:
    """A policy that validates the objects of a target, and refuses those with a violation."""
    rules = {
        "apiGroups": [target.group],
        "apiVersions": list(target.versions),
        "operations": ["CREATE", "UPDATE"] if target.on_update else ["CREATE"],
        "resources": list(target.resources),
    }
    spec = {
        # An expression that fails, on an object without a rule, must not stop any deployment.
        "failurePolicy": "Ignore",
        "matchConstraints": {"resourceRules": [rules]},
        "matchConditions": _conditions(target),
        "variables": _variables(target, checks, thresholds),
        "validations": [_validation(check, target, thresholds) for check in checks],
    }
    return _manifest("ValidatingAdmissionPolicy", name, spec)


def _manifest(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A policy or binding of ours."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "gpufleet"}},
        "spec": spec,
    }


def _conditions(target: AdmissionTarget) -> list[dict[str, str]]:
    """The conditions under which a policy checks an object of a target."""
    found = [
        {"name": "is-kept", "expression": "!has(object.metadata.deletionTimestamp)"},
        {
            "name": "has-no-judged-owner",
            "expression": "!object.metadata.?ownerReferences.orValue([]).exists(o, "
            f"o.?controller.orValue(false) && o.kind in {listed(JUDGED_OWNERS)})",
        },
    ]
    if target.on_update:
        found.append(
            {
                "name": "is-new-or-changed",
                "expression": "request.operation == 'CREATE' || object.spec != oldObject.spec",
            }
        )
    return found


_UNTIL = r"\\s*;\\s*until\\s*=\\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\\s*$"


def _variables(
    target: AdmissionTarget, checks: Iterable[ObjectCheck], thresholds: Thresholds
) -> list[dict[str, str]]:
    """Expressions shared within a target, and the containers that break the checks."""
    found = {
        "annotations": "object.metadata.?annotations.orValue({})",
        "labels": "object.metadata.?labels.orValue({})",
        # The API server has no clock for expressions; it has just written these.
        "today": "(object.metadata.?managedFields.orValue([]).map(f, string(f.time)) + "
        "[string(object.metadata.creationTimestamp)]).max().substring(0, 10)",
        "templates": target.templates,
        "specs": target.specs,
        "annotationMaps": "[variables.annotations]"
        " + variables.templates.map(t, t.?metadata.?annotations.orValue({}))",
        "kept": "variables.annotationMaps.map(a, a.filter(k, k.startsWith('gpufleet.dev/ignore-')"
        f" && string(a[k]).matches('^\\\\s*[^\\\\s;].*{_UNTIL}') && "
        "string(a[k]).find('[0-9]{4}-[0-9]{2}-[0-9]{2}\\\\s*$').trim() >= variables.today))",
        "mainLists": "variables.specs.map(p, p.?containers.orValue([]))",
        "containerLists": (
            "variables.specs.map(p, p.?containers.orValue([]) + p.?initContainers.orValue([]))"
        ),
        "gpuLists": f"variables.containerLists.map(cs, cs.filter(c, {HOLDS_GPU}))",
        "gpuMainLists": f"variables.mainLists.map(cs, cs.filter(c, {HOLDS_GPU}))",
    }
    for check in checks:
        if check.container is not None:
            lists = "gpuLists" if check.init_containers else "gpuMainLists"
            bad = cel(check.container, thresholds)
            found[_offenders(check)] = (
                f"variables.{lists}.map(cs, cs.filter(c, {bad})"
                ".map(c, c.?name.orValue('?')).join(', ')).filter(n, n != '')"
            )
    return [{"name": name, "expression": text} for name, text in found.items()]


def _offenders(check: ObjectCheck) -> str:
    """Name of the variable that lists the containers which break a rule."""
    first, *rest = check.rule.split("-")
    return first + "".join(word.title() for word in rest)


def _validation(
    check: ObjectCheck, target: AdmissionTarget, thresholds: Thresholds
) -> dict[str, str]:
    rule = by_id()[check.rule]
    guards = [f"variables.kept.exists(l, '{rule.annotation}' in l)"]
    if not check.while_stopped and target.stopped != "false":
        guards.append(f"({target.stopped})")
    advice = _advice(rule)
    validation = {"reason": "Invalid", "message": f"[{rule.id}] {advice}"}
    if check.offence is not None:
        right = f"!({cel(check.offence, thresholds)})"
    else:
        found = f"variables.{_offenders(check)}"
        right = f"{found}.size() == 0"
        validation["messageExpression"] = (
            f"{quoted(f'[{rule.id}] container ')} + {found}.join(', ') + {quoted(': ' + advice)}"
        )
    return {"expression": " || ".join([*guards, right]), **validation}


def _advice(rule: Rule) -> str:
    return (
        f"{rule.sentence.rstrip('.')}. Instead: {rule.instead()}. To keep it for a while, annotate "
        f'{rule.annotation}: "<reason>; until=YYYY-MM-DD". '
        f"More: gpufleet policies explain {rule.id}"
    )


def _exempting(namespaces: tuple[str, ...]) -> dict[str, Any]:
    """Selector of a binding that excludes namespaces."""
    if not namespaces:
        return {}
    names = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": sorted(namespaces),
    }
    return {"matchResources": {"namespaceSelector": {"matchExpressions": [names]}}}


def text_of(policy: Policy) -> str:
    """A policy and its binding as YAML."""
    return yaml_stream((policy.policy, policy.binding))


def write_policies(folder: Path, policies: Iterable[Policy]) -> dict[str, str]:
    """Write a file per policy; name of the policy -> path. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, str] = {}
    for policy in policies:
        path = folder / f"{policy.name}.yaml"
        write_whole_text(path, text_of(policy))
        written[policy.name] = str(path)
    return written
