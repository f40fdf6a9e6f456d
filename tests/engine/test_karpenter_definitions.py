"""Objects that we render for Karpenter, validated by its own definitions, CEL rules included, on
the real API server."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.fleet.model import Pool
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import karpenter_name, node_overlay, node_pool
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

PATHS = {
    "NodePool": "/apis/karpenter.sh/v1/nodepools",
    "NodeOverlay": "/apis/karpenter.sh/v1alpha1/nodeoverlays",
    "EC2NodeClass": "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    "NodeClass": "/apis/eks.amazonaws.com/v1/nodeclasses",
}
BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}
POOLS: dict[str, dict[str, Any]] = {
    "chat": {
        "gpu": "L4",
        "capacity": [{"spot": {}}, {"onDemand": {}}],
        "sharing": {"timeSlicing": {"replicas": 4}},
        "taints": [{"key": "example.com/team", "value": "a", "effect": "NoExecute"}],
        "eks": {"releaseVersion": "1.36.0-20261101"},
        "karpenter": {
            "weight": 10,
            "startupTaints": [{"key": "example.com/agent-not-ready"}],
            "reservations": [{"tags": {"team": "vision"}}],
            "requirements": [
                {
                    "key": "karpenter.k8s.aws/instance-network-bandwidth",
                    "operator": "Gte",
                    "values": ["1000"],
                }
            ],
            "disruption": {
                "budgets": [{"nodes": "1", "schedule": "0 9 * * 1-5", "duration": "8h"}]
            },
        },
    },
    "notebooks": {
        "instanceTypes": ["p4de.24xlarge"],
        "intent": "interactive",
        "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
    },
    "eighth": {
        "instanceTypes": ["g6f.large"],
        "intent": "batch",
        "taints": [{"key": "example.com/without-value"}],
    },
    "training": {
        "instanceTypes": ["p6-b300.48xlarge"],
        "intent": "training",
        "fabric": "efa",
        "zones": ["us-east-1a"],
        "capacity": [{"reserved": {"id": "cr-0123456789abcdef1", "zone": "us-east-1a"}}],
    },
    "block": {"instanceTypes": ["p5.48xlarge"], "capacity": [{"capacityBlock": BLOCK}]},
    "rocket": {"gpu": "L40S", "image": "bottlerocket-nvidia"},
    "ubuntu": {
        "gpu": "L4",
        "image": "ubuntu-eks",
        "eks": {"amiId": "ami-0123456789abcdef0"},
    },
}
AUTO: dict[str, dict[str, Any]] = {
    "auto": {
        "gpu": "L4",
        "capacity": [{"spot": {}}, {"onDemand": {}}],
        "karpenter": {
            "reservations": [{"tags": {"team": "vision"}}],
            "requirements": [
                {
                    "key": "eks.amazonaws.com/instance-network-bandwidth",
                    "operator": "Gte",
                    "values": ["1000"],
                }
            ],
        },
    },
    "auto-training": {"instanceTypes": ["p5.48xlarge"], "intent": "training"},
    "auto-block": {"instanceTypes": ["p5.48xlarge"], "capacity": [{"capacityBlock": BLOCK}]},
    "auto-neuron": {"instanceTypes": ["trn1.32xlarge"], "intent": "batch"},
}
"""Pools of EKS Auto Mode, which are a separate fleet."""


def pools(declarations: dict[str, dict[str, Any]], provisioner: str) -> tuple[Pool, ...]:
    declared = [
        {"name": name, "provisioner": provisioner, "nodes": {"min": 0, "max": 4}, **pool}
        for name, pool in declarations.items()
    ]
    spec = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": declared,
    }
    result = compile_data(spec)
    assert result.fleet is not None, result.findings
    assert result.deployable, result.findings
    return result.fleet.pools


def rendered() -> dict[str, dict[str, Any]]:
    """Every object, wired as the component would."""
    found: dict[str, dict[str, Any]] = {}
    for pool in (*pools(POOLS, "karpenter"), *pools(AUTO, "autoMode")):
        shape = eks_shape(pool)
        made = node_class(pool, shape, "ml", {"cost": "1"}, karpenter_name(pool))
        made["spec"] |= {
            "role": "nodes",
            "subnetSelectorTerms": [{"id": "subnet-0a"}],
            "securityGroupSelectorTerms": [{"id": "sg-0c"}],
        }
        if shape.placement_group:
            made["spec"]["placementGroupSelector"] = {"name": "close"}
        found[f"{pool.name} class"] = made
        found[f"{pool.name} pool"] = node_pool(pool, shape)
        overlay = node_overlay(pool)
        if overlay is not None:
            found[f"{pool.name} overlay"] = overlay
    return found


OBJECTS = rendered()


@pytest.fixture(scope="module")
def validated(sandbox: Sandbox) -> Callable[[dict[str, Any]], str]:
    """Validate on the API server, without creating anything: empty, or its refusal."""
    server = sandbox.server()

    def ask(document: dict[str, Any]) -> str:
        path = f"{PATHS[document['kind']]}?dryRun=All&fieldValidation=Strict"
        answer = server.request("POST", path, json.dumps(document).encode())
        return "" if answer.status == 201 else answer.body.decode()

    return ask


def test_everything_rendered_is_accepted(validated: Callable[[dict[str, Any]], str]) -> None:
    def refused() -> dict[str, str]:
        return {name: text for name, one in OBJECTS.items() if (text := validated(one))}

    until(lambda: not refused(), refused, 30)  # a definition that changes is not in force at once
    kinds = [one["kind"] for one in OBJECTS.values()]
    assert {kind: kinds.count(kind) for kind in PATHS} == {
        "NodePool": 11,
        "NodeOverlay": 4,
        "EC2NodeClass": 7,
        "NodeClass": 4,
    }


def broken(name: str, change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    one = copy.deepcopy(OBJECTS[name])
    change(one["spec"])
    return one


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an EC2NodeClass's field in the NodeClass of Auto Mode": (
        broken("auto class", lambda spec: spec.update(amiFamily="AL2023")),
        "unknown field",
    ),
    "a role and a profile": (
        broken("auto class", lambda spec: spec.update(instanceProfile="nodes")),
        "exactly one of role and instanceProfile",
    ),
    "expireAfter where it used to be": (
        broken("chat pool", lambda spec: spec["disruption"].update(expireAfter="720h")),
        "unknown field",
    ),
    "a label that no pool may select by": (
        broken(
            "chat pool",
            lambda spec: spec["template"]["spec"]["requirements"].append(
                {"key": "karpenter.k8s.aws/gpu", "operator": "Exists"}
            ),
        ),
        "requirements[5].key: Invalid value",
    ),
    "a budget with half a window": (
        broken("chat pool", lambda spec: spec["disruption"]["budgets"][0].pop("duration")),
        "schedule",
    ),
    "no primary interface": (
        broken("training class", lambda spec: spec["networkInterfaces"].pop(0)),
        "x.networkCardIndex == 0",
    ),
    "an alias next to an id": (
        broken("chat class", lambda spec: spec["amiSelectorTerms"].append({"id": "ami-1"})),
        "has(x.alias)",
    ),
    "memory in an overlay": (
        broken("chat overlay", lambda spec: spec["capacity"].update(memory="1Gi")),
        "'ephemeral-storage'",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_their_rules_are_in_force(validated: Callable[[dict[str, Any]], str], what: str) -> None:
    document, said = WRONG[what]
    if document["kind"] != "NodeClass":  # of which AWS publishes no definition
        assert schema_problems(document), "`check` evaluates them too"
    until(lambda: said in validated(document), lambda: validated(document), 30)
