"""Public reports whose cause was a configuration, through `audit`, and the finding of each.

Each is the smallest form of the reporter's file. The required finding was decided from the thread
before the program ran. tests/policies/configurations/test_user_reports.py has thirty others.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY


@dataclass(frozen=True)
class UserReport:
    """One report."""

    source: str
    text: str
    rule: str
    says: tuple[str, ...]
    """Words that the finding has, all of them."""
    gpu: str = ""
    """GPU of the reporter's nodes, if the file does not name it and a check needs it."""
    kind: str = ""
    missed: str = ""
    """Why the program cannot see the cause."""


SHARED = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: gpu}}
data:
{configs}
"""
SLICES = (
    "  {name}: |-\n    version: v1\n    sharing:\n      timeSlicing:\n"
    "        renameByDefault: true\n        failRequestsGreaterThanOne: true\n"
    "        resources: [{{name: nvidia.com/gpu, replicas: {count}}}]\n"
)
POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: gpu-nodepool}}
spec:
  limits: {limits}
  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 60s}}
  template:
    spec:
      expireAfter: 336h
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}}
      taints: [{{key: nvidia.com/gpu, effect: NoSchedule}}]
      requirements:
      - {{key: node.kubernetes.io/instance-type, operator: In, values: [{type}]}}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: ml}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: a}}}}
  template:
    metadata: {{labels: {{app: a}}}}
    spec:
      tolerations: [{{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}]
{more}
      containers:
      - name: main
        image: {image}
        args: [{words}]
        resources:
          requests: {{cpu: 2, memory: 8Gi, nvidia.com/gpu: 1}}
          limits: {{memory: 8Gi, nvidia.com/gpu: 1}}
{probes}
"""


def deployment(
    name: str = "worker",
    replicas: int = 1,
    more: str = "",
    image: str = "registry.example/worker:1",
    words: str = "",
    probes: str = "",
) -> str:
    return DEPLOYMENT.format(
        name=name, replicas=replicas, more=more, image=image, words=words, probes=probes
    )


def scaled(spec: str) -> str:
    return (
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: a, namespace: ml}\n"
        f"spec:\n  scaleTargetRef: {{name: worker}}\n  maxReplicaCount: 8\n{spec}"
    )


def trigger(query: str, more: str = ', serverAddress: "http://prometheus:9090"') -> str:
    return (
        "  triggers:\n  - type: prometheus\n"
        f'    metadata: {{query: \'{query}\', threshold: "10", ignoreNullValues: "false"{more}}}\n'
    )


CLAIM = (
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {{name: gpu}}\n"
    "spec:\n  spec:\n    devices:\n      requests:\n      - name: gpu\n{}\n"
)
DRIVER = """
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {{name: {}}}
spec: {{driverType: gpu, repository: nvcr.io/nvidia, image: driver, version: 580.126.20{}}}
"""

REPORTS = (
    UserReport(
        "NVIDIA/k8s-device-plugin#1433",
        SHARED.format(
            name="time-slicing-config",
            configs="  any: |-\n    version: v1\n    flags:\n      migStrategy: none\n"
            "      renameByDefault: true\n      failRequestsGreaterThanOne: false\n    sharing:\n"
            "      timeSlicing:\n        resources: [{name: nvidia.com/gpu, replicas: 16384}]\n",
        ),
        "device-plugin-key-elsewhere",
        ("flags.renameByDefault", "sharing"),
    ),
    UserReport(
        "NVIDIA/k8s-device-plugin#713",
        SHARED.format(
            name="mps-config",
            configs="  any: |-\n    version: v1\n    flags: {migStrategy: mixed}\n    sharing:\n"
            "      mps:\n        resources: [{name: nvidia.com/mig-1g.10gb, replicas: 2}]\n",
        ),
        "device-plugin-mps-mixed",
        ("MPS", "mig-strategy"),
    ),
    UserReport(
        "NVIDIA/gpu-operator#412",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: gpu-operator, namespace: gpu}\nspec:\n  interval: 5m\n"
        "  chart:\n    spec:\n      chart: gpu-operator\n"
        "      sourceRef: {kind: HelmRepository, name: nvidia}\n  values:\n"
        "    devicePlugin: {config: {name: nvidia-time-slicing-config}}\n---"
        + SHARED.format(
            name="nvidia-time-slicing-config",
            configs=SLICES.format(name="slice-4", count=4)
            + SLICES.format(name="slice-10", count=10),
        ),
        "",
        ("default", "nvidia.com/device-plugin.config"),
        missed="nodes may have the label that chooses one of them, and no file says so",
    ),
    UserReport(
        "NVIDIA/gpu-operator#603",
        "version: v1\nmig-configs:\n  all-1g.5gb:\n  - {devices: all, mig-enabled: true, "
        "mig-devices: {1g.5gb: 7}}\n",
        "mig-profile-unknown",
        ("1g.5gb", "1g.10gb"),
        gpu="A100-80GB",
        kind="mig-parted",
    ),
    UserReport(
        "NVIDIA/mig-parted#18",
        "version: v1\nmig-configs:\n  all-2g.10gb:\n  - {devices: all, mig-enabled: true, "
        "mig-devices: {2g.10gb: 3}}\n",
        "mig-profile-unknown",
        ("2g.10gb", "2g.20gb"),
        gpu="A100-80GB",
        kind="mig-parted",
    ),
    UserReport(
        "NVIDIA/gpu-operator#219",
        "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: gpu-cluster-policy}\n"
        "spec:\n  operator: {defaultRuntime: crio}\n  daemonsets: {}\n  driver: {enabled: true}\n"
        "  toolkit: {enabled: true}\n  devicePlugin: {enabled: true}\n  gfd: {enabled: true}\n"
        "  dcgm: {enabled: true}\n  nodeStatusExporter: {enabled: true}\n  dcgmExporter:\n"
        "    image: dcgm-exporter\n    repository: registry.example/nvidia\n",
        "gpu-operator-image-incomplete",
        ("dcgmExporter", "version"),
    ),
    UserReport(
        "kubernetes-sigs/dra-driver-nvidia-gpu#438",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: dra, namespace: dra}\nspec:\n  interval: 5m\n  chart:\n    spec:\n"
        "      chart: nvidia-dra-driver-gpu\n      version: 25.3.0\n"
        "      sourceRef: {kind: HelmRepository, name: nvidia}\n  values:\n"
        "    resources: {gpus: {enabled: true}}\n",
        "dra-chart-gpus-override",
        ("gpuResourcesEnabledOverride",),
    ),
    UserReport(
        "aws/karpenter-provider-aws#8068",
        POOL.format(limits="{nvidia.com/gpu: 1}", type="g4dn.xlarge")
        + "---"
        + deployment(replicas=2),
        "gpu-pods-exceed-declared-pools",
        ("2 pods", "can hold 1 at most"),
    ),
    UserReport(
        "aws/karpenter-provider-aws#5073",
        POOL.format(limits="{nvidia.com/gpu: 4}", type="g4dn.xlarge")
        + "---"
        + deployment(more="      nodeSelector: {name: tardis}"),
        "",
        ("name", "gpu-nodepool"),
        missed="nodes with the label may be declared elsewhere",
    ),
    UserReport(
        "AI-Hypercomputer/xpk#603",
        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: a3}\n---\n"
        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: cluster}\nspec:\n"
        "  namespaceSelector: {}\n  resourceGroups:\n  - coveredResources: [nvidia.com/gpu]\n"
        "    flavors: [{name: a3, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]\n---\n"
        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\n"
        "metadata: {name: multislice-queue, namespace: ml}\nspec: {clusterQueue: cluster}\n---\n"
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: train\n  namespace: ml\n"
        "  labels: {kueue.x-k8s.io/queue-name: multislice-queue}\nspec:\n  template:\n    spec:\n"
        "      restartPolicy: Never\n      containers:\n      - name: train\n"
        "        image: registry.example/train:1\n        resources:\n"
        "          requests: {cpu: 8, memory: 64Gi, nvidia.com/gpu: 8}\n"
        "          limits: {memory: 64Gi, nvidia.com/gpu: 8}\n",
        "gpu-quota-never-admits",
        ("cpu", "cluster"),
    ),
    UserReport(
        "kedacore/keda#6040",
        scaled(
            "  minReplicaCount: 1\n  idleReplicaCount: 0\n"
            + trigger('sum(rate(vllm:request_success_total{service="worker"}[2m]))')
        ),
        "autoscaler-zero-by-pods",
        ("0 replicas",),
    ),
    UserReport(
        "llm-d/llm-d-benchmark#1724",
        scaled("  minReplicaCount: 1\n" + trigger("sum(vllm:num_requests_waiting)", "")),
        "autoscaler-metadata-missing",
        ("serverAddress",),
    ),
    UserReport(
        "romanbaron/KAI-Scheduler#1",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: train\n  namespace: ml\n"
        "  labels: {kai.scheduler/queue: default-queue}\nspec:\n  restartPolicy: Never\n"
        "  containers:\n  - name: main\n    image: registry.example/train:1\n    resources:\n"
        "      requests: {cpu: 2, memory: 8Gi}\n      limits: {nvidia.com/gpu: 1, memory: 8Gi}\n",
        "kai-queue-not-read",
        ("schedulerName", "kai-scheduler"),
    ),
    UserReport(
        "kai-scheduler/KAI-Scheduler#932",
        "apiVersion: ray.io/v1\nkind: RayJob\nmetadata:\n  name: train\n  namespace: ml\n"
        "  annotations: {kai.scheduler/queue: research}\nspec:\n  entrypoint: python train.py\n"
        "  shutdownAfterJobFinishes: true\n  activeDeadlineSeconds: 86400\n  rayClusterSpec:\n"
        "    headGroupSpec:\n      rayStartParams: {}\n      template:\n        spec:\n"
        "          schedulerName: kai-scheduler\n          containers:\n          - name: head\n"
        "            image: rayproject/ray:2.40.0\n"
        "            resources: {limits: {cpu: 2, memory: 8Gi}}\n    workerGroupSpecs:\n"
        "    - groupName: gpu\n      replicas: 2\n      minReplicas: 2\n      maxReplicas: 2\n"
        "      rayStartParams: {}\n      template:\n        spec:\n"
        "          schedulerName: kai-scheduler\n          containers:\n          - name: worker\n"
        "            image: rayproject/ray:2.40.0-gpu\n"
        "            resources: {limits: {cpu: 4, memory: 32Gi, nvidia.com/gpu: 1}}\n",
        "kai-queue-not-read",
        ("kai.scheduler/queue", "label"),
    ),
    UserReport(
        "kserve/kserve#5062",
        deployment(
            image="vllm/vllm-openai:v0.10.0",
            words='"--model", "meta-llama/Llama-3.1-8B-Instruct"',
            probes="        readinessProbe: {httpGet: {path: /health, port: 8000}}\n"
            "        livenessProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10}\n",
        ),
        "gpu-liveness-before-load",
        ("liveness",),
    ),
    UserReport(
        "vllm-project/vllm#34199",
        "apiVersion: v1\nkind: Service\nmetadata: {name: vllm, namespace: ml}\n"
        "spec: {selector: {app: a}, ports: [{port: 8000}]}\n---"
        + deployment(
            name="vllm",
            image="vllm/vllm-openai:v0.10.0",
            words='"--model", "Qwen/Qwen3-0.6B"',
            probes="        readinessProbe: {httpGet: {path: /health, port: 8000}}\n",
        ),
        "vllm-port-of-service",
        ("VLLM_PORT",),
    ),
    UserReport(
        "kubeflow/trainer#1563",
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train, namespace: ml}\n"
        "spec:\n  runPolicy: {activeDeadlineSeconds: 86400}\n  pytorchReplicaSpecs:\n"
        "    Master:\n      replicas: 1\n      template:\n        spec:\n          containers:\n"
        "          - name: trainer\n            image: registry.example/train:1\n"
        "            resources:\n              limits: {cpu: 4, memory: 32Gi, nvidia.com/gpu: 1}\n",
        "training-container-name",
        ("pytorch", "container"),
    ),
    UserReport(
        "kserve/kserve#4505",
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: e5}\n"
        "spec:\n  predictor:\n    model:\n      modelFormat: {name: huggingface}\n"
        "      args: [--model_id=intfloat/multilingual-e5-large-instruct]\n"
        '      resources: {limits: {nvidia.com/mig-1g.12gb: "2"}}\n',
        "mig-slices-beyond-one",
        ("2 x nvidia.com/mig-1g.12gb",),
    ),
    UserReport(
        "NVIDIA/k8s-device-plugin#728",
        deployment().replace(
            "nvidia.com/gpu: 1", "nvidia.com/mig-1g.10gb: 1, nvidia.com/mig-1g.20gb: 2"
        ),
        "mig-slices-beyond-one",
        ("1 x nvidia.com/mig-1g.10gb and 2 x nvidia.com/mig-1g.20gb",),
    ),
    UserReport(
        "volcano-sh/kthena#868",
        scaled(trigger("sum(vllm_num_requests_waiting)")),
        "autoscaler-metric-renamed",
        ("vllm:num_requests_waiting",),
    ),
    UserReport(
        "kubernetes/website#52336",
        CLAIM.format(
            "        exactly:\n          deviceClassName: a\n          selectors:\n"
            "          - cel:\n            expression: device.driver == 'a'"
        ),
        "dra-field-missing",
        ("a selector needs cel",),
    ),
    UserReport(
        "kubernetes-sigs/dra-driver-nvidia-gpu#713",
        CLAIM.format("        deviceClassName: gpu.nvidia.com"),
        "dra-field-unknown",
        ("exactly",),
    ),
    UserReport(
        "NVIDIA/gpu-operator#2259",
        DRIVER.format("default", "") + "---" + DRIVER.format("h100", ", nodeSelector: {pool: h}"),
        "gpu-operator-driver-overlap",
        ("match the same node",),
    ),
    UserReport(
        "volcano-sh/volcano#1331",
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: a}\n"
        "spec: {weight: 2, capability: {nvidia.com/gpu: 3}}\n---\n"
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: train}\n"
        "spec:\n  queue: a\n  schedulerName: volcano\n  tasks:\n"
        "  - {name: a, replicas: 7, template: {spec: {containers: [{name: a, image: 'train:1', "
        "resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n",
        "",
        (),
        missed="no rule reads capability of Volcano's queues: a gang of 7 GPUs never starts in 3",
    ),
)


@pytest.fixture
def findings_of(tmp_path: Path):
    def found(report: UserReport) -> list[tuple[str, str]]:
        if report.kind:
            checked = validate_text(report.kind, report.text, gpu=report.gpu)
            return [(one.code, f"{one.path} {one.message} {one.fix}") for one in checked.findings]
        file = tmp_path / "file.yaml"
        file.write_text(report.text)
        result = audit(find_inputs([str(file)]), read_settings({}), TODAY)
        return [(one.code, str(one.text)) for one in result.findings]

    return found


def has_cause(report: UserReport, found: list[tuple[str, str]]) -> bool:
    return any(
        rule == report.rule and all(word in message for word in report.says)
        for rule, message in found
    )


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.source)
def test_the_cause_is_among_the_findings(report: UserReport, findings_of) -> None:
    found = findings_of(report)
    assert has_cause(report, found) is not bool(report.missed), found


def test_at_least_four_fifths_are_found() -> None:
    assert len({report.source for report in REPORTS}) == len(REPORTS) >= 15
    assert sum(not report.missed for report in REPORTS) >= 0.8 * len(REPORTS)
