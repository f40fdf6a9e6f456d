"""Patches of pools, of configurations in texts and of kinds without a row in the case table.

Each is the patch that the reference requires of a finding; once applied, the finding is gone.
"""

from dataclasses import replace
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import Surroundings
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.cases.case import Thing, manifest
from tests.policies.cases.jobs import PYTORCH
from tests.policies.cases.parallelism import server
from tests.policies.cases.pools import QUIET, gke_pool, karpenter, node_group
from tests.policies.cases.sharing import GPU_SHARING
from tests.policies.cases.workloads import LIMITS, REQUESTS
from tests.policies.objects import REMOVE, TODAY, changed
from tests.policies.test_remediation import applied


def found(thing: Thing, rule: str, *alongside: Thing) -> list[Finding]:
    """Findings of one rule about a thing in the strictest profile."""
    subjects = thing.all_facts
    everything = (*subjects, *(fact for one in alongside for fact in one.all_facts))
    context = RuleContext(today=TODAY, load_catalogue=load, surroundings=Surroundings(everything))
    chosen = read_settings({"profile": "strict"})
    said = [f for subject in subjects for f in validate(subject, context, chosen)]
    return [finding for finding in said if finding.code == rule]


def remediated(thing: Thing, rule: str, *alongside: Thing) -> dict[str, Any]:
    """The thing's properties with the patch of its one finding, which is gone then."""
    (finding,) = found(thing, rule, *alongside)
    assert finding.remediation
    properties = applied(thing.properties, finding.remediation)
    assert found(replace(thing, properties=properties), rule, *alongside) == []
    return properties


def test_a_running_warm_pool_is_stopped():
    warm = {"warmPoolConfig": {"poolState": "RUNNING", "minSize": 2}}
    patched = remediated(node_group(warm), "running-warm-pool", *QUIET)
    assert patched["warmPoolConfig"] == {"poolState": "STOPPED", "minSize": 2}


def test_a_warm_pool_of_an_auto_scaling_group_is_stopped_in_its_own_spelling():
    group = {
        "name": "gpu",
        "minSize": 0,
        "maxSize": 4,
        "desiredCapacity": 0,
        "mixedInstancesPolicy": {
            "launchTemplate": {
                "launchTemplateSpecification": {"launchTemplateId": "lt-1"},
                "overrides": [{"instanceType": "g6.xlarge"}],
            }
        },
        "warmPool": {"poolState": "Running", "minSize": 1},
    }
    thing = Thing("aws:autoscaling/group:Group", group, "gpu")
    patched = remediated(thing, "running-warm-pool", *QUIET)
    assert patched["warmPool"]["poolState"] == "Stopped"


@pytest.mark.parametrize("disruption", [{"consolidateAfter": "Never"}])
def test_a_pool_that_never_consolidates_removes_empty_nodes_only(disruption: dict[str, str]):
    thing = karpenter({"spec.disruption": disruption})
    patched = remediated(thing, "karpenter-never-consolidates", *QUIET)
    wanted = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"}
    assert patched["spec"]["disruption"] == wanted


def test_gpus_that_no_process_opens_leave_requests_as_well():
    thing = server(4, 2)
    properties = changed(thing.properties, {REQUESTS: {"nvidia.com/gpu": 4, "cpu": "4"}})
    patched = remediated(replace(thing, properties=properties), "gpu-count-exceeds-parallelism")
    resources = patched["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert resources["limits"]["nvidia.com/gpu"] == "2"
    assert resources["requests"] == {"nvidia.com/gpu": "2", "cpu": "4"}
    assert LIMITS.endswith("limits")


@pytest.mark.parametrize("policy", [None, {"backoffLimit": 2}], ids=["absent", "there"])
def test_a_training_job_gets_a_deadline_with_or_without_a_run_policy(policy: Any):
    changes = {"spec.runPolicy": REMOVE if policy is None else policy}
    patched = remediated(manifest(changed(PYTORCH, changes)), "gpu-job-without-deadline")
    assert patched["spec"]["runPolicy"] == {**(policy or {}), "activeDeadlineSeconds": 86_400}


KSERVE: dict[str, Any] = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {
        "name": "chat",
        "namespace": "ml",
        "annotations": {"gpufleet.dev/mode": "inference", "gpufleet.dev/environment": "staging"},
    },
    "spec": {
        "predictor": {
            "model": {
                "modelFormat": {"name": "huggingface"},
                "resources": {
                    "requests": {"cpu": "4", "memory": "16Gi"},
                    "limits": {"nvidia.com/gpu": "1"},
                },
            }
        }
    },
}


def test_an_inference_service_outside_production_goes_to_zero():
    patched = remediated(manifest(KSERVE), "nonprod-serving-never-zero")
    assert patched["spec"]["predictor"]["minReplicas"] == 0


def test_clients_of_a_gke_pool_are_lowered_to_what_gke_takes():
    sharing = {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 64}
    patched = remediated(gke_pool({GPU_SHARING: sharing}), "sharing-replicas-out-of-range", *QUIET)
    (card,) = patched["nodeConfig"]["guestAccelerators"]
    assert card["gpuSharingConfig"]["maxSharedClientsPerGpu"] == 48
