"""An audit validates the objects that kustomizations produce, not their source files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.policies.audit.test_wrappers import audit, write
from tests.policies.resolve.trees import SERVER

FEWER = "gpu-count-exceeds-parallelism"


def test_a_fault_that_only_the_overlay_makes_is_found_in_the_patch(tmp_path: Path) -> None:
    write(tmp_path, SERVER)
    found = audit(tmp_path, "--profile", "prod", "--require-judged")
    (one,) = [one for one in found["findings"] if one["code"] == FEWER]
    assert one["file"].endswith("overlays/prod/p.yaml")
    assert one["line"] == 10
    assert "requests 8 x nvidia.com/gpu and starts processes on 1" in one["text"]
    assert one["patch"] == []  # several files make the object
    assert found["notJudged"] == []


def test_each_overlay_is_judged_and_what_costs_nothing_is_said_once(tmp_path: Path) -> None:
    dev = {
        "overlays/dev/kustomization.yaml": "resources: [../../base]\nnamespace: dev\n",
    }
    base = SERVER["base/d.yaml"].replace("gpu: 1", "gpu: 2")
    prod = {"overlays/prod/kustomization.yaml": "resources: [../../base]\nnamespace: prod\n"}
    write(tmp_path, SERVER | dev | prod | {"base/d.yaml": base})
    found = audit(tmp_path)["findings"]
    dearest = [one["object"] for one in found if one["code"] == FEWER]
    assert dearest == ["Deployment dev/llm", "Deployment prod/llm"]
    free = [one["code"] for one in found if one["money"] is None]
    assert len(free) == len(set(free))


def test_comments_in_the_patch_waive_what_is_found_in_it(tmp_path: Path) -> None:
    soon = datetime.now(UTC).date() + timedelta(days=9)
    comment = f"# gpufleet:ignore {FEWER} reason=soon until={soon}\n            limits"
    patch = SERVER["overlays/prod/p.yaml"].replace("limits", comment)
    write(tmp_path, SERVER | {"overlays/prod/p.yaml": patch})
    found = audit(tmp_path)
    assert FEWER not in [one["code"] for one in found["findings"]]
    assert FEWER in [one["code"] for one in found["waived"]]


def test_what_a_base_on_another_machine_has_is_not_known(tmp_path: Path) -> None:
    remote = "resources: [github.com/org/repo/base]\npatches: [{path: p.yaml}]\n"
    write(tmp_path, SERVER | {"overlays/prod/kustomization.yaml": remote})
    found = audit(tmp_path)
    assert [one["object"] for one in found["notJudged"] if one["what"] == "overlay"] == [
        "resources[0]",
        "patches[0]",
    ]


def test_the_same_object_in_two_files_is_one(tmp_path: Path) -> None:
    scaler = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h, namespace: ml}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: llm}
  minReplicas: 1
  maxReplicas: 2
  metrics:
    - type: Pods
      pods: {metric: {name: queue}, target: {type: AverageValue, averageValue: "4"}}
"""
    write(
        tmp_path, {"a.yaml": scaler, "b.yaml": scaler.replace("maxReplicas: 2", "maxReplicas: 3")}
    )
    assert audit(tmp_path)["findings"] == []
    write(tmp_path, {"b.yaml": scaler.replace("name: h,", "name: other,")})
    assert "autoscaler-two-of-one-target" in [one["code"] for one in audit(tmp_path)["findings"]]


def test_money_of_one_object_in_two_files_is_added_once(tmp_path: Path) -> None:
    idle = SERVER["base/d.yaml"].replace("args: [--model", "command: [sleep, infinity] #")
    idle = idle.replace("nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3", "cloud: a").replace(
        "nodeSelector: {cloud: a}",
        "nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}",
    )
    write(tmp_path, {"a.yaml": idle})
    alone = audit(tmp_path)["usdPerMonth"]["waste"]
    write(tmp_path, {"b.yaml": idle})
    found = audit(tmp_path)
    assert found["usdPerMonth"]["waste"] == alone
    first = next(one for one in found["findings"] if one["code"] == "gpu-idle-command")
    assert first["text"].count("the same object is in") == 1


def test_variables_of_a_generated_config_map_are_those_of_the_server(tmp_path: Path) -> None:
    for name, given in (("by-key", "valueFrom"), ("by-file", "envFrom")):
        server = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.9.2
          args: [--model, acme/chat, --tensor-parallel-size=$(WIDTH)]
          GIVEN
          resources: {limits: {nvidia.com/gpu: 2}}
"""
        key = "{configMapKeyRef: {name: run, key: WIDTH}}"
        by = {
            "valueFrom": f"env: [{{name: WIDTH, valueFrom: {key}}}]",
            "envFrom": "envFrom: [{configMapRef: {name: run}}]",
        }[given]
        overlay = "resources: [../base]\nconfigMapGenerator: [{name: run, envs: [run.env]}]\n"
        files = {
            f"{name}/base/kustomization.yaml": "resources: [d.yaml]\n",
            f"{name}/base/d.yaml": server.replace("GIVEN", by),
            f"{name}/large/kustomization.yaml": overlay,
            f"{name}/large/run.env": "WIDTH=4\n",
        }
        write(tmp_path / name, files)
        (one,) = [f for f in audit(tmp_path / name)["findings"] if "parallelism" in f["code"]]
        assert "starts processes on 4 GPUs and requests 2 x nvidia.com/gpu" in one["text"]
