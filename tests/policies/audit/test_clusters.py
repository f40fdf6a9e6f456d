"""Which files of a run are one cluster: nothing is compared across clusters."""

from pathlib import Path

import pytest

from gpufleet.findings import FleetError
from gpufleet_policies.rules.settings import read_settings
from tests.policies.audit.test_wrappers import audit, write

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: 4}
  template:
    metadata: {labels: {team: ml}}
    spec:
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g4dn.xlarge]}
"""
APP = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: big, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: big}}
  template:
    metadata: {labels: {app: big}}
    spec:
      nodeSelector: {team: ml}
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers:
        - name: main
          image: registry.example/app:1
          resources: {limits: {nvidia.com/gpu: 4, cpu: 4, memory: 16Gi}}
"""
COMPARED = "gpu-pods-exceed-declared-pools"
KUSTOMIZATION = (
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%s]\n"
)
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: flux-system}
spec: {path: PATH, sourceRef: {kind: GitRepository, name: flux-system}}
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: argocd}
spec:
  source: {repoURL: https://git.example/r.git, targetRevision: main, path: PATH}
  destination: {DESTINATION, namespace: ml}
"""


def flux(name: str, path: str) -> str:
    return FLUX.replace("NAME", name).replace("PATH", path)


def argo(name: str, path: str, destination: str) -> str:
    text = ARGO.replace("NAME", name).replace("PATH", path)
    return text.replace("DESTINATION", destination)


def is_compared(folder: Path, *options: str) -> bool:
    """Whether the pod of four GPUs was held against the pool of T4 nodes, which have one."""
    return COMPARED in [one["code"] for one in audit(folder, *options)["findings"]]


TERRAFORM = """\
resource "aws_eks_node_group" "gpu" {
  node_group_name = "gpu"
  instance_types  = ["g4dn.xlarge"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  labels          = { team = "ml" }
  scaling_config {
    min_size     = 0
    max_size     = 2
    desired_size = 0
  }
  taint {
    key    = "nvidia.com/gpu"
    effect = "NO_SCHEDULE"
  }
}
"""
LAYOUTS: dict[str, tuple[dict[str, str], bool]] = {
    "one folder": ({"a/pool.yaml": POOL, "a/app.yaml": APP}, True),
    "one file": ({"a/all.yaml": f"{POOL}---\n{APP}"}, True),
    "two clusters (report D6)": (
        {"clusters/eu/pool.yaml": POOL, "clusters/us/app.yaml": APP},
        False,
    ),
    "Terraform beside manifests": ({"terraform/main.tf": TERRAFORM, "k8s/app.yaml": APP}, True),
    "Terraform above manifests": ({"main.tf": TERRAFORM, "manifests/a/app.yaml": APP}, True),
    "Terraform of each tutorial": (
        {"tutorials/a/infra/main.tf": TERRAFORM, "tutorials/b/app.yaml": APP},
        False,
    ),
    "Terraform of two clusters": (
        {
            "terraform/eu/main.tf": TERRAFORM,
            "terraform/us/main.tf": TERRAFORM,
            "k8s/app.yaml": APP,
        },
        False,
    ),
    "Terraform and pools of their own": (
        {
            "terraform/main.tf": TERRAFORM,
            "k8s/app.yaml": APP,
            "k8s/pool.yaml": POOL.replace("g4dn.xlarge", "g4dn.12xlarge"),
        },
        False,
    ),
    "two tutorials": ({"tutorials/a/pool.yaml": POOL, "tutorials/b/app.yaml": APP}, False),
    "one kustomization": (
        {
            "prod/kustomization.yaml": KUSTOMIZATION % "../pools, ../apps/app.yaml",
            "pools/kustomization.yaml": KUSTOMIZATION % "pool.yaml",
            "pools/pool.yaml": POOL,
            "apps/app.yaml": APP,
        },
        True,
    ),
    "two overlays of one base": (
        {
            "eu/kustomization.yaml": KUSTOMIZATION % "../base, pool.yaml",
            "eu/pool.yaml": POOL,
            "us/kustomization.yaml": KUSTOMIZATION % "../base",
            "base/kustomization.yaml": KUSTOMIZATION % "app.yaml",
            "base/app.yaml": APP,
        },
        True,
    ),
    "two overlays": (
        {
            "eu/kustomization.yaml": KUSTOMIZATION % "pool.yaml",
            "eu/pool.yaml": POOL,
            "us/kustomization.yaml": KUSTOMIZATION % "app.yaml",
            "us/app.yaml": APP,
        },
        False,
    ),
    "paths of Flux in one cluster": (
        {
            "clusters/eu/infra.yaml": flux("infra", "./infra/eu"),
            "clusters/eu/apps.yaml": flux("apps", "./apps/eu"),
            "infra/eu/karpenter/pool.yaml": POOL,
            "apps/eu/kustomization.yaml": KUSTOMIZATION % "app.yaml",
            "apps/eu/app.yaml": APP,
        },
        True,
    ),
    "paths of Flux in two clusters": (
        {
            "clusters/eu/infra.yaml": flux("infra", "./infra/eu"),
            "clusters/us/apps.yaml": flux("apps", "./apps/us"),
            "infra/eu/pool.yaml": POOL,
            "apps/us/app.yaml": APP,
        },
        False,
    ),
    "applications of Argo CD with one destination": (
        {
            "argocd/infra.yaml": argo("infra", "infra", "name: eu"),
            "argocd/apps.yaml": argo("apps", "apps", "name: eu"),
            "infra/pool.yaml": POOL,
            "apps/app.yaml": APP,
        },
        True,
    ),
    "applications of Argo CD with two destinations": (
        {
            "argocd/infra.yaml": argo("infra", "infra", "name: eu"),
            "argocd/apps.yaml": argo("apps", "apps", "server: https://us.example:6443"),
            "infra/pool.yaml": POOL,
            "apps/app.yaml": APP,
        },
        False,
    ),
    "kustomizations that name each other": (
        {
            "a/kustomization.yaml": KUSTOMIZATION % "../b, pool.yaml",
            "b/kustomization.yaml": KUSTOMIZATION % "../a, app.yaml",
            "a/pool.yaml": POOL,
            "b/app.yaml": APP,
        },
        True,
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_objects_are_compared_within_a_cluster(layout: str, tmp_path: Path):
    files, expected = LAYOUTS[layout]
    write(tmp_path, files)
    assert is_compared(tmp_path) is expected


def test_settings_say_which_folders_are_clusters(tmp_path: Path):
    write(
        tmp_path,
        {
            "clusters/eu/pools/pool.yaml": POOL,
            "clusters/eu/apps/app.yaml": APP,
            "policy.yaml": "clusters: ['clusters/*']\n",
        },
    )
    assert not is_compared(tmp_path / "clusters")
    assert is_compared(tmp_path / "clusters", "--config", str(tmp_path / "policy.yaml"))
    with pytest.raises(FleetError) as wrong:
        read_settings({"clusters": [3, ""]})
    assert [one.path for one in wrong.value.findings] == ["clusters[0]", "clusters[1]"]


def test_files_that_are_named_together_are_compared(tmp_path: Path):
    write(tmp_path, {"eu/pool.yaml": POOL, "us/app.yaml": APP})
    assert is_compared(tmp_path / "eu/pool.yaml", str(tmp_path / "us/app.yaml"))
    assert not is_compared(tmp_path)


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: NAME}
spec:
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
"""


def test_queues_of_two_clusters_are_no_stranded_quota(tmp_path: Path):
    queues = {f"clusters/{c}/queue.yaml": QUEUE.replace("NAME", c) for c in ("eu", "us")}
    write(tmp_path, queues)
    assert "quota-stranded" not in [one["code"] for one in audit(tmp_path)["findings"]]
    local = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: a}\nspec: "
    write(tmp_path, {"clusters/us/local.yaml": f"{local}{{clusterQueue: us}}"})
    assert "quota-stranded" not in [one["code"] for one in audit(tmp_path)["findings"]]
    both = f"{queues['clusters/eu/queue.yaml']}---\n{local}{{clusterQueue: another}}"
    write(tmp_path, {"clusters/eu/queue.yaml": both})
    assert "quota-stranded" in [one["code"] for one in audit(tmp_path)["findings"]]


def test_what_another_folder_may_have_is_not_missing(tmp_path: Path):
    """Only a cluster that is certain lacks what is not in it."""
    exporter = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: d}\n"
    exporter += "spec: {chart: {spec: {chart: dcgm-exporter, version: 4.8.2}}}\n"
    operator = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: o}\n"
    operator += "spec: {chart: {spec: {chart: gpu-operator, version: v25.3.0}}, "
    operator += "values: {dcgmExporter: {enabled: false}}}\n"
    write(tmp_path, {"a/pool.yaml": f"{POOL}---\n{operator}", "b/exporter.yaml": exporter})
    missing = "gpu-monitoring-missing"
    prod = ("--profile", "prod")
    assert missing not in [one["code"] for one in audit(tmp_path, *prod)["findings"]]
    write(tmp_path, {"policy.yaml": "clusters: [a, b]\n"})
    found = audit(tmp_path, *prod, "--config", str(tmp_path / "policy.yaml"))
    assert missing in [one["code"] for one in found["findings"]]


@pytest.mark.parametrize(
    ("read", "one_cluster"),
    [
        ('file("${path.module}/apps/big.yaml")', True),
        ('templatefile("${path.module}/apps/big.yaml", {team = var.team})', True),
        ('yamldecode(file("${path.module}/apps/big.yaml"))', True),
        ('file("${path.module}/apps/${each.value}")', True),
        ('file("${path.module}/others/big.yaml")', False),
    ],
)
def test_manifests_that_terraform_reads_are_in_its_cluster(
    read: str, one_cluster: bool, tmp_path: Path
):
    manifests = f'resource "kubectl_manifest" "apps" {{\n  yaml_body = {read}\n}}\n'
    write(tmp_path, {"gpu.yaml": POOL, "apps.tf": manifests, "apps/big.yaml": APP})
    assert is_compared(tmp_path) is one_cluster
