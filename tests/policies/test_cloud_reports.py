"""Twenty-five public reports about GPUs on EKS and GKE, and the required finding of each.

The required finding was decided from the thread and the vendor's code before the program ran. A
report is prevented by the declaration (`prevented`: the code of the refusal, or the alternative),
found by the audit of the reporter's files, found by the doctor in a dump
(`tests/policies/doctor/public_issues.yaml`), or not visible, with the reason.
At the first run 17 of 25 were found; confidential nodes and containers that lose their devices
were added then.
"""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.render.artefacts import artefacts
from gpufleet_policies.commands.audit import command
from tests.reading import yaml_data, yaml_documents

DUMPS = Path(__file__).parent / "doctor" / "public_issues.yaml"
ZONE = {"zones": ["us-central1-b"]}
MEGA = {"instanceTypes": ["a3-megagpu-8g"], **ZONE}
EKS = {"instanceTypes": ["g5.xlarge"]}
BLOCKS = {"reserved": {"id": "h4d-reservation", "blocks": ["block-0001"]}}


def _eks(**options: Any) -> dict[str, Any]:
    return {**EKS, "eks": options}


PREVENTED: dict[str, tuple[str, dict[str, Any], str]] = {
    # The API requires the size in the template.
    "pulumi/pulumi-eks#1228": ("eks", _eks(nodeGroup={"diskSize": 100}), "node-group-disk-size"),
    # EKS takes no version next to an image of the template.
    "pulumi/pulumi-eks#1283": (
        "eks",
        _eks(nodeGroup={"version": "1.34"}, launchTemplate={"imageId": "ami-0123456789abcdef0"}),
        "node-group-image-twice",
    ),
    # NVIDIA's image on machines with AMD GPUs.
    "pulumi/pulumi-eks#1534": (
        "eks",
        {"instanceTypes": ["g4ad.xlarge"]},
        "accelerator-not-yet-supported",
    ),
    # Preconditions that the toolkit's module got after failed deployments.
    "GoogleCloudPlatform/cluster-toolkit#3582": (
        "gke",
        {**MEGA, "capacity": [{"queued": {}}], "gke": {"compactPlacement": True}},
        "gke-compact-with-queued",
    ),
    "GoogleCloudPlatform/cluster-toolkit#5737": (
        "gke",
        {**MEGA, "capacity": [{"flexStart": {}}], "gke": {"compactPlacement": True}},
        "gke-compact-with-flex-start",
    ),
    # More nodes than the reservation has machines.
    "GoogleCloudPlatform/cluster-toolkit#4372": (
        "gke",
        {**MEGA, "capacity": [{"reserved": {"id": "r", "instances": 4}}]},
        "nodes-beyond-reservation",
    ),
    # Confidential nodes need another installer of the driver.
    "GoogleCloudPlatform/container-engine-accelerators#449": (
        "gke",
        {
            "instanceTypes": ["a3-highgpu-1g"],
            **ZONE,
            "capacity": [{"spot": {}}],
            "gke": {"confidential": True, "driver": "gpuOperator"},
        },
        "gke-confidential-driver",
    ),
}
"""Report -> platform, declared pool, code."""

DIFFERENT = {
    "GoogleCloudPlatform/cluster-toolkit#5043": "a block is named below its reservation",
    "kubernetes-sigs/karpenter#2440": "pods request all interfaces of the machine",
    "aws/karpenter-provider-aws#6296": "pods request the interfaces that Karpenter then attaches",
}
"""Report -> what is made instead of what failed."""

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: 16}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [MACHINE]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20260801}]
  subnetSelectorTerms: [{tags: {cluster: ml}}]
  securityGroupSelectorTerms: [{tags: {cluster: ml}}]
"""
RESERVATION = "  capacityReservationSelectorTerms: [{id: cr-0123456789abcdef0}]\n"
FOUR_SHARES = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: device-plugin, namespace: kube-system}
data:
  config.yaml: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 24}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  containers:
  - {name: c, image: app, resources: {limits: {memory: 4Gi, nvidia.com/gpu: 4}}}
"""
AUDITED = {
    # Karpenter counts whole GPUs: a pod with four shares gets no new node.
    "kubernetes-sigs/karpenter#729": (
        POOL.replace("MACHINE", "g5.xlarge") + FOUR_SHARES,
        "gpu-pods-exceed-declared-pools",
    ),
    # A Capacity Block in the node class, and a pool that buys on demand.
    "kubernetes-sigs/karpenter#2502": (
        POOL.replace("MACHINE", "p5.4xlarge") + RESERVATION,
        "karpenter-reservation-not-allowed",
    ),
}
"""Report -> the reporter's files in short, code."""

DIAGNOSED = {
    "Azure/karpenter-provider-azure#1790": "node-black-hole",
    "aws/karpenter-provider-aws#3862": "plugin-missing",
    "awslabs/amazon-eks-ami#2706": "plugin-pod-fails",
    "awslabs/amazon-eks-ami#1697": "plugin-finds-no-gpu",
    "awslabs/amazon-eks-ami#1618": "plugin-finds-no-gpu",
    "awslabs/amazon-eks-ami#1470": "plugin-pod-fails",
    "awslabs/amazon-eks-ami#2428": "container-lost-gpus",
}
"""Report -> the doctor's cause in a dump."""

NOT_VISIBLE = {
    "aws/karpenter-provider-aws#8514": "a fault of Karpenter with several blocks in a zone; the "
    "stored thread names no release that has it repaired",
    "aws/karpenter-provider-aws#8255": "the order in which Karpenter's scheduler uses two pools",
    "awslabs/amazon-eks-ami#2236": "images of before May 2025, which no supported version has",
    "awslabs/amazon-eks-ami#1523": "a driver that fails on one image; nothing in files shows it",
    "kubernetes/autoscaler#8129": "an autoscaler of one's own beside GKE's",
    "GoogleCloudPlatform/cluster-toolkit#4058": "Compute Engine refuses what GKE itself wrote",
}
"""Report -> why no file and no dump shows it."""


def _compiled(platform: str, pool: dict[str, Any]) -> Any:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {
                "name": "ml",
                "region": "us-east-1" if platform == "eks" else "us-central1",
                "kubernetesVersion": "1.34",
            },
            "pools": [{"name": "p", "nodes": {"min": 0, "max": 8}, **pool}],
        }
    )


@pytest.mark.parametrize("report", PREVENTED)
def test_the_declaration_is_refused_or_doubted(report: str) -> None:
    platform, pool, code = PREVENTED[report]
    assert code in {one.code for one in _compiled(platform, pool).findings}


def test_a_block_is_named_below_its_reservation() -> None:
    made = _compiled("gke", {"instanceTypes": ["a4-highgpu-8g"], **ZONE, "capacity": [BLOCKS]})
    (pool,) = node_pools(made.fleet.pools[0], "ml", {}).values()
    asked = pool["nodeConfig"]["reservationAffinity"]
    # modules/compute/gke-node-pool of the toolkit: name and suffix, without the project.
    assert asked["values"] == ["h4d-reservation/reservationBlocks/block-0001"]


def test_pods_ask_for_every_interface() -> None:
    pool = {"instanceTypes": ["p5.48xlarge"], "provisioner": "karpenter", "fabric": "efa"}
    files = {one.path: one.text for one in artefacts(_compiled("eks", pool).fleet)}
    (pod,) = yaml_documents(files["pods/p.yaml"])
    (container,) = pod["spec"]["containers"]
    # AWS EC2 user guide, efa-acc-inst-types: 32 interfaces.
    assert container["resources"]["limits"]["vpc.amazonaws.com/efa"] == "32"


@pytest.mark.parametrize("report", AUDITED)
def test_the_audit_finds_it(report: str, tmp_path: Path) -> None:
    text, code = AUDITED[report]
    (tmp_path / "files.yaml").write_text(text)
    assert code in CliRunner().invoke(command, [str(tmp_path), "--format", "json"]).output


def test_the_doctor_finds_it() -> None:
    """That it does, is tested with the other dumps: here, that each report is among them."""
    rows = yaml_data(DUMPS.read_text())
    causes = {one["issue"].partition(".com/")[2]: set(one["cause"]) for one in rows}
    for report, code in DIAGNOSED.items():
        assert causes[report.replace("#", "/issues/")] == {code}


def test_18_of_25_are_prevented_or_diagnosed() -> None:
    found = {*PREVENTED, *DIFFERENT, *AUDITED, *DIAGNOSED}
    assert len(found | set(NOT_VISIBLE)) == 25
    assert len(found) == 19
    assert found.isdisjoint(NOT_VISIBLE)
