"""Each workload rule: the compliant workload is silent, one broken property gives the message."""

import pytest

from gpufleet.findings import Level
from tests.policies.objects import (
    CONTAINER,
    DEPLOYMENT,
    STRICT,
    changed,
    deployment,
    findings,
    fleet,
    ids,
    only,
    workload,
)

LIMITS = f"{CONTAINER}.resources.limits"
ENCODER = {f"{CONTAINER}.image": "registry.example/encoder:1.0"}
SMALL = {'metadata.annotations."gpufleet.dev/model-params-b"': "1.1"}
NO_SLICES = {"pools[0].sharing": {"exclusive": {}}, "pools[1].sharing": {"exclusive": {}}}


def container(**more):
    return {
        "name": "worker",
        "image": "cuda",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": "1"}},
        **more,
    }


def test_the_compliant_workload_gives_no_finding_even_in_strict():
    assert findings(deployment(), settings=STRICT) == []
    assert findings(deployment(), settings=STRICT, alone=True) == []


def test_request_without_limit_in_a_custom_resource():
    worker = container(resources={"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": 1}})
    lws = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llm"},
        "spec": {
            "replicas": 1,
            "leaderWorkerTemplate": {
                "size": 2,
                "workerTemplate": {"spec": {"containers": [worker]}},
            },
        },
    }
    found = only(findings(workload(lws)), "gpu-request-without-limit")
    assert found.level is Level.MANDATORY
    assert found.text.startswith(
        "[gpu-request-without-limit] LeaderWorkerSet llm, container worker "
        "(spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].resources): requests "
        "nvidia.com/gpu without a limit; a limit is required: nothing checks the template of a "
        "LeaderWorkerSet; its controller then never makes the pods. Instead: write "
        "`limits: {nvidia.com/gpu: 1}`"
    )


def test_request_that_differs_from_the_limit():
    requests = {"cpu": "4", "memory": "16Gi", "nvidia.com/mig-1g.10gb": 2}
    found = only(
        findings(deployment({f"{CONTAINER}.resources.requests": requests})),
        "gpu-request-differs-from-limit",
    )
    assert "requests 2 nvidia.com/mig-1g.10gb and limits 1; both must be equal" in found.text
    assert "the API server refuses such pods" in found.text
    same = {**requests, "nvidia.com/mig-1g.10gb": "1000m"}
    assert findings(deployment({f"{CONTAINER}.resources.requests": same})) == []


@pytest.mark.parametrize("amount", [0.5, "0.5", "500m"])
def test_a_fraction_of_a_gpu(amount):
    found = only(findings(deployment({LIMITS: {"nvidia.com/gpu": amount}})), "gpu-not-integer")
    assert f"requests {amount} nvidia.com/gpu; only whole devices" in found.text
    assert "request 1 of nvidia.com/gpu.shared, nvidia.com/mig-1g.10gb" in found.text


@pytest.mark.parametrize("amount", ["${GPUS}", "{{ .Values.gpus }}", "$(GPUS)", "two"])
def test_a_placeholder_is_unknown_and_no_fraction(amount):
    assert findings(deployment({LIMITS: {"nvidia.com/gpu": amount}}), settings=STRICT) == []


def test_more_than_one_share():
    found = only(
        findings(deployment({LIMITS: {"nvidia.com/gpu.shared": 2}, **ENCODER})),
        "shared-gpu-request-over-one",
    )
    assert found.level is Level.MANDATORY
    assert "requests 2 x nvidia.com/gpu.shared, shares of a GPU" in found.text
    assert "wastes 588 USD per month (4 pods; pool small, 0.80 USD/h per GPU, 730 h)" in found.text
    by_name = findings(deployment({LIMITS: {"nvidia.com/gpu.shared": 2}, **ENCODER}), alone=True)
    assert ids(by_name) == ["shared-gpu-request-over-one"]


def test_two_whole_names_on_a_pool_that_keeps_the_name():
    kept = {"pools[0].sharing": {"timeSlicing": {"replicas": 4, "rename": False}}}
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "small", "spec.replicas": 2}
    found = findings(deployment({LIMITS: {"nvidia.com/gpu": 2}, **pinned}), alongside=fleet(kept))
    assert "shared-gpu-request-over-one" in ids(found)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["sleep", "infinity"], "sleep infinity"),
        (["/bin/sleep", "inf"], "sleep inf"),
        (["sleep", "86400"], "sleep 86400"),
        (["sleep", "2h"], "sleep 2h"),
        (["sh", "-c", "nvidia-smi; sleep infinity"], "sleep infinity"),
        (["bash", "-c", "python warm.py && exec sleep 1d"], "sleep 1d"),
        (["bash", "-c", "trap : TERM INT; sleep infinity & wait"], "sleep infinity"),
        (["tail", "-f", "/dev/null"], "tail -f /dev/null"),
        (["sh", "-c", "while true; do nvidia-smi; sleep 5; done"], "a loop of nvidia-smi"),
        (["/pause"], "pause"),
        (["sleep", "30"], None),
        (["sh", "-c", "sleep 7200 && python train.py"], None),
        (["python", "sleep.py", "infinity"], None),
        (["sh", "-c", "echo do not sleep infinity"], None),
        # oracle-quickstart/oci-hpc-oke manifests/nccl-tests/volcano/BM.GPU.H100.8-nccl-test.yaml
        (
            ["bash", "-c", "mkdir -p /run/sshd; /usr/sbin/sshd -D -p 2222 || sleep 999999999"],
            "sshd -D",
        ),
    ],
)
def test_commands_that_wait_for_ever(command, said):
    found = findings(deployment({f"{CONTAINER}.command": command}))
    if said is None:
        assert found == []
        return
    message = only(found, "gpu-idle-command").text
    assert said in message
    assert "holds 1 x nvidia.com/mig-1g.10gb and runs" in message
    assert "wastes 1,431 USD per month (4 pods; pool notebooks, 3.43 USD/h per GPU" in message


def test_idle_levels_follow_the_environment():
    idle = deployment({f"{CONTAINER}.command": ["sleep", "infinity"]})
    assert findings(idle)[0].level is Level.MANDATORY
    assert findings(idle, alongside=fleet({"environment": "dev"}))[0].level is Level.ADVISORY
    assert findings(idle, alone=True)[0].level is Level.ADVISORY


@pytest.mark.parametrize("change", [{"spec.replicas": 0}, {"spec.suspend": True}])
def test_what_does_not_run_is_not_idle(change):
    assert findings(deployment({f"{CONTAINER}.command": ["sleep", "infinity"], **change})) == []


def test_job_without_a_deadline():
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {
            "parallelism": 2,
            "template": {
                "spec": {
                    "containers": [
                        container(
                            resources={
                                "requests": {"cpu": 1, "memory": "1Gi"},
                                "limits": {"nvidia.com/gpu": 4},
                            }
                        )
                    ]
                }
            },
        },
    }
    assert findings(workload(job)) == [], "a matter of taste: only the strict profile asks"
    chosen = {"rules": {"gpu-job-without-deadline": "advisory"}}
    found = only(findings(workload(job), settings=chosen), "gpu-job-without-deadline")
    assert found.money is None
    assert "set spec.activeDeadlineSeconds to about twice the expected run" in found.text
    bounded = changed(job, {"spec.activeDeadlineSeconds": 3600})
    assert findings(workload(bounded), settings=chosen) == []
    label = {'metadata.labels."kueue.x-k8s.io/max-exec-time-seconds"': "600"}
    assert findings(workload(changed(job, label)), settings=chosen) == []


def test_resource_nobody_offers():
    found = only(
        findings(deployment({LIMITS: {"nvidia.com/mig-7g.80gb": 1}})), "gpu-resource-not-offered"
    )
    assert found.level is Level.MANDATORY
    assert found.text.startswith(
        "[gpu-resource-not-offered] Deployment ml/chat, spec.template.spec: requests 1 x "
        "nvidia.com/mig-7g.80gb, which no such pool publishes; the fleet offers nvidia.com/gpu, "
        "nvidia.com/gpu.shared, nvidia.com/mig-1g.10gb, nvidia.com/mig-2g.20gb; the pods would "
        "stay Pending. Instead: request one of nvidia.com/gpu, "
    )


def test_resource_of_another_pool_than_the_labels_allow():
    pinned = {'spec.template.spec.nodeSelector."nvidia.com/gpu.product"': "NVIDIA-L4"}
    found = only(findings(deployment(pinned)), "gpu-resource-not-offered")
    assert found.level is Level.ADVISORY
    assert "remove the node label, or choose pool notebooks" in found.text


def test_a_pool_label_that_no_pool_has_is_named():
    typo = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "notbooks"}
    found = only(findings(deployment(typo)), "gpu-resource-not-offered")
    assert "no pool of the fleet has gpufleet.dev/pool=notbooks" in found.text


def test_more_replicas_than_the_pools_hold():
    found = only(findings(deployment({"spec.replicas": 60})), "gpu-pods-exceed-declared-pools")
    assert found.level is Level.MANDATORY
    assert (
        "60 pods of 1 x nvidia.com/mig-1g.10gb; notebooks (nodes.max 2) can hold 48 at most; "
        "12 would stay Pending" in found.text
    )
    assert findings(deployment({"spec.replicas": 48})) == []


def test_more_gpus_than_a_node_has():
    found = only(
        findings(deployment({LIMITS: {"nvidia.com/gpu": 16}})), "gpu-pods-exceed-declared-pools"
    )
    assert "one pod requests 16 x nvidia.com/gpu; a node of training has 8" in found.text


def test_a_fleet_one_was_only_told_of_gives_advice():
    from dataclasses import replace

    from tests.policies.objects import usual_fleet

    told = replace(usual_fleet(), in_program=False)
    found = only(
        findings(deployment({"spec.replicas": 60}), alongside=told),
        "gpu-pods-exceed-declared-pools",
    )
    assert found.level is Level.ADVISORY


def test_jobs_may_queue_more_pods_than_fit_at_once():
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sweep"},
        "spec": {
            "parallelism": 500,
            "activeDeadlineSeconds": 60,
            "template": {"spec": {"containers": [container()]}},
        },
    }
    assert findings(workload(job)) == []


def test_replicas_of_the_deployment_are_the_usual():
    assert DEPLOYMENT["spec"]["replicas"] == 4


def test_two_fractions_contradict_each_other_without_a_gpu_too():
    annotations = {"gpu-fraction": "0.5", "gpu-memory": "4096"}
    both = {LIMITS: {"cpu": "4"}, "spec.template.metadata.annotations": annotations}
    found = only(findings(deployment(both)), "fraction-with-whole-gpu")
    assert "requests a fraction of a GPU twice" in found.text
    one = {**both, "spec.template.metadata.annotations": {"gpu-fraction": "0.5"}}
    assert findings(deployment(one)) == []


def test_rules_about_gpus_leave_other_pods_alone():
    plain = {LIMITS: {"cpu": "4"}, f"{CONTAINER}.command": ["sleep", "infinity"]}
    assert findings(deployment(plain), settings=STRICT) == []
