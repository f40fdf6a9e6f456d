"""Every kind that creates pods: path of its template, and number of its pods."""

import pytest

from gpufleet.cluster import WorkloadFacts
from gpufleet_policies.readers.pod_templates import KINDS
from gpufleet_policies.readers.pulumi_props import group_and_kind, is_validated
from tests.policies.objects import from_pulumi_props, workload

GPU_CONTAINER = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 2}}}


SPEC = {"containers": [GPU_CONTAINER]}


TEMPLATE = {"template": {"spec": SPEC}}


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
    ("sparkoperator.k8s.io", "SparkApplication"): (
        {"spec": {"executor": {"instances": 2, "gpu": {"name": "nvidia.com/gpu", "quantity": 2}}}},
        [("executor", 2)],
    ),
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
                "multiNode": {"parallelism": {"tensor": 2, "pipeline": 2}},
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
    found = from_pulumi_props(token, document, "n", "urn")
    assert isinstance(found, WorkloadFacts)
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
    """Value at a field path."""
    from gpufleet.findings.remediation import pointer

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
        assert not is_validated(token)
        assert from_pulumi_props(token, {"spec": TEMPLATE}, "n", "urn") is None


def test_init_containers_count_as_kubernetes_counts_them():
    def gpus(count, **more):
        limits = {"limits": {"nvidia.com/gpu": count}}
        return {"name": "c", "image": "x", "resources": limits, **more}

    spec = {
        "initContainers": [gpus(5), gpus(1, restartPolicy="Always")],
        "containers": [gpus(2), gpus(1)],
    }
    pod = workload({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec})
    assert pod.pod_groups[0].pod_gpus("nvidia.com/gpu").value == 5
    assert str(pod.locator) == "Pod from-program"


def test_claims_of_a_nim_service_are_where_it_writes_them():
    spec = {"draResources": [{"resourceClaimTemplateName": "gpu"}]}
    token = "kubernetes:apps.nvidia.com/v1alpha1:NIMService"
    service = from_pulumi_props(token, {"spec": spec}, "n", "urn")
    (claim,) = service.pod_groups[0].claims
    assert (claim.place, claim.template.value) == ("spec.draResources[0]", "gpu")
