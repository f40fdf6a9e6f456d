"""Kubernetes objects in Terraform files: blocks of the provider, manifests, values of charts."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet_policies.readers.blocks import api_object
from tests.policies.audit.test_wrappers import audit, write

DEPLOYMENT = """\
resource "kubernetes_deployment%s" "mistral" {
  metadata {
    name      = "vllm-mistral"
    namespace = kubernetes_namespace.inference.metadata[0].name
  }
  spec {
    replicas = "1"
    selector {
      match_labels = { app = "vllm-mistral" }
    }
    template {
      metadata {
        labels = { app = "vllm-mistral" }
      }
      spec {
        node_selector = { "cloud.google.com/gke-accelerator" = "nvidia-l4" }
        toleration {
          key      = "nvidia.com/gpu"
          operator = "Exists"
        }
        container {
          name  = "proxy"
          image = "proxy:1"
        }
        container {
          name  = "vllm"
          image = "vllm/vllm-openai:v0.9.0"
          args  = ["--model=mistralai/Mistral-Nemo-Instruct-2407", "--tensor-parallel-size=2"]
          env {
            name = "HF_TOKEN"
            value_from {
              secret_key_ref {
                name = "hf-secret"
                key  = "HF_TOKEN"
              }
            }
          }
          resources {
            limits = { "nvidia.com/gpu" = "%s" }
          }
        }
      }
    }
  }
}
"""


@pytest.mark.parametrize("version", ["", "_v1"])
def test_containers_of_the_provider_are_judged(version: str, tmp_path: Path) -> None:
    """Shape of crusoecloud/crusoe-mlops-code-assistant infrastructure/kubernetes/mistral.tf."""
    write(tmp_path, {"main.tf": DEPLOYMENT % (version, "1")})
    found = audit(tmp_path, "--profile", "prod")
    (one,) = [one for one in found["findings"] if one["code"] == "gpu-count-below-parallelism"]
    assert (one["object"], one["line"]) == ("Deployment vllm-mistral", 25)
    write(tmp_path, {"main.tf": DEPLOYMENT % (version, "2")})
    codes = [one["code"] for one in audit(tmp_path, "--profile", "prod")["findings"]]
    assert "gpu-count-below-parallelism" not in codes
    assert "policy-rule-failed" not in codes


SHELLS = {
    # Shape of jmesout/tfy-multi-gpu cuda_add_3.tf.
    "pod": """
resource "kubernetes_pod" "shell" {
  metadata { name = "shell" }
  spec {
    container {
      name    = "main"
      image   = "cuda:12"
      command = ["sleep", "infinity"]
      resources {
        limits = { "nvidia.com/gpu" = 2 }
      }
    }
  }
}
""",
    "manifest": """
resource "kubernetes_manifest" "shell" {
  manifest = {
    apiVersion = "v1"
    kind       = "Pod"
    metadata   = { name = "shell", namespace = var.namespace }
    spec = { containers = [{
      name = "main", image = "cuda:12", command = ["sleep", "infinity"]
      resources = { limits = { "nvidia.com/gpu" = 2 } }
    }] }
  }
}
""",
    "text with expressions": """
resource "kubectl_manifest" "shell" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Pod
    metadata: {name: shell}
    spec:
      containers:
      - {name: main, image: "cuda:${var.tag}", command: [sleep, infinity],
         resources: {limits: {nvidia.com/gpu: 2}}}
  YAML
}
""",
    "decoded": """
resource "kubernetes_manifest" "shell" {
  manifest = yamldecode(<<-YAML
    apiVersion: v1
    kind: Pod
    metadata: {name: shell, namespace: ${var.namespace}}
    spec:
      containers:
      - {name: main, image: cuda, command: [sleep, infinity],
         resources: {limits: {nvidia.com/gpu: 2}}}
  YAML
  )
}
""",
}


@pytest.mark.parametrize("form", SHELLS)
def test_a_shell_is_found_in_every_form(form: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": SHELLS[form]})
    assert "gpu-idle-command" in [one["code"] for one in audit(tmp_path)["findings"]]


CHART = """\
resource "helm_release" "operator" {
  name       = "gpu-operator"
  chart      = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  version    = "v25.3.0"
  values = [%s]
}
"""
TEXT = """<<-EOT
    driver: {enabled: ${var.driver}, version: "${var.branch}.1"}
    mig: {strategy: %s}
  EOT
"""
OBJECT = 'yamlencode({ driver = { enabled = var.driver }, mig = { strategy = "%s" } })'


@pytest.mark.parametrize("form", [TEXT, OBJECT], ids=["text", "object"])
def test_values_of_a_chart_are_judged_and_expressions_are_not(form: str, tmp_path: Path) -> None:
    """The chart takes none, single and mixed (NVIDIA/gpu-operator, values.yaml)."""
    write(tmp_path, {"main.tf": CHART % (form % "both")})
    codes = [one["code"] for one in audit(tmp_path)["findings"]]
    assert codes == ["gpu-operator-choice-unknown"]
    write(tmp_path, {"main.tf": CHART % (form % "mixed")})
    assert audit(tmp_path)["findings"] == []


@pytest.mark.parametrize("text", ["- a", "a: [", "a: b: c"])
def test_values_that_no_parser_reads_are_listed(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": CHART % f'"{text}"'})
    found = audit(tmp_path, "--require-judged", "--allow-nothing")
    (one,) = found["notJudged"]
    assert (found["exit"], found["findings"], one["what"]) == (1, [], "values")
    assert one["reason"].startswith("values of the chart gpu-operator are not known: values[0]")


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ({"container": [{"port": [{"container_port": 80}]}]},
         {"containers": [{"ports": [{"containerPort": 80}]}]}),
        ({"affinity": [], "command": ["a"], "init_container": None}, {"command": ["a"]}),
        ({"spec": [{"replicas": "2", "template": [{"metadata": [{"labels": {"a_b": "1"}}]}]}]},
         {"spec": {"replicas": 2, "template": {"metadata": {"labels": {"a_b": "1"}}}}}),
        ({"env": [{"name": "A", "value": "8"}]}, {"env": [{"name": "A", "value": "8"}]}),
        ("text", "text"),
        ([], []),
        ({"spec": {"container": 3}}, {"spec": {"containers": 3}}),
    ],
)  # fmt: skip
def test_blocks_are_objects_of_the_api(written: Any, made: Any) -> None:
    """hashicorp/terraform-provider-kubernetes, kubernetes/schema_pod_spec.go."""
    assert api_object(written) == made


@pytest.mark.parametrize("body", ["[1]", "a: [", "x", "kind: 3", "{a: 1}"])
def test_a_manifest_that_holds_no_object_is_listed(body: str, tmp_path: Path) -> None:
    text = f'resource "kubectl_manifest" "a" {{\n  yaml_body = <<E\n{body}\nE\n}}\n'
    write(tmp_path, {"main.tf": text})
    found = audit(tmp_path, "--require-judged", "--allow-nothing")
    (one,) = found["notJudged"]
    assert (found["exit"], one["reason"]) == (1, "it holds no object of Kubernetes")


@pytest.mark.parametrize(
    "text",
    [
        'resource "kubernetes_pod" "b" {\n  metadata = 3\n  spec = [1]\n}\n',
        'resource "kubernetes_pod" "b" {\n  spec {\n    container = "x"\n    env = 4\n  }\n}\n',
        'resource "kubernetes_config_map" "e" {\n  data = [1]\n}\n',
        'resource "helm_release" "i" {\n  chart = "gpu-operator"\n  values = [1, {}, "- b"]\n}\n',
    ],
)
def test_odd_values_end_no_audit(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": text})
    found = audit(tmp_path, "--allow-nothing")
    assert "policy-rule-failed" not in [one["code"] for one in found["findings"]]
    assert not [one for one in found["notJudged"] if "report" in one["reason"]]


def test_sharing_in_a_config_map_is_text_however_it_is_written(tmp_path: Path) -> None:
    shared = '{name = "nvidia.com/gpu", replica = 4}'
    write(
        tmp_path,
        {
            "a.tf": f"""\
resource "kubernetes_config_map" "plugin" {{
  metadata {{
    name      = "nvidia-device-plugin"
    namespace = "gpu-operator"
  }}
  data = {{
    any   = yamlencode({{version = "v1", sharing = {{timeSlicing = {{resources = [{shared}]}}}}}})
    other = yamlencode({{version = "v1", flags = {{migStrategy = var.strategy}}}})
  }}
}}
"""
        },
    )
    found = {one["code"] for one in audit(tmp_path)["findings"]}
    assert "config-key-misspelt" in found, "`replica` inside of the text"
    assert "config-wrong-type" not in found, "the provider gets text"


def test_an_autoscaler_of_the_provider_scales_its_server(tmp_path: Path) -> None:
    scaler = """\
resource "kubernetes_horizontal_pod_autoscaler_v2" "mistral" {
  metadata {
    name      = "mistral"
    namespace = "ml"
  }
  spec {
    max_replicas = 4
    scale_target_ref {
      api_version = "apps/v1"
      kind        = "Deployment"
      name        = "vllm-mistral"
    }
    metric {
      type = "Resource"
      resource {
        name = "cpu"
        target {
          type                = "Utilization"
          average_utilization = 70
        }
      }
    }
  }
}
"""
    server = DEPLOYMENT.replace("kubernetes_namespace.inference.metadata[0].name", '"ml"')
    write(tmp_path, {"a.tf": server % ("", "2") + scaler})
    (one,) = [
        one
        for one in audit(tmp_path)["findings"]
        if one["code"] == "autoscaler-cpu-of-gpu-workload"
    ]
    assert "never scales" in one["text"], "the container requests no CPU"
    assert not [one for one in audit(tmp_path)["findings"] if one["code"].startswith("config-")]
