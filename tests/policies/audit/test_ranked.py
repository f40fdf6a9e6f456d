"""The object with the costliest first, one remedy for it, and GPUs that no pod requests."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from gpufleet.cli.output import UnreadableInputError
from gpufleet_policies.commands.audit import command
from gpufleet_policies.fronts.audit import run
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.text import as_text
from gpufleet_policies.rules.settings import read_settings
from tests.policies.audit.test_wrappers import audit, write
from tests.policies.objects import TODAY

H100 = "NVIDIA-H100-80GB-HBM3"
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: h100}
spec:
  limits: {nvidia.com/gpu: 16}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
"""


def server(name: str, gpus: int, words: str) -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: ml}}
spec:
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec:
      nodeSelector: {{nvidia.com/gpu.product: {H100}}}
      tolerations: [{{key: nvidia.com/gpu, operator: Exists}}]
      containers:
        - name: main
          image: vllm/vllm-openai:v0.11.0
          {words}
          resources: {{limits: {{nvidia.com/gpu: {gpus}, cpu: 4, memory: 32Gi}}}}
"""


def node(name: str, machine: str, gpus: int) -> dict[str, Any]:
    labels = {
        "node.kubernetes.io/instance-type": machine,
        "topology.kubernetes.io/region": "us-east-1",
        "karpenter.sh/capacity-type": "on-demand",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"nvidia.com/gpu": str(gpus)}},
    }


def pod(name: str, where: str, gpus: int, phase: str = "Running") -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus), "memory": "1Gi"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "ownerReferences": [owner]},
        "spec": {"nodeName": where, "containers": [{"name": "m", "resources": {"limits": limits}}]},
        "status": {"phase": phase},
    }


IDLE = "command: [sleep, infinity]"
SMALL = "args: [--model, Qwen/Qwen2.5-32B-Instruct, --tensor-parallel-size, '2']"


def test_the_dearest_object_comes_first_whatever_its_file(tmp_path: Path) -> None:
    files = {"pool.yaml": POOL, "a.yaml": server("a", 1, IDLE), "b.yaml": server("b", 8, IDLE)}
    write(tmp_path, files)
    text = CliRunner().invoke(command, [str(tmp_path), "--top", "1", "--profile", "prod"]).output
    lines = text.splitlines()
    assert lines[0].endswith("b.yaml")
    # 55.04 USD/h for p5.48xlarge on demand in us-east-1 (catalogue, AWS price list), 730 h.
    assert "40,179 USD per month" in text
    assert "p5.48xlarge of pool h100, 6.88 USD/h per GPU" in text
    assert "Deployment ml/a" not in text
    assert "more findings about" in text


def test_no_line_is_longer_than_the_terminal(tmp_path: Path) -> None:
    from gpufleet_policies.commands.audit_reports import report
    from gpufleet_policies.fronts.audit.inputs import find_inputs
    from gpufleet_policies.fronts.audit.run import audit as run_audit
    from gpufleet_policies.rules.settings import RuleSettings
    from tests.policies.objects import TODAY

    write(tmp_path, {"pool.yaml": POOL, "a.yaml": server("a", 4, SMALL)})
    result = run_audit(find_inputs([str(tmp_path)]), RuleSettings(), TODAY)
    lines = report(result, "text", 80).splitlines()
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80


def test_two_findings_about_the_same_gpus_name_one_way_out(tmp_path: Path) -> None:
    write(tmp_path, {"pool.yaml": POOL, "a.yaml": server("a", 4, SMALL)})
    found = {one["code"]: one for one in audit(tmp_path, "--profile", "prod")["findings"]}
    assert "request `nvidia.com/gpu: 1`" in found["gpu-oversized-for-model"]["fix"]
    fewer = found["gpu-count-exceeds-parallelism"]
    assert fewer["fix"] == "see gpu-oversized-for-model: it is about the same GPUs"
    assert fewer["patch"] == []


def test_gpus_of_nodes_that_no_pod_requests_are_counted(tmp_path: Path) -> None:
    items = [
        node("n1", "p5.48xlarge", 8),
        node("n2", "g5.12xlarge", 4),
        pod("a", "n1", 8),
        pod("b", "n2", 2),
        pod("ended", "n2", 1, "Succeeded"),
    ]
    write(tmp_path, {"dump.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})})
    found = audit(tmp_path)
    rows = {one["node"]: (one["allocatable"], one["requested"]) for one in found["nodes"]}
    assert rows == {"n1": (8, 8), "n2": (4, 2)}
    # Half of a g5.12xlarge at 5.672 USD/h for 730 h.
    assert found["freeUsdPerMonth"] == 2070
    text = CliRunner().invoke(command, [str(tmp_path)]).output
    assert "node n2 (g5.12xlarge): 2 of 4 nvidia.com/gpu are requested by no pod" in text


def test_a_page_holds_sums_objects_and_nodes_and_no_markup_of_files(tmp_path: Path) -> None:
    write(tmp_path, {"pool.yaml": POOL, "a.yaml": server("'<i>'", 8, IDLE)})
    page = CliRunner().invoke(command, [str(tmp_path), "--format", "html"]).output
    assert page.startswith("<!doctype html>")
    assert "40,179" in page
    assert "&lt;i&gt;" in page
    assert "<i>" not in page
    assert "<script" not in page


def test_a_page_about_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("a: 1\n", encoding="utf-8")
    found = CliRunner().invoke(command, [str(tmp_path), "--format", "html"])
    assert isinstance(found.exception, UnreadableInputError)
    assert "Nothing was validated" in found.stdout
    assert "errors" not in found.stdout


def test_every_line_fits_a_terminal_of_80_columns(tmp_path: Path) -> None:
    """Nodes and sums too, whose names are those of other people."""
    nodes = [node(f"node-{'x' * 20}-{at}", "p5.48xlarge", 8) for at in range(2)]
    items = [*nodes, pod("a", nodes[0]["metadata"]["name"], 2)]
    write(tmp_path, {"dump.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})})
    write(tmp_path, {"pool.yaml": POOL.replace("  limits: {nvidia.com/gpu: 16}\n", "")})
    write(tmp_path, {"idle.yaml": server("idle", 8, "command: [sleep, infinity]")})
    settings = read_settings({"profile": "prod"})
    inputs = [Input(str(file), named=False) for file in sorted(tmp_path.iterdir())]
    lines = list(as_text(run.audit(inputs, settings, TODAY), lambda text, style: text, 80))
    assert "requested by no pod, 40,179" in " ".join(" ".join(lines).split())
    assert [line for line in lines if len(line) > 80 and str(tmp_path) not in line] == []


def test_a_server_with_more_processes_than_gpus_wastes_what_it_asks_for_alone(
    tmp_path: Path,
) -> None:
    """One GPU and a tensor parallel size of 8: nothing could be saved of eight."""
    words = "args: [--model, Qwen/Qwen2.5-32B, --tensor-parallel-size, '8']"
    write(tmp_path, {"pool.yaml": POOL, "server.yaml": server("chat", 1, words)})
    found = audit(tmp_path, "--profile", "prod")
    assert "gpu-count-below-parallelism" in {one["code"] for one in found["findings"]}
    assert "gpu-oversized-for-model" not in {one["code"] for one in found["findings"]}
