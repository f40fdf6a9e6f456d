"""NVIDIA's device plugin as a DaemonSet, without its chart: its options count as those of one.

Shape: NVIDIA/k8s-device-plugin deployments/static/nvidia-device-plugin.yml and its variants; the
options and their variables are in the README, "As command line flags or envvars".
"""

from pathlib import Path

import pytest

from gpufleet.cluster.program import Program
from gpufleet_policies.readers.documents import facts_of_document
from tests.policies.audit.test_wrappers import audit, write
from tests.reading import yaml_data

PLUGIN = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: nvidia-device-plugin-daemonset, namespace: kube-system{more}}}
spec:
  selector: {{matchLabels: {{name: nvidia-device-plugin-ds}}}}
  template:
    metadata: {{labels: {{name: nvidia-device-plugin-ds}}}}
    spec:
      tolerations: [{{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}]
      {where}
      containers:
      - name: nvidia-device-plugin-ctr
        image: {image}
        {options}
        securityContext: {{allowPrivilegeEscalation: false}}
"""
IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1"
OPERATOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu-operator}
spec:
  chart: {spec: {chart: gpu-operator, version: v25.3.0}}
  values: {driver: {enabled: false}}
"""


def plugin(options: str = "", where: str = "", image: str = IMAGE, more: str = "") -> str:
    return PLUGIN.format(options=options, where=where, image=image, more=more)


def codes(folder: Path) -> list[str]:
    return [one["code"] for one in audit(folder, "--profile", "prod")["findings"]]


@pytest.mark.parametrize(
    "image",
    [
        IMAGE,
        "mcr.example/oss/nvidia/k8s-device-plugin:v0.14.1",
        "registry.example/gpu/nvidia-device-plugin@sha256:" + "0" * 64,
    ],
)
def test_the_operator_runs_a_second_one(image: str, tmp_path: Path) -> None:
    """NVIDIA/k8s-device-plugin#255: the kubelet keeps the devices of one of them."""
    write(tmp_path, {"plugin.yaml": plugin(image=image), "operator.yaml": OPERATOR})
    assert "two-advertisers" in codes(tmp_path)


CHART = ", labels: {app.kubernetes.io/managed-by: Helm, helm.sh/chart: nvidia-device-plugin-0.14.5}"


def test_a_chart_that_is_rendered_into_files_counts_with_its_release(tmp_path: Path) -> None:
    """Helm, Best Practices, Standard Labels: helm.sh/chart is the name and the version."""
    text = plugin(more=CHART, image="registry.example/k8s-device-plugin@sha256:" + "0" * 64)
    found = [f for f in facts_of_document(yaml_data(text)) if isinstance(f, Program)]
    assert [(one.name, one.release.value) for one in found] == [("nvidia-device-plugin", "0.14.5")]
    write(tmp_path, {"plugin.yaml": text, "operator.yaml": OPERATOR})
    assert "two-advertisers" in codes(tmp_path)


RENDERED = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: gpu-operator
  namespace: gpu-operator
  labels: {app.kubernetes.io/name: gpu-operator, helm.sh/chart: gpu-operator-RELEASE}
spec:
  selector: {matchLabels: {app: gpu-operator}}
  template:
    metadata: {labels: {app: gpu-operator}}
    spec:
      containers:
      - name: gpu-operator
        image: nvcr.io/nvidia/gpu-operator:RELEASE
"""


def test_an_operator_that_is_rendered_into_files_has_the_release_of_its_chart() -> None:
    for release, seen in (("v23.9.0", {}), ("v25.10.0-rc.1", {}), ("v23.9.0", {"uid": "u"})):
        document = yaml_data(RENDERED.replace("RELEASE", release))
        document["metadata"] |= seen
        found = [one for one in facts_of_document(document) if isinstance(one, Program)]
        given = [] if seen else [("gpu-operator", release)]
        assert [(one.name, one.release.value) for one in found] == given


OWNED = ", ownerReferences: [{apiVersion: nvidia.com/v1, kind: ClusterPolicy, name: c, uid: u}]"


@pytest.mark.parametrize(
    "text",
    [
        plugin(where="nodeSelector: {plugin: own}"),
        plugin(more=OWNED),
        plugin(more=", labels: {app.kubernetes.io/managed-by: Helm}"),
        plugin(more=f"{CHART}, uid: u"),
        plugin(options="command: [gpu-feature-discovery]"),
        plugin(image="example/k8s-device-plugin-exporter:1"),
        plugin(image="docker.io/rocm/k8s-device-plugin:1.31.0"),  # ROCm/k8s-device-plugin, AMD's
    ],
    ids=[
        "other nodes",
        "of the operator",
        "of a chart",
        "of a dump",
        "another program",
        "another image",
        "AMD",
    ],
)
def test_what_is_no_second_plugin(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"plugin.yaml": text, "operator.yaml": OPERATOR})
    assert "two-advertisers" not in codes(tmp_path)


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: ml}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  containers:
  - {name: c, image: "x:1", command: [python, train.py], resources: {limits: {%s}}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: 8}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: x}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, namespace: kube-system}
data:
  config.yaml: |
    version: v1
    sharing:
      timeSlicing:
        failRequestsGreaterThanOne: true
        resources: [{name: nvidia.com/gpu, replicas: 4}]
"""


@pytest.mark.parametrize(
    "options",
    [
        "args: [--config-file=/etc/config/config.yaml]",
        "args: [--config-file, /etc/config/config.yaml]",
        "env: [{name: CONFIG_FILE, value: /etc/config/config.yaml}]",
    ],
)
def test_its_file_says_how_gpus_are_shared(options: str, tmp_path: Path) -> None:
    pod = POD % "nvidia.com/gpu: 2"
    write(tmp_path, {"plugin.yaml": plugin(options), "config.yaml": CONFIG, "pod.yaml": pod})
    assert "shared-gpu-request-over-one" in codes(tmp_path)
    write(tmp_path, {"plugin.yaml": plugin()})
    assert "shared-gpu-request-over-one" not in codes(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        plugin("env: {a: b}"),
        plugin("args: 3"),
        plugin("command: []"),
        plugin("env: [3, {name: [1], value: {}}]"),
        plugin(where="nodeSelector: [1]"),
        PLUGIN.format(options="", where="", image="[1]", more=""),
    ],
)
def test_odd_fields_stop_nothing(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"plugin.yaml": text})
    found = audit(tmp_path)
    assert "policy-rule-failed" not in [one["code"] for one in found["findings"]]
    assert not [one for one in found["notJudged"] if "please report" in one["reason"]]


GROUP = """\
resource "aws_eks_node_group" "mig" {
  cluster_name    = "ml"
  node_group_name = "mig"
  instance_types  = ["p5.48xlarge"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  labels = { MORE"nvidia.com/mig.config" = "all-1g.10gb" }
  scaling_config {
    min_size     = 0
    max_size     = 2
    desired_size = 0
  }
  taint {
    key    = "nvidia.com/gpu"
    value  = "present"
    effect = "NO_SCHEDULE"
  }
}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: gpu}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.1}}
  values:
    config:
      default: DEFAULT
      map:
        plain: "{version: v1, flags: {migStrategy: none}}"
        cut: "{version: v1, flags: {migStrategy: mixed}}"
    MORE
"""
MIXED = CONFIG.partition("    sharing:")[0] + "    flags: {migStrategy: mixed}\n"
FILE = "args: [--config-file=/etc/config/config.yaml]"


@pytest.mark.parametrize(
    ("installed", "label", "slices"),
    [
        (RELEASE.replace("DEFAULT", "cut").replace("MORE", ""), "", True),
        (RELEASE.replace("DEFAULT", "plain").replace("MORE", ""), "", False),
        (RELEASE.replace("DEFAULT", "plain").replace("MORE", ""), "cut", True),
        (RELEASE.replace("DEFAULT", "cut").replace("MORE", ""), "plain", False),
        (RELEASE.replace("DEFAULT", "plain").replace("MORE", "migStrategy: mixed"), "", True),
        (plugin(FILE) + "---\n" + MIXED, "", True),
        (plugin(FILE) + "---\n" + MIXED.replace("mixed", "none"), "", False),
        (plugin("env: [{name: MIG_STRATEGY, value: mixed}]"), "", True),
    ],
)
def test_the_strategy_of_slices_is_in_the_configuration_of_the_nodes(
    installed: str, label: str, slices: bool, tmp_path: Path
) -> None:
    """The README of the device plugin: `nvidia.com/device-plugin.config` chooses a configuration of
    the nodes, and options and variables count before `flags`."""
    more = f'"nvidia.com/device-plugin.config" = "{label}", ' if label else ""
    files = {"plugin.yaml": installed, "main.tf": GROUP.replace("MORE", more)}
    for wanted, is_there in (
        ("nvidia.com/mig-1g.10gb: 1", slices),
        ("nvidia.com/gpu: 1", not slices),
    ):
        write(tmp_path, {**files, "pod.yaml": (POD % wanted).partition("---")[0]})
        assert ("gpu-resource-not-offered" not in codes(tmp_path)) is is_there, wanted
