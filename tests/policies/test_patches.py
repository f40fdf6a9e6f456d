"""Patches of pools, of configurations in texts and of kinds without a row in the case table.

Each is the patch that the reference requires of a finding; once applied, the finding is gone.
"""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from gpufleet.catalogue import load
from gpufleet.cluster import Surroundings
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.cases.case import Thing, manifest
from tests.policies.cases.gangs import PYTORCH
from tests.policies.cases.parallelism import server
from tests.policies.cases.pools import QUIET, gke_pool, karpenter, node_group
from tests.policies.cases.sharing import GPU_SHARING, SHARED, WHOLE, operator, plugin_config
from tests.policies.cases.workloads import LIMITS, REQUESTS
from tests.policies.objects import REMOVE, TODAY, changed
from tests.policies.test_remediation import applied


def found(thing: Thing, rule: str, *alongside: Thing) -> list[Finding]:
    """Findings of one rule about a thing in the strictest profile."""
    subjects = thing.all_facts()
    everything = (*subjects, *(fact for one in alongside for fact in one.all_facts()))
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


FAST = "sharing-not-fail-fast"


def test_a_configuration_in_a_text_keeps_its_other_lines():
    thing = plugin_config(failRequestsGreaterThanOne=None)
    body = "# who shares\n" + thing.properties["data"]["shared"]
    thing = replace(thing, properties=changed(thing.properties, {"data.shared": body}))
    text = thing.properties["data"]["shared"]
    patched = remediated(thing, FAST)["data"]["shared"]
    assert yaml.safe_load(patched)["sharing"]["timeSlicing"]["failRequestsGreaterThanOne"] is True
    kept = [line for line in text.splitlines() if "failRequests" not in line]
    assert [line for line in patched.splitlines() if "failRequests" not in line] == kept


def test_a_configuration_among_the_values_of_the_operator_is_mended_in_place():
    sharing = {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}}
    text = yaml.safe_dump({"version": "v1", "sharing": sharing}, sort_keys=False)
    for held in (text, {"version": "v1", "sharing": sharing}):
        values = {"devicePlugin": {"config": {"data": {"any.yaml": held}}}}
        data = remediated(operator(values), FAST)["values"]["devicePlugin"]["config"]["data"]
        read = data["any.yaml"]
        read = yaml.safe_load(read) if isinstance(read, str) else read
        assert read["sharing"]["timeSlicing"]["failRequestsGreaterThanOne"] is True


@pytest.mark.parametrize(
    "text",
    [
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
        'version: v1\n"sharing": {"timeSlicing":\n  {resources: [{name: gpu, replicas: 4}]}}',
    ],
)
def test_a_text_that_cannot_be_changed_line_by_line_is_left_to_a_person(text: str):
    thing = plugin_config()
    thing = replace(thing, properties=changed(thing.properties, {"data.shared": text}))
    (finding,) = found(thing, FAST)
    assert finding.remediation == ()


REPLICAS = "sharing-replicas-out-of-range"
TOO_MANY = "device-plugin-mps-too-many-clients"
MPS_TEXT = """\
version: v1
sharing:
  mps:  # 64 were requested
    resources:
    - name: nvidia.com/gpu
      replicas: 64  # of each GPU
    - {name: nvidia.com/other, replicas: 64}
    - {name: nvidia.com/third, replicas: 8}
"""


def test_too_many_mps_clients_in_a_text_are_all_lowered_and_its_comments_stay():
    base = plugin_config("mps")
    thing = replace(base, properties=changed(base.properties, {"data.shared": MPS_TEXT}))
    first, second = found(thing, TOO_MANY)
    assert first.remediation == second.remediation != ()
    properties = applied(thing.properties, first.remediation)
    assert properties["data"]["shared"] == MPS_TEXT.replace("replicas: 64", "replicas: 48")
    assert found(replace(thing, properties=properties), TOO_MANY) == []


def test_too_many_mps_clients_among_the_values_of_the_plugin_s_chart_are_lowered_in_place():
    resources = [{"name": "nvidia.com/gpu", "replicas": 100}]
    data = {"version": "v1", "sharing": {"mps": {"resources": resources}}}
    values = {"config": {"map": {"a": yaml.safe_dump(data)}}}
    properties = {"chart": "nvidia-device-plugin", "values": values}
    thing = Thing("kubernetes:helm.sh/v3:Release", properties, "plugin")
    read = yaml.safe_load(remediated(thing, TOO_MANY)["values"]["config"]["map"]["a"])
    assert read["sharing"]["mps"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 48}]


def test_too_many_mps_clients_in_a_text_among_the_operator_s_values_are_said_without_a_patch():
    values = {"devicePlugin": {"config": {"name": "plugin", "data": {"a": MPS_TEXT}}}}
    findings = found(operator(values), TOO_MANY)
    assert ["64 MPS clients" in finding.message for finding in findings] == [True, True]
    assert [finding.remediation for finding in findings] == [(), ()]
    lowered = {"devicePlugin": {"config": {"data": {"a": MPS_TEXT.replace(": 64", ": 48")}}}}
    assert found(operator(lowered), TOO_MANY) == []


def test_mps_clients_that_an_alias_repeats_and_numbers_too_small_are_left_to_a_person():
    alias = MPS_TEXT.replace("replicas: 64  #", "replicas: &n 64  #").replace(": 64}", ": *n}")
    for text, rule in (
        (alias, TOO_MANY),
        (MPS_TEXT.replace(" 64", " 1"), "device-plugin-replicas-invalid"),
    ):
        base = plugin_config("mps")
        thing = replace(base, properties=changed(base.properties, {"data.shared": text}))
        findings = found(thing, rule)
        assert findings, text
        assert [finding.remediation for finding in findings] == [(), ()]


def test_clients_of_a_gke_pool_are_lowered_to_what_gke_takes():
    sharing = {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 64}
    patched = remediated(gke_pool({GPU_SHARING: sharing}), REPLICAS, *QUIET)
    (card,) = patched["nodeConfig"]["guestAccelerators"]
    assert card["gpuSharingConfig"]["maxSharedClientsPerGpu"] == 48


COLLIDES = "sharing-name-collides"


def test_shares_are_renamed_in_a_text_that_fails_fast_already():
    base = plugin_config(renameByDefault=False)
    text = remediated(base, COLLIDES, *QUIET, SHARED, WHOLE)["data"]["shared"]
    before = base.properties["data"]["shared"]
    assert text == before.replace("renameByDefault: false", "renameByDefault: true")


def test_two_patches_never_write_the_same_text():
    both = plugin_config(renameByDefault=False, failRequestsGreaterThanOne=None)
    (collides,) = found(both, COLLIDES, *QUIET, SHARED, WHOLE)
    assert collides.remediation == ()
    first = remediated(both, FAST, *QUIET, SHARED, WHOLE)
    second = remediated(replace(both, properties=first), COLLIDES, *QUIET, SHARED, WHOLE)
    block = yaml.safe_load(second["data"]["shared"])["sharing"]["timeSlicing"]
    assert (block["renameByDefault"], block["failRequestsGreaterThanOne"]) == (True, True)


def test_shares_among_values_are_renamed_beside_every_other_patch():
    sharing = {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}}
    data = {"shared": {"version": "v1", "sharing": sharing}}
    thing = operator({"devicePlugin": {"config": {"data": data}}})
    after = remediated(thing, COLLIDES, *QUIET, SHARED, WHOLE)["values"]["devicePlugin"]["config"]
    assert after["data"]["shared"]["sharing"]["timeSlicing"]["renameByDefault"] is True
