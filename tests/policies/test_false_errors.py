"""Legal settings that look like waste or a mistake give no error, in several spellings each."""

from pathlib import Path
from typing import Any

import pytest

from tests.policies.audit.test_wrappers import audit, write

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: ml}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {ANNOTATIONS}}
    spec:
      restartPolicy: Never
      nodeSelector: {NODES}
      containers:
        - name: main
          image: IMAGE
          COMMAND
          resources: {requests: {cpu: "8", memory: 64Gi}, limits: {memory: 64Gi, RESOURCES}}
"""


def job(
    annotations: str = "",
    nodes: str = "",
    image: str = "registry.example.com/t:1",
    command: str = "command: [python, tune.py]",
    resources: str = "nvidia.com/gpu: 1",
) -> str:
    text = JOB.replace("ANNOTATIONS", annotations).replace("NODES", nodes)
    return text.replace("IMAGE", image).replace("COMMAND", command).replace("RESOURCES", resources)


def codes(folder: Path, text: str, profile: str = "strict") -> set[str]:
    write(folder, {"a.yaml": text})
    return {one["code"] for one in audit(folder, "--profile", profile)["findings"]}


SHAPE = """\
apiVersion: v1
kind: PodTemplate
metadata: {name: shape, namespace: ml}
template:
  spec:
    restartPolicy: Never
    containers:
      - {name: pause, image: "registry.k8s.io/pause:3.10", resources: {limits: {nvidia.com/gpu: 8}}}
---
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: shape, namespace: ml}
spec:
  provisioningClassName: queued-provisioning.gke.io
  parameters: {maxRunDurationSeconds: "3600"}
  podSets: [{count: 2, podTemplateRef: {name: shape}}]
"""


def test_a_pod_template_runs_nothing(tmp_path: Path) -> None:
    assert codes(tmp_path, SHAPE) == set()
    assert audit(tmp_path)["notJudged"] == []


@pytest.mark.parametrize(
    "place",
    [
        {"annotations": "autoscaling.x-k8s.io/consume-provisioning-request: shape"},
        {"annotations": "cluster-autoscaler.kubernetes.io/consume-provisioning-request: shape"},
        {"annotations": 'provreq.kueue.x-k8s.io/maxRunDurationSeconds: "3600"'},
        {"nodes": 'cloud.google.com/gke-flex-start: "true"'},
        {"nodes": 'cloud.google.com/gke-max-run-duration-seconds: "3600"'},
    ],
)
def test_jobs_on_nodes_that_are_taken_away_need_no_deadline(
    tmp_path: Path, place: dict[str, Any]
) -> None:
    rule = "gpu-job-without-deadline"
    assert rule not in codes(tmp_path, job(**place))
    assert rule in codes(tmp_path, job())


NIM = "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.0"


@pytest.mark.parametrize(
    "command",
    [
        "args: [download-to-cache, --all]",
        "args: [download-to-cache, --profile, abc]",
        "command: [create-model-store, --profile, abc, --model-store, /store]",
        "command: [list-model-profiles]",
        "command: [sh, -c, 'set -e; hf download org/model --local-dir /models']",
        "command: [bash, -c, 'pip install -U hub && huggingface-cli download org/model']",
    ],
)
def test_a_download_needs_no_gpu_and_serves_nothing(tmp_path: Path, command: str) -> None:
    found = codes(tmp_path, job(image=NIM, command=command, resources='cpu: "8"'), "prod")
    assert "gpu-program-without-gpu" not in found
    held = codes(tmp_path, job(image=NIM, command=command), "prod")
    assert "gpu-server-in-job" not in held
    assert "gpu-for-other-program" in held


def test_work_after_a_download_is_work(tmp_path: Path) -> None:
    command = "command: [sh, -c, 'hf download org/model && python train.py']"
    assert "gpu-for-other-program" not in codes(tmp_path, job(command=command), "prod")


@pytest.mark.parametrize(
    "text",
    [
        "<GPUS_PER_NODE>",
        "PLACEHOLDER_GPUS",
        '"${GPUS}"',
        '"$(GPUS)"',
        "$GPUS",
        "__GPUS__",
        "REPLACE_ME",
        '"@@gpus@@"',
        '"%GPUS%"',
        "NUM_GPUS",
        "<your-gpus>",
    ],
)
def test_a_placeholder_is_not_a_value(tmp_path: Path, text: str) -> None:
    found = codes(tmp_path, job(resources=f"nvidia.com/gpu: {text}"), "prod")
    assert not {code for code in found if code.startswith(("config-", "object-"))}
    (left,) = [one for one in audit(tmp_path)["notJudged"] if one["what"] == "variable"]
    assert left["reason"] == "a tool or a person fills in values, which are not known"


def test_a_job_of_volcano_is_a_gang(tmp_path: Path) -> None:
    volcano = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: pretrain, namespace: ml}
spec:
  minAvailable: 2
  tasks:
    - name: worker
      replicas: 2
      template:
        spec:
          containers:
            - name: main
              image: registry.example.com/t:1
              command: [torchrun, train.py]
              resources: {limits: {nvidia.com/gpu: 8, cpu: 8, memory: 64Gi}}
"""
    assert "training-without-queue-or-gang" not in codes(tmp_path, volcano)


def test_a_pod_template_of_an_unknown_kind_gives_advice(tmp_path: Path) -> None:
    workbench = """\
apiVersion: acme.example.com/v1
kind: Workbench
metadata: {name: w, namespace: ml}
spec:
  pods:
    - template:
        spec:
          containers:
            - name: m
              image: registry.example.com/app:1
              command: [sleep, infinity]
              resources: {limits: {nvidia.com/gpu: 1}}
"""
    write(tmp_path, {"a.yaml": workbench})
    found = {one["code"]: one for one in audit(tmp_path, "--profile", "strict")["findings"]}
    assert found["gpu-idle-command"]["level"] == "advisory"
    assert (
        found["gpu-idle-command"]["where"]
        == "container m (spec.pods[0].template.spec.containers[0])"
    )
    assert {one["level"] for one in found.values()} == {"advisory"}


def test_an_elastic_job_needs_one_of_its_pods(tmp_path: Path) -> None:
    elastic = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: tune, namespace: ml}
spec:
  runPolicy: {activeDeadlineSeconds: 3600}
  elasticPolicy: {minReplicas: LEAST, maxReplicas: 8, rdzvBackend: c10d}
  pytorchReplicaSpecs:
    Worker:
      replicas: 8
      template:
        spec:
          containers:
            - name: pytorch
              image: registry.example.com/t:1
              command: [torchrun, tune.py]
              resources: {requests: {cpu: "8", memory: 64Gi}, limits: {nvidia.com/gpu: 1}}
"""
    assert "training-without-queue-or-gang" not in codes(tmp_path, elastic.replace("LEAST", "1"))
    assert "training-without-queue-or-gang" in codes(tmp_path, elastic.replace("LEAST", "8"))


def test_pods_that_count_each_other_are_one_server(tmp_path: Path) -> None:
    server = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: large, namespace: ml}
spec:
  replicas: 2
  serviceName: large
  selector: {matchLabels: {app: large}}
  template:
    metadata: {labels: {app: large}}
    spec:
      containers:
        - name: server
          image: lmsysorg/sglang:v0.5.3
          command: [python3, -m, sglang.launch_server, --model-path, acme/chat, --tp, "16"]
          args: [--nnodes, "2", --node-rank, $(RANK), --dist-init-addr, "large-0.large:5000"]
          readinessProbe: {tcpSocket: {port: 30000}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
          resources: {requests: {cpu: "8", memory: 64Gi}, limits: {nvidia.com/gpu: 8}}
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
    found = codes(tmp_path, server)
    assert not found & {"gpu-serving-without-autoscaler", "gpu-count-below-parallelism"}
    assert "gpu-count-below-parallelism" in codes(tmp_path, server.replace("gpu: 8", "gpu: 4"))


def test_a_command_in_a_variable_may_work_in_the_background(tmp_path: Path) -> None:
    start = 'eval "$START --address=$HOST"'
    for script, idle in ((f"{start} && tail -f /dev/null", False), ("tail -f /dev/null", True)):
        command = f"command: [bash, -c, '{script}']"
        assert ("gpu-idle-command" in codes(tmp_path, job(command=command))) is idle


def test_a_suspended_schedule_starts_nothing(tmp_path: Path) -> None:
    schedule = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: ml}
spec:
  suspend: SUSPENDED
  schedule: "0 1 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: tune
              image: registry.example.com/t:1
              command: [python, tune.py]
              resources: {limits: {nvidia.com/gpu: 1}}
"""
    for suspended in ("true", "false"):
        found = codes(tmp_path, schedule.replace("SUSPENDED", suspended))
        assert ("gpu-cronjob-overlaps" in found) is (suspended == "false")


def test_karpenter_counts_the_gpus_of_each_machine_of_a_family(tmp_path: Path) -> None:
    """G6 machines have 1, 4 or 8 GPUs, and Karpenter reads the number of each machine type."""
    pool = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  interval: 10m
  chart:
    spec:
      chart: karpenter
      version: 1.15.1
      sourceRef: {kind: HelmRepository, name: charts}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: 8}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [g6]}]
"""
    assert "karpenter-does-not-know-the-gpus" not in codes(tmp_path, pool)


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: lq, namespace: ml}
spec: {clusterQueue: cq}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: ml, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  replicas: 4
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec: {containers: [{name: c, image: "x:1", resources: {limits: {nvidia.com/gpu: GPUS}}}]}
"""
LEADER_PORT = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm, namespace: ml}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      metadata: {labels: {app: v}}
      spec: {containers: [{name: l, image: "x:1", ports: [{name: http, containerPort: 8000}]}]}
    workerTemplate:
      metadata: {labels: {app: v}}
      spec: {containers: [{name: w, image: "x:1", ports: [{name: ray, containerPort: 6379}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: ml}
spec: {selector: {app: v}, ports: [{port: 80, targetPort: PORT}]}
"""
OF_ALL_NAMESPACES = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: so, namespace: ml}
spec:
  scaleTargetRef: {name: chat}
  maxReplicaCount: 3
  triggers:
    - type: prometheus
      metadata: {serverAddress: "http://p", threshold: "1", query: x}
      authenticationRef: {name: prometheus-auths, kind: KIND}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: prometheus-auth, namespace: ml}
spec: {podIdentity: {provider: aws}}
"""


@pytest.mark.parametrize(
    ("code", "text", "word", "legal", "wrong"),
    [  # Kueue's documentation, "Run Deployments": each pod is admitted on its own
        ("gpu-quota-never-admits", QUEUE, "GPUS", "1", "4"),
        ("port-name-absent", LEADER_PORT, "PORT", "http", "https"),
        (
            "named-object-absent",
            OF_ALL_NAMESPACES,
            "KIND",
            "ClusterTriggerAuthentication",
            "TriggerAuthentication",
        ),
    ],
)
def test_names_and_quotas_are_those_of_the_pods_that_use_them(
    code: str, text: str, word: str, legal: str, wrong: str, tmp_path: Path
):
    assert code not in codes(tmp_path, text.replace(word, legal))
    assert code in codes(tmp_path, text.replace(word, wrong))


def test_a_node_without_a_status_has_an_unknown_number_of_gpus(tmp_path: Path):
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {gpu: h100}}\n"
    assert "pods-exceed-nodes" not in codes(tmp_path, f"{node}---\n{job()}")
