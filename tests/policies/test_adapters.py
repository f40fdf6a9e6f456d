"""Reading: proxies and sentinels, quantities, every kind with pods, intent from words."""

from decimal import Decimal

import pytest
from pulumi_policy.proxy import unknown_checking_proxy

from gpufleet.catalogue import load
from gpufleet_policies.adapters.plain import SENTINELS, plain
from gpufleet_policies.adapters.pod_templates import KINDS
from gpufleet_policies.adapters.pulumi_props import from_pulumi_props, group_and_kind, is_judged
from gpufleet_policies.adapters.quantities import amount
from gpufleet_policies.facts import UNKNOWN, Provenance, Workload
from gpufleet_policies.rules.model_memory import memory_need
from tests.policies.objects import CONTAINER, changed, deployment, findings, workload
from tests.policies.objects import DEPLOYMENT as GOOD

GPU_CONTAINER = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 2}}}
SPEC = {"containers": [GPU_CONTAINER]}
TEMPLATE = {"template": {"spec": SPEC}}


@pytest.mark.parametrize("sentinel", sorted(SENTINELS))
def test_unknown_values_read_the_same_through_proxy_and_raw(sentinel):
    document = {"a": {"b": [1.0, sentinel, {"c": sentinel}]}, "d": 2.5, "e": True}
    expected = {"a": {"b": [1, UNKNOWN, {"c": UNKNOWN}]}, "d": 2.5, "e": True}
    assert plain(document) == expected
    assert plain(unknown_checking_proxy(document)) == expected


def test_depth_is_bounded_and_cycles_end():
    loop: dict = {}
    loop["self"] = loop
    found = plain(loop)
    for _ in range(64):
        found = found["self"]
    assert found is UNKNOWN


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1", "1"),
        (1, "1"),
        (1.5, "1.5"),
        ("500m", "0.5"),
        ("1Gi", str(2**30)),
        ("1e3", "1000"),
        ("2k", "2000"),
        (" 3 ", "3"),
        (".5", "0.5"),
        ("1E", str(10**18)),
        ("+2", "2"),
    ],
)
def test_quantities(written, number):
    found = amount(written)
    assert found is not None
    assert found.number == Decimal(number)


@pytest.mark.parametrize("written", ["", "one", "1 Gi", "1gi", "$(N)", "1.2.3", True, None, [], {}])
def test_what_is_no_quantity(written):
    assert amount(written) is None


RUNTIME = {
    "spec": {
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": TEMPLATE}}]}}
    }
}
STEPS = {
    "templates": [{"name": "main", "steps": []}, {"name": "train", "container": GPU_CONTAINER}]
}
CASES = {
    ("", "Pod"): ({"spec": SPEC}, [("", 1)]),
    ("", "ReplicationController"): ({"spec": {"replicas": 3, **TEMPLATE}}, [("", 3)]),
    ("apps", "Deployment"): ({"spec": TEMPLATE}, [("", 1)]),
    ("apps", "StatefulSet"): ({"spec": {"replicas": 4, **TEMPLATE}}, [("", 4)]),
    ("apps", "ReplicaSet"): ({"spec": {"replicas": 4, **TEMPLATE}}, [("", 4)]),
    ("apps", "DaemonSet"): ({"spec": TEMPLATE}, [("", None)]),
    ("batch", "Job"): ({"spec": {"parallelism": 5, **TEMPLATE}}, [("", 5)]),
    ("batch", "CronJob"): ({"spec": {"jobTemplate": {"spec": TEMPLATE}}}, [("", 1)]),
    ("jobset.x-k8s.io", "JobSet"): (
        {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "w",
                        "replicas": 2,
                        "template": {"spec": {"parallelism": 3, **TEMPLATE}},
                    }
                ]
            }
        },
        [("w", 6)],
    ),
    ("trainer.kubeflow.org", "TrainJob"): (
        {
            "spec": {
                "template": {
                    "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": TEMPLATE}}]}
                }
            }
        },
        [("node", 1)],
    ),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        {
            "spec": {
                "replicas": 2,
                "leaderWorkerTemplate": {
                    "size": 4,
                    "leaderTemplate": {"spec": SPEC},
                    "workerTemplate": {"spec": SPEC},
                },
            }
        },
        [("leader", 2), ("worker", 6)],
    ),
    ("kubeflow.org", "PyTorchJob"): (
        {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3, **TEMPLATE}}}},
        [("Worker", 3)],
    ),
    ("kubeflow.org", "MPIJob"): (
        {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2, **TEMPLATE}}}},
        [("Worker", 2)],
    ),
    ("kubeflow.org", "TFJob"): (
        {"spec": {"tfReplicaSpecs": {"Chief": TEMPLATE}}},
        [("Chief", 1)],
    ),
    ("kubeflow.org", "Notebook"): ({"spec": TEMPLATE}, [("", 1)]),
    ("ray.io", "RayCluster"): (
        {
            "spec": {
                "headGroupSpec": TEMPLATE,
                "workerGroupSpecs": [
                    {"groupName": "g", "replicas": 2, "numOfHosts": 2, **TEMPLATE}
                ],
            }
        },
        [("head", 1), ("g", 4)],
    ),
    ("ray.io", "RayJob"): (
        {"spec": {"rayClusterSpec": {"headGroupSpec": TEMPLATE}}},
        [("head", 1)],
    ),
    ("ray.io", "RayService"): (
        {"spec": {"rayClusterConfig": {"headGroupSpec": TEMPLATE}}},
        [("head", 1)],
    ),
    ("serving.kserve.io", "InferenceService"): (
        {"spec": {"predictor": {"minReplicas": 2, "model": GPU_CONTAINER}}},
        [("", 2)],
    ),
    ("serving.knative.dev", "Service"): ({"spec": TEMPLATE}, [("", 1)]),
    ("", "PodTemplate"): (TEMPLATE, [("", None)]),
    ("extensions", "Deployment"): ({"spec": TEMPLATE}, [("", 1)]),
    ("extensions", "DaemonSet"): ({"spec": TEMPLATE}, [("", None)]),
    ("apps.openshift.io", "DeploymentConfig"): ({"spec": {"replicas": 2, **TEMPLATE}}, [("", 2)]),
    ("argoproj.io", "Rollout"): ({"spec": {"replicas": 2, **TEMPLATE}}, [("", 2)]),
    ("trainer.kubeflow.org", "TrainingRuntime"): (RUNTIME, [("node", None)]),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): (RUNTIME, [("node", None)]),
    ("kubeflow.org", "XGBoostJob"): (
        {"spec": {"xgbReplicaSpecs": {"Worker": TEMPLATE}}},
        [("Worker", 1)],
    ),
    ("kubeflow.org", "PaddleJob"): (
        {"spec": {"paddleReplicaSpecs": {"Worker": TEMPLATE}}},
        [("Worker", 1)],
    ),
    ("kubeflow.org", "JAXJob"): (
        {"spec": {"jaxReplicaSpecs": {"Worker": {"replicas": 2, **TEMPLATE}}}},
        [("Worker", 2)],
    ),
    ("batch.volcano.sh", "Job"): (
        {"spec": {"tasks": [{"name": "worker", "replicas": 3, **TEMPLATE}]}},
        [("worker", 3)],
    ),
    ("argoproj.io", "Workflow"): ({"spec": STEPS}, [("train", 1)]),
    ("argoproj.io", "WorkflowTemplate"): ({"spec": STEPS}, [("train", None)]),
    ("argoproj.io", "ClusterWorkflowTemplate"): ({"spec": STEPS}, [("train", None)]),
    ("argoproj.io", "CronWorkflow"): ({"spec": {"workflowSpec": STEPS}}, [("train", 1)]),
    ("serving.kserve.io", "ServingRuntime"): ({"spec": SPEC}, [("", None)]),
    ("serving.kserve.io", "ClusterServingRuntime"): ({"spec": SPEC}, [("", None)]),
    ("serving.kserve.io", "LLMInferenceService"): (
        {
            "spec": {
                "replicas": 2,
                "parallelism": {"data": 4, "dataLocal": 2},
                "template": SPEC,
                "worker": SPEC,
                "prefill": {"replicas": 3, "template": SPEC},
            }
        },
        [("", 2), ("worker", 2), ("prefill", 3)],
    ),
    ("serving.kserve.io", "LLMInferenceServiceConfig"): (
        {"spec": {"template": SPEC}},
        [("", None)],
    ),
    ("apps.nvidia.com", "NIMService"): (
        {
            "spec": {
                "replicas": 2,
                "resources": GPU_CONTAINER["resources"],
                "multiNode": {"parallelism": {"pp": 2}},
            }
        },
        [("", 4)],
    ),
    ("apps.nvidia.com", "NIMCache"): (
        {"spec": {"resources": GPU_CONTAINER["resources"]}},
        [("", 1)],
    ),
    ("production-stack.vllm.ai", "VLLMRuntime"): (
        {"spec": {"deploymentConfig": {"replicas": 2, "resources": {"cpu": "1", "gpu": "2"}}}},
        [("", 2)],
    ),
    ("nvidia.com", "DynamoGraphDeployment"): (
        {
            "spec": {
                "services": {
                    "decode": {
                        "replicas": 2,
                        "multinode": {"nodeCount": 2},
                        "resources": {"limits": {"gpu": "2"}},
                    }
                }
            }
        },
        [("decode", 4)],
    ),
}


def test_every_kind_has_a_case():
    assert set(CASES) == set(KINDS)


@pytest.mark.parametrize(("group", "kind"), CASES, ids=lambda part: part or "core")
def test_pods_of_every_kind(group, kind):
    document, expected = CASES[group, kind]
    token = f"kubernetes:{group or 'core'}/v1beta9:{kind}"
    found = from_pulumi_props(token, document, "n", "urn", load)
    assert isinstance(found, Workload)
    seen = [(g.name, g.pods.value if g.pods.is_known else None) for g in found.pod_groups]
    assert seen == expected
    assert all(g.pod_gpus("nvidia.com/gpu").value == 2 for g in found.pod_groups)
    assert all(
        _reads(document, c.resources_place)["limits"]
        for g in found.pod_groups
        for c in g.containers
        if c.resources_place
    ), "the place of the resources is where they are written"


def _reads(document, place):
    """What stands at a field path."""
    from gpufleet_policies.rules.remediation import pointer

    for step in pointer(place).split("/")[1:]:
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def test_what_no_rule_judges():
    assert group_and_kind("kubernetes:core/v1:Pod") == ("", "Pod")
    for token in (
        "pulumi:pulumi:Stack",
        "aws:s3/bucket:Bucket",
        "kubernetes:core/v1:Secret",
        "kubernetes:apps/v1:DeploymentPatch",
        "pulumi:providers:kubernetes",
    ):
        assert not is_judged(token)
        assert from_pulumi_props(token, {"spec": TEMPLATE}, "n", "urn", load) is None


def test_init_containers_count_as_kubernetes_counts_them():
    def gpus(count, **more):
        return {"name": "c", "resources": {"limits": {"nvidia.com/gpu": count}}, **more}

    spec = {
        "initContainers": [gpus(5), gpus(1, restartPolicy="Always")],
        "containers": [gpus(2), gpus(1)],
    }
    pod = workload({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec})
    assert pod.pod_groups[0].pod_gpus("nvidia.com/gpu").value == 5
    assert str(pod.locator) == "Pod from-program"


UNKNOWN_STRING = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


@pytest.mark.parametrize(
    "path",
    [
        "spec",
        "spec.template",
        "spec.template.spec",
        "spec.template.spec.containers",
        CONTAINER,
        f"{CONTAINER}.resources",
        f"{CONTAINER}.resources.requests",
        f"{CONTAINER}.resources.limits",
        f'{CONTAINER}.resources.limits."nvidia.com/gpu"',
        "spec.replicas",
        "metadata",
        "metadata.annotations",
        f"{CONTAINER}.command",
        'metadata.annotations."gpufleet.dev/model-params-b"',
        'metadata.annotations."gpufleet.dev/precision"',
        "spec.template.spec.nodeSelector",
        "spec.template.spec.affinity",
    ],
)
def test_an_unknown_value_is_never_a_violation(path):
    """From a workload that breaks five rules, unknown fields only take findings away."""
    broken = changed(
        GOOD,
        {
            'metadata.annotations."gpufleet.dev/model-params-b"': "1",
            f"{CONTAINER}.resources": {
                "requests": {"nvidia.com/gpu": 2},
                "limits": {"nvidia.com/gpu": 1},
            },
            f"{CONTAINER}.command": ["sleep", "infinity"],
            "spec.replicas": 40,
        },
    )
    before = {finding.rule for finding in findings(workload(broken))}
    assert len(before) == 5
    raw = changed(broken, {path: UNKNOWN_STRING})
    for document in (raw, unknown_checking_proxy(raw)):
        found = from_pulumi_props("kubernetes:apps/v1:Deployment", document, "n", "u", load)
        assert isinstance(found, Workload)
        assert {finding.rule for finding in findings(found)} < before | {"x"}


@pytest.mark.parametrize(
    ("words", "billions"),
    [
        (["--model", "meta-llama/Llama-3.1-8B"], "8"),
        (["--model=acme/secret-70b-instruct"], "70"),
        (["vllm serve mistralai/Mixtral-8x7B --port 80"], "46.7"),
        (["--model", "acme/moe-8x22b"], "176"),
        (["--model", "acme/qwen-30b-a3b"], "30"),
        (["--model", "acme/0.5b-chat"], "0.5"),
        (["--model", "acme/chat"], None),
        (["--port", "8000"], None),
    ],
)
def test_parameters_inferred_from_the_command_line(words, billions):
    found = deployment({f"{CONTAINER}.args": words}).intent.model_parameters_billion
    if billions is None:
        assert not found.is_known
        return
    assert found.provenance is Provenance.INFERRED
    assert abs(found.value - Decimal(billions)) < Decimal("0.3")


def test_declared_beats_inferred():
    changes = {
        f"{CONTAINER}.args": ["--model", "x/70b", "--quantization", "awq"],
        'metadata.annotations."gpufleet.dev/model-params-b"': "7",
    }
    need = memory_need(deployment(changes).intent)
    assert need is not None
    # The size is declared, its format only inferred: the verdict rests on the weaker one.
    assert need.provenance is Provenance.INFERRED
    assert need.because == "estimated for 7 B parameters in awq, inferred"


@pytest.mark.parametrize("bad", ["seven", "-1", "0", "nan", "inf", ""])
def test_bad_annotations_are_unknown_not_a_crash(bad):
    changes = {'metadata.annotations."gpufleet.dev/model-params-b"': bad}
    intent = deployment(changes).intent
    assert intent.model_parameters_billion.is_unknown
    assert memory_need(intent) is None


def test_required_node_labels():
    def labels(*terms):
        affinity = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]
                }
            }
        }
        changes = {
            "spec.template.spec.affinity": affinity,
            "spec.template.spec.nodeSelector": {"a": "1"},
        }
        return deployment(changes).pod_groups[0].node_labels

    b = {"key": "b", "operator": "In", "values": ["2", "3"]}
    assert labels([b]) == {"a": frozenset("1"), "b": frozenset("23")}
    assert labels([b], [b]) == {"a": frozenset("1")}
    assert labels([{**b, "operator": "NotIn"}]) == {"a": frozenset("1")}
    assert labels([{**b, "key": "a"}]) == {"a": frozenset()}
