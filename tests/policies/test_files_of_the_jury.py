"""Faults of rules that public files showed, each in its smallest form: tests/corpus/jury.jsonl."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.findings import Finding
from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import Audit, audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY


@pytest.fixture
def run(tmp_path: Path):
    """The audit of one file with this text."""

    def audited(text: str, name: str = "file.yaml", **settings: Any) -> Audit:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return audit(find_inputs([str(file)]), read_settings(settings), TODAY)

    return audited


@pytest.fixture
def said(run):
    """Rule -> its finding."""

    def rules(text: str, name: str = "file.yaml", **settings: Any) -> dict[str, Finding]:
        return {one.code: one for one in run(text, name, **settings).findings}

    return rules


SECTIONS = """
nfd: {enabled: true}
sriovNetworkOperator: {enabled: true}
deployCR: true
ofedDriver: {deploy: false}
sriovDevicePlugin: {deploy: true}
"""


def test_sections_of_an_unknown_network_operator_are_one_warning(run):
    """crusoecloud/crusoe-ml-k3s, gpu-operator/values.yaml: an older chart read them."""
    found = [
        one
        for one in run(SECTIONS, "gpu-operator/values.yaml").findings
        if one.code == "network-operator-section-moved"
    ]
    assert [one.level.value for one in found] == ["advisory"]
    assert "ofedDriver, sriovDevicePlugin, deployCR since v24.10" in found[0].text
    known = validate_text("network-operator-values", SECTIONS, context={"version": "25.1.0"})
    assert [(one.code, one.severity.value) for one in known.findings] == [
        ("network-operator-section-moved", "error")
    ]
    older = validate_text("network-operator-values", SECTIONS, context={"version": "24.7.0"})
    assert older.findings == ()


SHARED = """
devicePlugin:
  config:
    name: shared
    default: any
    create: true
    data:
      any: |-
        version: v1
        flags: {migStrategy: %s}
        sharing:
          timeSlicing:
            failRequestsGreaterThanOne: true
            resources: [{name: nvidia.com/gpu, replicas: 8}]
%s
"""


@pytest.mark.parametrize(
    ("written", "rest", "found"),
    [
        ("none", "", False),
        ("none", "mig: {strategy: single}", True),
        ("mixed", "", True),
    ],
)
def test_nvidias_example_of_time_slicing_contradicts_no_default(said, written, rest, found):
    """bvankampen/demo-gpu-cluster, gpu-operator/values.yaml, after NVIDIA's documentation."""
    rules = said(SHARED % (written, rest), "gpu-operator/values.yaml")
    assert ("device-plugin-env-wins" in rules) is found


TOOLKIT = """
toolkit:
  env:
  - {name: CONTAINERD_CONFIG, value: %s}
  - {name: CONTAINERD_SOCKET, value: /run/k3s/containerd/containerd.sock}
driver: {enabled: false}
"""


def test_a_configuration_that_the_containerd_of_k3s_does_not_read(said):
    """bvankampen/demo-gpu-cluster, gpu-operator/values.yaml."""
    found = said(TOOLKIT % "/etc/containerd/config.toml", "values.yaml")
    message = found["gpu-operator-containerd-config"].text
    assert "/etc/containerd/config.toml, which the containerd of k3s" in message


MPI = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: nccl}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template: {spec: {containers: [{name: l, image: x, command: [mpirun, all_reduce]}]}}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: w
            image: x
            command: [/bin/bash, -c, "mkdir -p /run/sshd; /usr/sbin/sshd -D"]
            resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_workers_of_mpi_wait_for_their_launcher(said):
    """candonov/benchmarking, mpijob.yaml."""
    assert "gpu-idle-command" not in said(MPI)


RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: vllm}
spec:
  rayVersion: 2.9.0
  headGroupSpec:
    rayStartParams: {}
    template: &pod
      spec: {containers: [{name: ray, image: x, resources: {limits: {nvidia.com/gpu: "2"}}}]}
  workerGroupSpecs:
  - {groupName: workers, replicas: 7, %srayStartParams: {}, template: *pod}
"""


def test_the_head_of_a_cluster_of_fixed_size_computes_too(said):
    """rabem00/Ray-vLLM-OpenShift-ESXi, raycluster.yaml: 7 workers and the head are one engine."""
    assert "gpu-on-control-process" not in said(RAY % "")
    found = said(RAY % "minReplicas: 1, maxReplicas: 7, ")["gpu-on-control-process"]
    assert found.money is None


def test_a_pool_of_an_old_version_has_expire_after_where_that_version_reads_it(said):
    """sesac-4thprj-jungchat/src_aws_eks_iac_cicd, karpenter/nodepool-gpu.yaml."""
    found = said("""
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {name: gpu}
      taints: [{key: gpu, effect: NoSchedule}]
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
  disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: 720h}
  limits: {nvidia.com/gpu: 4}
""")
    assert "karpenter-expire-after-misplaced" not in found
    assert "move expireAfter" in (found["karpenter-version-not-served"].text)


def test_long_names_that_share_words_are_no_misspelling(said):
    """userravs/digitalocean-nim-gpu-monitoring, gpu-operator-values.yaml: GPU Feature Discovery."""
    text = "driver: {enabled: false}\nnvidiaFeatureDiscovery: {tolerations: [{operator: Exists}]}\n"
    found = said(text, "gpu-operator-values.yaml")
    assert "config-key-misspelt" not in found
    assert "config-key-unknown" in found
    near = said("driver: {enabled: false}\nnode-feature-discovry: {}\n", "gpu-operator-values.yaml")
    assert "config-key-misspelt" in near


@pytest.mark.parametrize(("value", "found"), [("true", False), ("false", True)])
def test_an_ignored_key_that_asks_for_what_happens_anyway(said, value, found):
    """gardenlinux/gardenlinux-nvidia-installer, gpu-operator-values.yaml."""
    text = f"cdi: {{enabled: true, default: {value}}}\n"
    assert ("gpu-operator-key-ignored" in said(text, "gpu-operator-values.yaml")) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("psp: {enabled: false}", set()),
        ("imagePullSecrets: []", set()),
        ("psp: {enabled: true}", {"config-key-unknown"}),
        ("migManger: {enabled: false}", {"config-key-misspelt"}),
    ],
)
def test_an_unknown_key_that_asks_for_nothing_loses_nothing(said, text, found):
    """OguzPastirmaci/oke-rdma, gpu-operator-values.yaml: the defaults of an old chart."""
    assert set(said(f"driver: {{enabled: false}}\n{text}\n", "gpu-operator-values.yaml")) == found


def test_a_ray_cluster_that_nothing_says_trains_needs_no_gang(said):
    """rabem00/Ray-vLLM-OpenShift-ESXi, raycluster.yaml."""
    assert "training-without-queue-or-gang" not in said(RAY % "")


MIG = """
migManager:
  config:
    name: own
    create: true
    data:
      config.yaml: |
        version: v1
        mig-configs:
          thirds:
          - {devices: all, mig-enabled: true, mig-devices: {"3g.40gb": 2}}
          mixed-a:
          - {devices: [0], mig-enabled: true, mig-devices: {"1g.10gb": 7}}
          - {devices: [1], mig-enabled: true, mig-devices: {"2g.20gb": 3}}
          mixed-b:
          - {devices: [0], mig-enabled: true, mig-devices: {"1g.10gb": 7}}
          - {devices: [1], mig-enabled: true, mig-devices: {"3g.40gb": 2}}
"""


def test_values_with_layouts_alone_are_judged_and_say_each_fact_once(run):
    """gamasy/IO-labs, mig-config.yaml."""
    result = run(MIG, "mig-config.yaml")
    assert [one.code for one in result.findings] == ["mig-single-strategy-with-mixed-layout"]
    assert "mixed-a, mixed-b: the GPUs" in result.findings[0].text


def test_an_object_without_a_version_is_named(run):
    """jear/gpu-test, gpu-pod.yaml."""
    result = run("kind: Pod\nmetadata: {name: gpu-pod}\nspec: {containers: []}\n")
    assert [one.reason for one in result.not_judged] == [
        "it has no apiVersion, without which the API server refuses an object"
    ]


POOLS = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: any}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: any}
spec:
  limits: {cpu: 100}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: any}
      requirements: [{key: karpenter.k8s.aws/instance-category, operator: In, values: [%s]}]
"""


@pytest.mark.parametrize(("category", "found"), [("c, m, r", False), ("g", True)])
def test_images_of_nodes_without_gpus_are_not_our_business(said, category, found):
    """aws-samples/karpenter-blueprints, disruption-budgets/disruption-budgets.yaml."""
    assert ("karpenter-latest" in said(POOLS % category)) is found


def test_triggers_of_one_object_with_one_fault_are_one_finding():
    """mjpinot/aks-qwen, k8s/keda-scaledobject.yaml."""
    trigger = (
        "{type: prometheus, metadata: "
        "{serverAddress: 'http://p', query: 'vllm:%s', threshold: '4'}}"
    )
    text = (
        "{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: s}, spec: "
        "{scaleTargetRef: {name: vllm}, minReplicaCount: 2, maxReplicaCount: 5, triggers: "
        f"[{trigger % 'num_requests_running'}, {trigger % 'num_requests_waiting'}]}}}}"
    )
    codes = [one.code for one in validate_text("autoscaler", text).findings]
    assert codes.count("autoscaler-silence-is-zero") == 1


OWN = """
roleLabel: gpu-hpc
nfd: {enabled: true, namespace: openshift-nfd, subscription: {name: nfd}}
gpuOperator: {namespace: nvidia-gpu-operator}
clusterPolicy: {name: gpu-cluster-policy, migStrategy: none}
"""


def test_a_chart_of_ones_own_may_be_called_like_a_published_one(run):
    """roiblum1/hpc-gpu-configuration, charts/gpu-operator/values.yaml."""
    result = run(OWN, "charts/gpu-operator/values.yaml")
    assert result.findings == ()
    assert [one.what for one in result.not_judged] == ["chart"]


def test_values_below_the_name_of_a_dependency_are_those_of_its_chart(said):
    """The common form of values of an umbrella chart (Helm, Chart dependencies)."""
    text = "gpu-operator:\n  enabled: true\n  driver: {enabled: false}\n  mig: {strategy: mixd}\n"
    found = said(text, "charts/gpu-operator/values.yaml")
    assert set(found) == {"gpu-operator-choice-unknown"}
    assert found["gpu-operator-choice-unknown"].path == "gpu-operator.mig.strategy"
    beside = f"kube-prometheus-stack: {{grafana: {{enabled: false}}}}\n{text}"
    assert set(said(beside, "charts/gpu-stack/values.yaml")) == set(found)


def test_values_of_a_known_chart_may_name_a_dependency(said):
    """vllm-project/production-stack helm/values.yaml."""
    gpus = "requestGPUType: nvidia.com/gpu, requestGPU: 1"
    engine = "vllmConfig: {tensorParallelSize: 2}, repository: vllm/vllm-openai, tag: v0.10.0"
    model = f"{{name: chat, modelURL: a/b, replicaCount: 1, {gpus}, {engine}}}"
    text = f"servingEngineSpec: {{modelSpec: [{model}]}}\n"
    below = f"{text}kube-prometheus-stack: {{enabled: false}}\n"
    assert set(said(below, "helm/values.yaml")) == set(said(text, "helm/values.yaml")) != set()


OLD = """
driver: {useOpenKernelModules: false, securityContext: {privileged: true}}
cdi: {default: false}
devicePlugin: {version: %s}
"""


@pytest.mark.parametrize(("plugin", "found"), [("v0.17.0", False), ("v0.99.0", True)])
def test_values_with_older_operands_are_those_of_an_older_chart(said, plugin, found):
    """kubeslice-ent/egs-installation and bluefishforsale/homelab-kube, charts/gpu-operator."""
    rules = set(said(OLD % plugin, "gpu-operator-values.yaml"))
    expected = {"gpu-operator-key-ignored", "config-key-unknown"}
    assert rules == (expected if found else set())


POD = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {node.kubernetes.io/instance-type: p4d.24xlarge}
      containers:
      - name: train
        image: x
        command: [python, train.py]
        env: [{name: WANDB_API_KEY, value: %s}]
        resources:
          limits: {cpu: "96", nvidia.com/gpu: "8"}
"""
KEY = "8a7f3c1b9d2e4f60" + "715a8b9c0d1e2f3a4b5c6d7e"


def test_a_pod_that_no_node_can_hold_wastes_nothing(said):
    """JonSnow1807/metaflow-distributed-training-platform, kubernetes/training-job.yaml."""
    found = said(POD % "from-a-secret")["pod-strands-node-gpus"]
    assert "the pod stays Pending" in found.message
    assert found.money is None


@pytest.mark.parametrize(("value", "found"), [(KEY, True), ("not-set", False), ("${KEY}", False)])
def test_a_key_without_a_form_in_a_variable_for_keys(said, value, found):
    """glaive-ai/training-job, training-job.yaml."""
    rules = said(POD % value)
    assert ("gpu-workload-plain-secret" in rules) is found
    assert all(KEY not in one.text for one in rules.values())


FAMILIES = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: 16}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [%s]}
"""


@pytest.mark.parametrize(("families", "found"), [("p4d, p4de", True), ("g6, p4d, p4de, p5", False)])
def test_pods_choose_in_a_pool_of_several_gpus(said, families, found):
    """shawnawshk/ray-serve-on-eks, k8s/karpenter/gpu-nodepool.yaml."""
    assert ("karpenter-memories-mixed" in said(FAMILIES % families)) is found
