"""Each workload rule: the compliant workload is silent, one broken property gives the message."""

import pytest

from gpufleet_policies.facts import Provenance
from gpufleet_policies.rules.rule import Level
from tests.policies.objects import (
    CONTAINER,
    DEPLOYMENT,
    REMOVE,
    STRICT,
    WHOLE,
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


def test_whole_gpu_where_a_slice_fits():
    found = only(findings(deployment({LIMITS: WHOLE, **SMALL})), "gpu-oversized-for-model")
    assert found.level is Level.MANDATORY
    assert found.message == (
        "[gpu-oversized-for-model] Deployment ml/chat, container server "
        "(spec.template.spec.containers[0]): asks for 1 x nvidia.com/gpu = 1 x H100-80GB (79.6 GiB "
        "each), and the model needs 4.3 GiB (estimated for 1.1 B parameters in bf16, declared); "
        "nvidia.com/gpu.shared of pool small has 5.6 GiB, one of 4 shares of a device. Instead: "
        "ask for `nvidia.com/gpu.shared: 1` instead of `nvidia.com/gpu: 1`. It wastes 19,502 USD "
        "per month (4 pods; pool training, 6.88 USD/h per GPU, 730 h). To keep it for a while, "
        'annotate gpufleet.dev/ignore-gpu-oversized-for-model: "<reason>; until=YYYY-MM-DD". '
        "See docs/policies.md#gpu-oversized-for-model"
    )


def test_a_larger_model_gets_the_slice_that_holds_it():
    changes = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/min-gpu-memory-gib"': "15"}
    found = only(findings(deployment(changes)), "gpu-oversized-for-model")
    assert "ask for `nvidia.com/mig-2g.20gb: 1`" in found.message
    assert "15.0 GiB (declared by gpufleet.dev/min-gpu-memory-gib)" in found.message


def test_inferred_evidence_is_only_advice():
    changes = {LIMITS: WHOLE, f"{CONTAINER}.args": ["--model", "meta-llama/Llama-3.2-1B"]}
    found = only(findings(deployment(changes)), "gpu-oversized-for-model")
    assert found.level is Level.ADVISORY
    assert found.violation.provenance is Provenance.INFERRED
    assert "inferred" in found.message


@pytest.mark.parametrize(
    "reason",
    [
        {'metadata.annotations."gpufleet.dev/latency-slo-ms"': "50"},
        {'metadata.annotations."gpufleet.dev/throughput-slo"': "900 tokens/s"},
        {'metadata.annotations."gpufleet.dev/mode"': "training"},
    ],
    ids=["latency", "throughput", "training"],
)
def test_reasons_for_a_big_gpu_are_respected(reason):
    assert findings(deployment({LIMITS: WHOLE, **SMALL, **reason})) == []


def test_replicas_that_slices_of_their_own_gpus_would_hold():
    """No slice is offered and no smaller GPU is worth it: two of three H100s could go."""
    changes = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/min-gpu-memory-gib"': "38"}
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}
    uncut = deployment({**changes, **pinned, "spec.replicas": 6})
    found = [
        f
        for f in findings(uncut, alongside=fleet(NO_SLICES))
        if f.rule == "gpu-oversized-for-model"
    ]
    assert [f.level for f in found] == [Level.ADVISORY]
    assert (
        "a 3g.40gb slice has 39.5 GiB, and 2 of them fit a GPU: 3 GPUs would hold 6 pods. Instead: "
        "partition a pool into 2 x 3g.40gb and ask for `nvidia.com/mig-3g.40gb: 1`"
        in found[0].message
    )
    one = deployment({**changes, **pinned, "spec.replicas": 1})
    assert "gpu-oversized-for-model" not in ids(findings(one, alongside=fleet(NO_SLICES)))


def test_copies_in_one_pod_may_be_meant_for_throughput():
    changes = {LIMITS: WHOLE, **SMALL, f"{CONTAINER}.args": ["--data-parallel-size", "2"]}
    found = only(findings(deployment(changes)), "gpu-oversized-for-model")
    assert found.level is Level.ADVISORY
    assert "x 2 copies; 11% of the memory would be used" in found.message
    assert "Instead: use 2 x L4" in found.message


def test_a_quarter_of_the_memory_is_advice_only():
    changes = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/model-params-b"': "9"}
    found = only(findings(deployment(changes)), "gpu-oversized-for-model")
    assert found.level is Level.ADVISORY
    assert "Instead: use 1 x L4 (22 GiB, g6.xlarge)" in found.message


def test_quantised_models_count_their_quantisation():
    big = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/model-params-b"': "8"}
    unquantised = only(findings(deployment(big)), "gpu-oversized-for-model")
    assert "the model needs 19.0 GiB" in unquantised.message
    assert "nvidia.com/mig-2g.20gb" in unquantised.violation.alternative
    quantised = deployment({**big, 'metadata.annotations."gpufleet.dev/precision"': "awq"})
    assert (
        "mig-1g.10gb" in only(findings(quantised), "gpu-oversized-for-model").violation.alternative
    )


def test_oversized_gpu_names_the_smaller_pool_of_the_fleet():
    alongside = fleet(NO_SLICES)
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}
    found = only(
        findings(deployment({LIMITS: WHOLE, **SMALL, **pinned}), alongside=alongside),
        "gpu-oversized-for-model",
    )
    assert found.level is Level.MANDATORY
    assert "5% of the memory would be used, and at least 35% should" in found.message
    assert "Instead: run on pool small (L4)" in found.message
    assert "wastes 17,740 USD per month (4 pods; pool training, 6.88 USD/h per GPU" in found.message


def test_oversized_gpu_known_by_its_label_names_what_the_market_sells():
    pinned = {'spec.template.spec.nodeSelector."nvidia.com/gpu.product"': "NVIDIA-H100-80GB-HBM3"}
    found = only(
        findings(deployment({LIMITS: WHOLE, **SMALL, **pinned}), alone=True),
        "gpu-oversized-for-model",
    )
    assert "Instead: use 1 x L4 (22.4 GiB, for example)" in found.message
    assert found.violation.money is not None
    assert found.violation.money.usd_per_month is None, "its cloud is not known"


def test_prices_are_of_the_cloud_that_the_labels_name():
    """Measured on GoogleCloudPlatform/kubernetes-engine-samples: EC2 prices on GKE."""
    label = 'spec.template.spec.nodeSelector."cloud.google.com/gke-accelerator"'
    pinned = {label: "nvidia-tesla-a100"}
    found = only(
        findings(deployment({LIMITS: WHOLE, **SMALL, **pinned}), alone=True),
        "gpu-oversized-for-model",
    )
    assert "use 1 x L4 (22 GiB, g2-standard-4)" in found.message
    assert "a2-megagpu-16g at 3.48 USD/h per GPU in us-central1" in found.message
    elsewhere = {'spec.template.spec.nodeSelector."topology.kubernetes.io/zone"': "asia-east1-b"}
    found = only(
        findings(deployment({LIMITS: WHOLE, **SMALL, **pinned, **elsewhere}), alone=True),
        "gpu-oversized-for-model",
    )
    assert found.violation.money is not None
    assert found.violation.money.usd_per_month is None, "the price is of another region"


@pytest.mark.parametrize("alone", [True, False], ids=["label", "fleet"])
def test_a_smaller_model_never_gets_a_milder_finding(alone):
    """One whole H100, sizes from 1 B to 60 B: the level only falls."""
    key = (
        'spec.template.spec.nodeSelector."nvidia.com/gpu.product"'
        if alone
        else 'spec.template.spec.nodeSelector."gpufleet.dev/pool"'
    )
    pinned = {key: "NVIDIA-H100-80GB-HBM3" if alone else "training"}
    order = [Level.MANDATORY, Level.ADVISORY, None]
    levels = []
    for size in ("1", "4", "7", "8", "10", "13", "20", "34", "60"):
        sized = {'metadata.annotations."gpufleet.dev/model-params-b"': size}
        thing = deployment({LIMITS: WHOLE, **sized, **pinned, "spec.replicas": 1})
        found = findings(thing, alongside=fleet(NO_SLICES), alone=alone)
        own = [f.level for f in found if f.rule == "gpu-oversized-for-model"]
        levels.append(own[0] if own else None)
    assert levels == sorted(levels, key=order.index), levels
    assert levels[0] is Level.MANDATORY
    assert levels[-1] is None


def test_the_cheapest_pool_counts_when_several_fit():
    # On an L4 the model is not oversized by price: nothing cheaper exists in that fleet.
    found = findings(deployment({LIMITS: WHOLE, **SMALL}), alongside=fleet(NO_SLICES))
    assert "training" not in " ".join(f.message for f in found)


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
    assert found.message.startswith(
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
    assert "requests 2 nvidia.com/mig-1g.10gb and limits 1; both must be equal" in found.message
    assert "the API server refuses such pods" in found.message
    same = {**requests, "nvidia.com/mig-1g.10gb": "1000m"}
    assert findings(deployment({f"{CONTAINER}.resources.requests": same})) == []


@pytest.mark.parametrize("amount", [0.5, "0.5", "500m"])
def test_a_fraction_of_a_gpu(amount):
    found = only(findings(deployment({LIMITS: {"nvidia.com/gpu": amount}})), "gpu-not-integer")
    assert f"asks for {amount} nvidia.com/gpu; only whole devices" in found.message
    assert "ask for 1 of nvidia.com/gpu.shared, nvidia.com/mig-1g.10gb" in found.message


@pytest.mark.parametrize("amount", ["${GPUS}", "{{ .Values.gpus }}", "$(GPUS)", "two"])
def test_a_placeholder_is_unknown_and_no_fraction(amount):
    assert findings(deployment({LIMITS: {"nvidia.com/gpu": amount}}), settings=STRICT) == []


def test_more_than_one_share():
    found = only(
        findings(deployment({LIMITS: {"nvidia.com/gpu.shared": 2}, **ENCODER})),
        "shared-gpu-request-over-one",
    )
    assert found.level is Level.MANDATORY
    assert "asks for 2 x nvidia.com/gpu.shared, shares of a GPU" in found.message
    assert (
        "wastes 588 USD per month (4 pods; pool small, 0.80 USD/h per GPU, 730 h)" in found.message
    )
    by_name = findings(deployment({LIMITS: {"nvidia.com/gpu.shared": 2}, **ENCODER}), alone=True)
    assert ids(by_name) == ["shared-gpu-request-over-one"]


def test_two_whole_names_on_a_pool_that_keeps_the_name():
    kept = {"pools[0].sharing": {"timeSlicing": {"replicas": 4, "rename": False}}}
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "small", "spec.replicas": 2}
    found = findings(deployment({LIMITS: {"nvidia.com/gpu": 2}, **pinned}), alongside=fleet(kept))
    assert "shared-gpu-request-over-one" in ids(found)


def test_gpu_without_cpu_and_memory():
    found = only(
        findings(deployment({f"{CONTAINER}.resources.requests": REMOVE}), settings=STRICT),
        "gpu-pod-without-cpu-memory",
    )
    assert "asks for a GPU and for no cpu and no memory" in found.message
    limits = {"nvidia.com/mig-1g.10gb": "1", "cpu": "4", "memory": "16Gi"}
    either = {f"{CONTAINER}.resources": {"limits": limits}}
    assert findings(deployment(either), settings=STRICT) == []


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
    ],
)
def test_commands_that_wait_for_ever(command, said):
    found = findings(deployment({f"{CONTAINER}.command": command}))
    if said is None:
        assert found == []
        return
    message = only(found, "gpu-idle-command").message
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
    assert found.violation.money is None
    assert "set spec.activeDeadlineSeconds to about twice the expected run" in found.message
    bounded = changed(job, {"spec.activeDeadlineSeconds": 3600})
    assert findings(workload(bounded), settings=chosen) == []
    label = {'metadata.labels."kueue.x-k8s.io/max-exec-time-seconds"': "600"}
    assert findings(workload(changed(job, label)), settings=chosen) == []


def test_resource_nobody_offers():
    found = only(
        findings(deployment({LIMITS: {"nvidia.com/mig-7g.80gb": 1}})), "gpu-resource-not-offered"
    )
    assert found.level is Level.MANDATORY
    assert found.message.startswith(
        "[gpu-resource-not-offered] Deployment ml/chat, spec.template.spec: asks for 1 x "
        "nvidia.com/mig-7g.80gb, which no such pool publishes; the fleet offers nvidia.com/gpu, "
        "nvidia.com/gpu.shared, nvidia.com/mig-1g.10gb, nvidia.com/mig-2g.20gb; the pods would "
        "stay Pending. Instead: ask for one of nvidia.com/gpu, "
    )


def test_resource_of_another_pool_than_the_labels_allow():
    pinned = {'spec.template.spec.nodeSelector."nvidia.com/gpu.product"': "NVIDIA-L4"}
    found = only(findings(deployment(pinned)), "gpu-resource-not-offered")
    assert found.level is Level.ADVISORY
    assert "drop the node label, or choose pool notebooks" in found.message


def test_more_replicas_than_the_pools_hold():
    found = only(findings(deployment({"spec.replicas": 60})), "gpu-replicas-exceed-pool")
    assert found.level is Level.MANDATORY
    assert (
        "60 pods of 1 x nvidia.com/mig-1g.10gb; notebooks (nodes.max 2) can hold 48 at most; "
        "12 would stay Pending" in found.message
    )
    assert "raise pools[1].nodes.max of notebooks to 3" in found.message
    assert findings(deployment({"spec.replicas": 48})) == []


def test_more_gpus_than_a_node_has():
    found = only(findings(deployment({LIMITS: {"nvidia.com/gpu": 16}})), "gpu-replicas-exceed-pool")
    assert "one pod asks for 16 x nvidia.com/gpu; a node of training has 8" in found.message


def test_a_fleet_one_was_only_told_of_gives_advice():
    from dataclasses import replace

    from tests.policies.objects import usual_fleet

    told = replace(usual_fleet(), in_program=False)
    found = only(
        findings(deployment({"spec.replicas": 60}), alongside=told), "gpu-replicas-exceed-pool"
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
    assert "asks for a part of a GPU twice" in found.message
    one = {**both, "spec.template.metadata.annotations": {"gpu-fraction": "0.5"}}
    assert findings(deployment(one)) == []


def test_rules_about_gpus_leave_other_pods_alone():
    plain = {LIMITS: {"cpu": "4"}, f"{CONTAINER}.command": ["sleep", "infinity"]}
    assert findings(deployment(plain), settings=STRICT) == []
