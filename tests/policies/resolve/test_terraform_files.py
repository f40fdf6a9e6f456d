"""Terraform files: literal values, modules of the tree, and values that only a plan has."""

import random
from pathlib import Path

import pytest

from gpufleet.cluster.fact import UNKNOWN
from gpufleet_policies.resolve.hcl import HclError, read_hcl
from gpufleet_policies.resolve.terraform_files import Configuration
from tests.policies.audit.test_wrappers import audit, write

MAIN = """\
variable "n" { default = 2 }
locals { types = ["p4d.24xlarge"] } # one type
resource "aws_eks_node_group" "gpu" {
  cluster_name   = aws_eks_cluster.this.name
  instance_types = local.types
  ami_type       = "AL2023_x86_64_NVIDIA"
  scaling_config {
    min_size     = 2
    desired_size = 2
    max_size     = 2
  }
  tags = merge(var.tags, { a = 1 })
  dynamic "taint" {
    for_each = var.taints
    content { key = taint.value }
  }
}
module "inner" {
  source = "./mod"
  size   = 3
}
module "far" { source = "terraform-aws-modules/eks/aws" }
"""
MODULE = """\
variable "size" { type = number }
variable "ami" { default = "AL2_x86_64_GPU" }
resource "aws_eks_node_group" "inner" {
  instance_types = ["g5.xlarge"]
  ami_type       = var.ami
  scaling_config { max_size = var.size }
}
"""


def test_literals_objects_and_texts_are_read() -> None:
    text = """
a = 1
b = "x\\n$${y}"
c = [1, true, null, { k = "v", "d/e" : 2 }]
d = <<-EOT
  - x: 1
EOT
e = toset(["p"])
f = var.known
"""
    values = read_hcl(text, {"var.known": 7}).attributes
    assert values["b"] == "x\n${y}"
    assert values["c"] == [1, True, None, {"k": "v", "d/e": 2}]
    assert values["d"] == "  - x: 1\n"
    assert (values["a"], values["e"], values["f"]) == (1, ["p"], 7)


@pytest.mark.parametrize(
    "expression",
    [
        "var.other",
        '"a${var.x}"',
        "1 + 2",
        "a ? 1 : 2",
        "[for x in y : x]",
        "{ for k, v in m : k => v }",
        'lookup(var.m, "k", 1)',
        "-x",
        "data.a.b[0].id",
        "<<EOT\n%{ if x }\nEOT",
    ],
)
def test_what_is_computed_is_unknown(expression: str) -> None:
    assert read_hcl(f"a = {expression}\nb = 1\n").attributes == {"a": UNKNOWN, "b": 1}


def test_resources_have_what_is_literal_and_modules_their_arguments() -> None:
    found = Configuration({"main.tf": MAIN, "mod/main.tf": MODULE})
    outer, inner = found.resources()
    assert outer.values["instance_types"] == ["p4d.24xlarge"]
    assert outer.values["scaling_config"] == [{"min_size": 2, "desired_size": 2, "max_size": 2}]
    assert outer.values["taint"] is outer.values["tags"] is outer.values["cluster_name"] is UNKNOWN
    assert inner.address == "module.inner.aws_eks_node_group.inner"
    assert inner.values["scaling_config"] == [{"max_size": 3}]
    assert inner.values["ami_type"] == "AL2_x86_64_GPU"
    (problem,) = found.problems
    assert (problem.object, problem.line) == ("module.far", 22)


def test_a_default_of_a_root_is_unknown_and_tfvars_are_known() -> None:
    text = 'variable "n" { default = 2 }\nresource "a_b" "c" { x = var.n }\n'
    (alone,) = Configuration({"a.tf": text}).resources()
    assert alone.values["x"] is UNKNOWN
    (given,) = Configuration({"a.tf": text, "terraform.tfvars": "n = 5\n"}).resources()
    assert given.values["x"] == 5


def test_the_audit_judges_files_and_names_what_a_plan_knows(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": MAIN, "mod/main.tf": MODULE})
    found = audit(tmp_path, "--profile", "prod")
    fixed = next(one for one in found["findings"] if one["code"] == "gpu-pool-fixed-size")
    assert (fixed["object"], fixed["line"]) == ("NodeGroup aws_eks_node_group.gpu", 8)
    assert [one["object"] for one in found["notJudged"]] == [
        "aws_eks_node_group.gpu",
        "module.far",
    ]


EKS = """\
module "eks" {
  source       = "terraform-aws-modules/eks/aws"
  cluster_name = "ml"
  tags         = { team = "ml" }
  eks_managed_node_group_defaults = { ami_type = "AL2023_x86_64_NVIDIA" }
  eks_managed_node_groups = {
    gpu = {
      instance_types = ["p4d.24xlarge"]
      min_size = 2
      max_size = 2
      taints = { gpu = { key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" } }
    }
    plain = { instance_types = ["g5.xlarge"], max_size = var.most }
    off   = { create = false }
    other = var.group
  }
}
"""


def test_node_groups_of_the_eks_module_are_resources() -> None:
    """Defaults of the module's node_groups.tf: from 1 to 3 nodes, one desired."""
    found = Configuration({"main.tf": EKS})
    gpu, plain, other = found.resources()
    assert gpu.address == 'module.eks["gpu"]'
    assert gpu.type == "aws_eks_node_group"
    assert gpu.values["scaling_config"] == [{"min_size": 2, "max_size": 2, "desired_size": 1}]
    assert gpu.values["taint"][0]["effect"] == "NO_SCHEDULE"
    assert (gpu.values["ami_type"], gpu.values["tags"]) == ("AL2023_x86_64_NVIDIA", {"team": "ml"})
    assert plain.values["scaling_config"] == [
        {"min_size": 1, "max_size": UNKNOWN, "desired_size": 1}
    ]
    assert other.values["instance_types"] is UNKNOWN
    assert found.problems == []


def test_pools_of_the_eks_module_are_judged_and_what_a_plan_knows_is_listed(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": EKS})
    found = audit(tmp_path, "--profile", "prod")
    codes = {(one["code"], one["object"]) for one in found["findings"]}
    assert ("gpu-pool-fixed-size", 'NodeGroup module.eks["gpu"]') in codes
    assert ("gpu-pool-untainted", 'NodeGroup module.eks["plain"]') in codes
    assert ("gpu-pool-untainted", 'NodeGroup module.eks["gpu"]') not in codes
    assert [one["object"] for one in found["notJudged"]] == [
        'module.eks["plain"]',
        'module.eks["other"]',
    ]


def test_any_text_is_read_or_refused() -> None:
    chance = random.Random(20261128)
    refused: list[str] = []
    for _ in range(200):
        at = chance.randrange(len(MAIN))
        text = MAIN[:at] + chance.choice('{}[]()"=,.\n<') + MAIN[at + chance.randrange(3) :]
        try:
            read_hcl(text)
        except HclError as problem:
            refused.append(str(problem))
    assert refused
    assert all(one.startswith("line ") for one in refused)
    with pytest.raises(HclError, match="more than 60 levels"):
        read_hcl("a = " + "[" * 90)


def test_node_groups_of_other_providers_are_listed(tmp_path: Path) -> None:
    text = 'resource "nebius_mk8s_v1_node_group" "gpu" {\n  name = "gpu"\n}\n'
    write(tmp_path, {"main.tf": text})
    (left,) = audit(tmp_path, "--allow-nothing")["notJudged"]
    assert left["object"] == "nebius_mk8s_v1_node_group.gpu"
    assert "no rule reads nebius_mk8s_v1_node_group" in left["reason"]
