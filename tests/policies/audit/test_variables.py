"""Variables that ConfigMaps of the run give to containers, and options of servers in variables.

Sources: Kubernetes API, EnvFromSource and ConfigMapKeySelector; kserve/kserve
config/llmisvcconfig/config-llm-template.yaml (VLLM_ADDITIONAL_ARGS).
"""

from pathlib import Path

import pytest

from tests.policies.audit.test_wrappers import audit, write

SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: vllm, namespace: ml}}
spec:
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.9.0
        {command}
        {environment}
        resources: {{limits: {{nvidia.com/gpu: 2}}}}
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: vllm-config, namespace: {namespace}}}
data: {{TENSOR_PARALLEL_SIZE: "{size}", SIZE: "{size}", ARGS: "--tensor-parallel-size {size}"}}
"""
FROM = "envFrom: [{configMapRef: {name: vllm-config}}]"
KEY = "env: [{name: TP, valueFrom: {configMapKeyRef: {name: vllm-config, key: SIZE}}}]"
SHELL = 'command: [sh, -c, "vllm serve m --tensor-parallel-size {}"]'
FORMS = {
    "variable of an engine": ("command: [start.sh]", FROM),
    "reference of Kubernetes": ('args: [--tensor-parallel-size, "$(TENSOR_PARALLEL_SIZE)"]', FROM),
    "shell": (SHELL.format("$TENSOR_PARALLEL_SIZE"), FROM),
    "shell with a default": (SHELL.format("${TP:-1}"), KEY),
    "one key": ('args: [--tensor-parallel-size, "$(TP)"]', KEY),
    "several options": ('command: [sh, -c, "vllm serve m ${ARGS}"]', FROM),
    "added arguments": (
        "args: [--model=m]",
        KEY.replace("TP,", "VLLM_ADDITIONAL_ARGS,").replace("key: SIZE", "key: ARGS"),
    ),
}  # fmt: skip


def _codes(folder: Path) -> list[str]:
    return [one["code"] for one in audit(folder, "--profile", "prod")["findings"]]


@pytest.mark.parametrize("form", FORMS)
def test_variables_of_config_maps_are_those_of_the_container(form: str, tmp_path: Path) -> None:
    command, environment = FORMS[form]
    server = SERVER.format(command=command, environment=environment)
    write(tmp_path, {"server.yaml": server, "map.yaml": MAP.format(namespace="ml", size=4)})
    assert "gpu-count-below-parallelism" in _codes(tmp_path)
    write(tmp_path, {"map.yaml": MAP.format(namespace="ml", size=2)})
    assert "gpu-count-below-parallelism" not in _codes(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"map.yaml": MAP.format(namespace="other", size=4)},
        {
            "a/map.yaml": MAP.format(namespace="ml", size=4),
            "b/map.yaml": MAP.format(namespace="ml", size=2),
        },
        {},
    ],
    ids=["another namespace", "two of the name", "none"],
)
def test_a_map_that_may_be_another_one_says_nothing(files: dict[str, str], tmp_path: Path) -> None:
    command, environment = FORMS["shell"]
    write(tmp_path, {"server.yaml": SERVER.format(command=command, environment=environment)})
    write(tmp_path, files)
    assert "gpu-count-below-parallelism" not in _codes(tmp_path)
