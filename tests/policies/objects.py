"""A compliant fleet and compliant workloads, and how tests break one property of them."""

import copy
import re
from datetime import date
from functools import cache
from typing import Any

from gpufleet.catalogue import load
from gpufleet.cluster import FleetFacts, Locator, WorkloadFacts
from gpufleet.findings import Finding
from gpufleet.fleet import fleet_as_dict
from gpufleet.platforms.compiled import compile_data
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.fleet import fleet_from
from gpufleet_policies.readers.pulumi_props import facts_from_pulumi
from gpufleet_policies.rules.settings import RuleSettings, read_settings
from gpufleet_policies.rules.validate import validate

TODAY = date(2026, 11, 21)
REMOVE = object()
STRICT = {"profile": "strict"}


SPEC: dict[str, Any] = {
    "catalogue": "2026.11",
    "platform": "eks",
    "environment": "prod",
    "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
    "pools": [
        {
            "name": "small",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 2},
            "sharing": {"timeSlicing": {"replicas": 4}},
        },
        {
            "name": "notebooks",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 0, "max": 2},
            "intent": "interactive",
            "sharing": {
                "mig": {"layouts": [{"devices": {"1g.10gb": 3, "2g.20gb": 2}}]},
            },
        },
        {
            "name": "training",
            "instanceTypes": ["p5.48xlarge"],
            "nodes": {"min": 0, "max": 1},
            "intent": "training",
        },
    ],
    "budget": {"usdPerHour": 200},
}

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "chat", "namespace": "ml", "annotations": {}},
    "spec": {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "chat"}},
        "template": {
            "metadata": {"labels": {"app": "chat"}},
            "spec": {
                "containers": [
                    {
                        "name": "server",
                        "image": "registry.example/chat:1.0",
                        "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}},
                        "resources": {
                            "requests": {"cpu": "4", "memory": "16Gi"},
                            "limits": {"nvidia.com/mig-1g.10gb": "1"},
                        },
                    }
                ]
            },
        },
    },
}

CONTAINER = "spec.template.spec.containers[0]"
WHOLE = {"nvidia.com/gpu": "1"}


def changed(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with values set at paths: `pools[0].nodes.min`; keys with dots in quotes."""
    result = copy.deepcopy(document)
    for path, value in changes.items():
        steps = [
            int(index) if index else quoted or word
            for quoted, index, word in re.findall(r'"([^"]+)"|\[(\d+)\]|([^.\[\]"]+)', path)
        ]
        here: Any = result
        for step in steps[:-1]:
            here = here.setdefault(step, {}) if isinstance(here, dict) else here[step]
        if value is REMOVE:
            del here[steps[-1]]
        else:
            here[steps[-1]] = value
    return result


def summary(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The own properties of GpuFleet."""
    compiled = compile_data(changed(SPEC, changes or {}))
    assert compiled.fleet is not None, compiled.findings
    return {
        "fleet": fleet_as_dict(compiled.fleet),
        "findings": [finding.as_dict() for finding in compiled.findings],
    }


def fleet(changes: dict[str, Any] | None = None) -> FleetFacts:
    found = fleet_from(summary(changes), Locator("GpuFleet", "fleet", urn="urn:fleet"))
    assert found is not None
    return found


@cache
def usual_fleet() -> FleetFacts:
    return fleet()


def from_pulumi_props(kind: str, properties: Any, name: str, urn: str) -> Any:
    """The first of the facts of one resource; None when it is of no interest."""
    facts = facts_from_pulumi(kind, properties, name, urn)
    return facts[0] if facts else None


def workload(document: dict[str, Any]) -> WorkloadFacts:
    api_version = document["apiVersion"]
    group = api_version if "/" in api_version else f"core/{api_version}"
    kind = f"kubernetes:{group}:{document['kind']}"
    found = from_pulumi_props(kind, document, "from-program", "urn:w")
    assert isinstance(found, WorkloadFacts)
    return found


def deployment(changes: dict[str, Any] | None = None) -> WorkloadFacts:
    return workload(changed(DEPLOYMENT, changes or {}))


def findings(
    subject: FleetFacts | WorkloadFacts,
    *,
    alongside: FleetFacts | None = None,
    settings: dict[str, Any] | RuleSettings | None = None,
    alone: bool = False,
) -> list[Finding]:
    """Every finding; workloads next to the usual fleet unless `alone` or `alongside` another."""
    chosen = settings if isinstance(settings, RuleSettings) else read_settings(settings or {})
    context_fleet = subject if isinstance(subject, FleetFacts) else alongside or usual_fleet()
    context = RuleContext(
        today=TODAY,
        load_catalogue=load,
        fleet=None if alone else context_fleet,
        thresholds=chosen.thresholds,
    )
    return validate(subject, context, chosen)


def ids(found: list[Finding]) -> list[str]:
    return [finding.code for finding in found]


def only(found: list[Finding], rule: str) -> Finding:
    """The one finding, which must be of this rule."""
    assert ids(found) == [rule], [finding.message for finding in found]
    return found[0]
