"""Workloads next to pools that are declared one by one, without a GpuFleet."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.pools import node_group
from tests.policies.cases.workloads import CONTAINER, JOB, LIMITS, WHOLE, deployment
from tests.policies.objects import changed
from tests.policies.test_fronts_agree import by_crossguard

SELECTOR = "spec.template.spec.nodeSelector"


def gke(sharing: dict[str, Any] | None = None) -> Thing:
    """A GKE pool of G2 machines with one L4, its GPUs shared or not."""
    accelerator: dict[str, Any] = {"type": "nvidia-l4", "count": 1}
    if sharing is not None:
        accelerator["gpuSharingConfig"] = sharing
    return Thing(
        "gcp:container/nodePool:NodePool",
        {
            "cluster": "ml",
            "name": "l4",
            "nodeConfig": {
                "machineType": "g2-standard-8",
                "guestAccelerators": [accelerator],
                "labels": {"pool": "l4"},
            },
            "autoscaling": {"minNodeCount": 0, "maxNodeCount": 4},
            "management": {"autoRepair": True},
        },
        "l4",
    )


TURNS = {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4}
PIN = {f"{SELECTOR}.pool": "l4"}


def rules(thing: Thing, *alongside: Thing) -> dict[str, Level]:
    """Rule -> level of what is reported about a workload next to these pools."""
    case = Case("", thing, thing, "", alongside=alongside, settings={"profile": "strict"})
    return {finding.code: finding.level for finding in case.findings(thing)}


def test_training_on_time_shared_gpus_of_gke():
    job = changed(JOB, {f"{SELECTOR}.pool": "l4"})
    job["spec"]["parallelism"] = 2
    mode = {'metadata.annotations."gpufleet.dev/mode"': "training"}
    training = manifest(changed(job, {"metadata.annotations": {}, **mode}))
    assert "sharing-used-for-training" not in rules(training, gke())
    found = rules(training, gke(TURNS))
    assert found["sharing-used-for-training"] is Level.MANDATORY


def test_a_greedy_server_on_time_shared_gpus_of_gke():
    changes = {**PIN, LIMITS: WHOLE, f"{CONTAINER}.args": ["--gpu-memory-utilization=0.5"]}
    assert "sharing-memory-oversubscribed" not in rules(deployment(changes), gke())
    found = rules(deployment(changes), gke(TURNS))
    assert found["sharing-memory-oversubscribed"] is Level.MANDATORY
    modest = deployment({**changes, f"{CONTAINER}.args": ["--gpu-memory-utilization=0.2"]})
    assert "sharing-memory-oversubscribed" not in rules(modest, gke(TURNS))


def test_a_pod_that_chooses_shared_nodes_has_no_whole_gpu():
    """Its accelerator label names the card, and it gets a part of one."""
    small = {
        LIMITS: WHOLE,
        'metadata.annotations."gpufleet.dev/model-params-b"': "0.5",
        f'{SELECTOR}."cloud.google.com/gke-accelerator"': "nvidia-h100-80gb",
    }
    assert "gpu-oversized-for-model" in rules(deployment(small))
    shared = {**small, f'{SELECTOR}."cloud.google.com/gke-gpu-sharing-strategy"': "time-sharing"}
    assert rules(deployment(shared)) == {}


def test_two_of_a_time_shared_pool_are_no_two_gpus():
    two = deployment({**PIN, LIMITS: {"nvidia.com/gpu": 2}, f"{CONTAINER}.image": "acme/encoder"})
    assert "shared-gpu-request-over-one" not in rules(two, gke())
    assert rules(two, gke(TURNS))["shared-gpu-request-over-one"] is Level.MANDATORY


OPERATOR = Thing(
    "kubernetes:helm.sh/v3:Release",
    {"chart": "gpu-operator", "values": {"mig": {"strategy": "none"}}},
    "operator",
)


def eks(machine: str) -> Thing:
    """A managed node group of one machine type, tainted and labelled."""
    return node_group({"instanceTypes": [machine], "labels": {"pool": "l4"}})


GREEDY = {
    LIMITS: WHOLE,
    f"{CONTAINER}.resources.requests": {"cpu": "40", "memory": "100Gi"},
    **PIN,
}
SMALL = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/model-params-b"': "0.5", **PIN}
TWO = {**PIN, LIMITS: {"nvidia.com/gpu": 2}, f"{CONTAINER}.image": "acme/encoder"}
BESIDE_POOLS = {
    "pod-strands-node-gpus": (deployment(GREEDY), (eks("g5.12xlarge"),)),
    "gpu-oversized-for-model": (deployment(SMALL), (eks("g6e.xlarge"),)),
    "shared-gpu-request-over-one": (deployment(TWO), (gke(TURNS),)),
}


@pytest.mark.parametrize("rule", BESIDE_POOLS)
def test_the_pack_says_what_the_audit_says_beside_pools(rule: str, tmp_path: Path):
    """No GpuFleet: what pools tell is known when the whole program was seen."""
    thing, alongside = BESIDE_POOLS[rule]
    case = Case(rule, thing, thing, "", alongside=alongside, settings={"profile": "strict"})
    expected = case.findings(thing)
    (of_rule,) = [finding for finding in expected if finding.code == rule]
    assert rule not in rules(thing), "the pools must be what tells"
    assert (of_rule.level.value, of_rule.lines) in by_crossguard(case, thing, tmp_path)


def test_pools_whose_gpus_may_be_cut_tell_nothing_of_a_whole_gpu():
    """H100s without an operator: another program may partition them."""
    pool = eks("p5.48xlarge")
    assert "gpu-oversized-for-model" not in rules(deployment(SMALL), pool)
    assert "gpu-oversized-for-model" in rules(deployment(SMALL), pool, OPERATOR)
