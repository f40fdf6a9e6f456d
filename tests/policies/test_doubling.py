"""A file of twice the length takes at most two and a half times as long: no reader is quadratic.

Texts that are unusual and legal, or broken, each made by repeating one part. Processor time is
measured, so other work on the machine does not count.
"""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet.cli import commands
from gpufleet.cli.compile import command as compile_
from gpufleet.cli.output import UnreadableInputError
from gpufleet_policies.commands.audit import command as audit
from gpufleet_policies.commands.check import command as check
from tests.doubling import assert_linear, seconds

LEAST = 0.15
"""Seconds. A shorter time does not show its growth."""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: x{number}, namespace: ml}}
spec:
  containers:
  - name: c
    image: {image}
    command: [sh, -c, "{command}"]
    env: [{{name: A, value: "{value}"}}]
    resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


def pod(
    number: int = 0, image: str = "a:1", command: str = "run", value: str = "x", gpus: str = "1"
) -> str:
    return POD.format(number=number, image=image, command=command, value=value, gpus=gpus)


def each(count: int, text: Callable[[int], str]) -> str:
    return "".join(text(number) for number in range(count))


DEPLOYMENT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: d{0}}}
spec:
  selector: {{matchLabels: {{a: b{0}}}}}
  template:
    metadata: {{labels: {{a: b{0}}}}}
    spec: {{containers: [{{name: c, image: v, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}
"""
WAITING = """\
- apiVersion: v1
  kind: Node
  metadata: {{name: n{0}, labels: {{nvidia.com/gpu.present: "true"}}}}
  status: {{allocatable: {{nvidia.com/gpu: "1"}}, capacity: {{nvidia.com/gpu: "1"}}}}
- apiVersion: v1
  kind: Pod
  metadata: {{name: p{0}, namespace: ml}}
  spec: {{containers: [{{name: c, image: v, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}]}}
  status:
    phase: Pending
    conditions: [{{type: PodScheduled, status: "False", reason: Unschedulable, message: no}}]
"""
CHOOSING = """\
- apiVersion: v1
  kind: Node
  metadata: {{name: n{0}, labels: {{kubernetes.io/hostname: n{0}}}}}
  spec: {{taints: [{{key: nvidia.com/gpu, effect: NoSchedule}}]}}
  status: {{allocatable: {{nvidia.com/gpu: "1"}}}}
- apiVersion: v1
  kind: Pod
  metadata: {{name: p{0}, namespace: ml}}
  spec:
    nodeSelector: {{kubernetes.io/hostname: n{0}}}
    tolerations: [{{key: nvidia.com/gpu, operator: Exists}}]
    containers: [{{name: c, image: v, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""
FLEET = "catalogue: '2026.11'\nplatform: eks\ncluster: {name: ml, region: us-east-1}\npools:\n"
TEXTS: dict[str, Callable[[int], str]] = {
    "waivers": lambda n: "# gpufleet:ignore gpu-x reason=a until=2030-01-01\n" * n + pod(),
    "templates that do not end": lambda n: "kind: {{ .Values." + "{{ " * n,
    "templates": lambda n: "a: {{ .Values.x }}\n" * n,
    "blocks of templates": lambda n: "{{- if .Values.x }}\na: 1\n{{- end }}\n" * n,
    "nested lists": lambda n: "a: " + "[" * n,
    "nested objects": lambda n: '{"a":' * n,
    "documents": lambda n: "a: 1\n---\n" * n,
    "pods": lambda n: each(n // 20, lambda i: f"---\n{pod(i)}"),
    "one pod many times": lambda n: each(n // 20, lambda i: f"---\n{pod()}"),
    "deployments": lambda n: each(n // 20, DEPLOYMENT.format),
    "aliases": lambda n: "a: &a 1\n" + each(n, lambda i: f"k{i}: *a\n"),
    "keys": lambda n: each(n, lambda i: f"k{i}: 1\n"),
    "one key many times": lambda n: "k: 1\n" * n,
    "placeholders": lambda n: pod(value="${A}" * n),
    "placeholders that do not end": lambda n: pod(value="${" * n),
    "options": lambda n: pod(command=" ".join(f"--k{i} {i}" for i in range(n))),
    "one command many times": lambda n: pod(command="python -m vllm --model x " * n),
    "words like secrets": lambda n: pod(value="aGVsbG8gd29ybGQ" * n),
    "addresses": lambda n: pod(value="http://a:b@" * n),
    "parts of an image": lambda n: pod(image="a/" * n + "x"),
    "digits": lambda n: pod(gpus="1" * n),
    "labels": lambda n: pod().replace(
        "namespace: ml}", "labels: {" + each(n, lambda i: f"k{i}: v, ") + "}}"
    ),
    "containers": lambda n: pod() + each(
        n // 10, lambda i: f"  - {{name: c{i}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}\n"
    ),
    "layouts": lambda n: "version: v1\nmig-configs:\n" + each(
        n // 4, lambda i: f"  c{i}: [{{devices: all, mig-enabled: true, mig-devices: {{}}}}]\n"
    ),
    "items of a list": lambda n: "apiVersion: v1\nkind: List\nitems:\n" + each(
        n // 4, lambda i: f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{i}}}}}\n"
    ),
    "nodes and pods that wait": lambda n: "apiVersion: v1\nkind: List\nitems:\n" + each(
        n // 10, WAITING.format
    ),
    "pods that choose nodes": lambda n: "apiVersion: v1\nkind: List\nitems:\n" + each(
        n // 10, CHOOSING.format
    ),
    "pools with tests and acceptance": lambda n: FLEET + each(
        n // 20,
        lambda i: f"- {{name: p{i}, gpu: L4, nodes: {{min: 0, max: 1}}, team: t{i}}}\n",
    ) + "acceptance: {}\nhealth: {mode: observe}\n",
    "pools": lambda n: FLEET + each(
        n // 10, lambda i: f"- {{name: p{i}, gpu: L4, nodes: {{min: 0, max: 1}}}}\n"
    ),
}  # fmt: skip
COMMANDS = {
    "audit": (audit, ("--jobs", "1")),
    "check": (check, ()),
    "compile": (compile_, ()),
    **{
        name: (importlib.import_module(commands()[name].module).command, ())
        for name in ("adopt", "doctor", "explain", "mirror", "plan", "size")
    },
    "regions": (
        importlib.import_module(commands()["plan"].module).command,
        ("--regions", "us-east-1,eu-west-1"),
    ),
}


def grows_linearly(name: str, text: Callable[[int], str], file: Path, most: int) -> None:
    command, options = COMMANDS[name]

    def run(count: int) -> None:
        file.write_text(text(count), encoding="utf-8")
        done = CliRunner().invoke(command, [str(file), *options])
        assert done.exception is None or isinstance(
            done.exception, (SystemExit, UnreadableInputError)
        )

    run(200)  # modules are imported once
    count = 1000
    while count < most and seconds(run, count) <= LEAST:
        count *= 2
    if count < most:
        assert_linear(run, count)


def test_many_waivers_in_one_file(tmp_path: Path) -> None:
    grows_linearly("audit", TEXTS["waivers"], tmp_path / "file.yaml", 8000)


@pytest.mark.parametrize("text", ["nodes and pods that wait", "pods that choose nodes"])
def test_many_nodes_and_pods_in_one_file(text: str, tmp_path: Path) -> None:
    grows_linearly("audit", TEXTS[text], tmp_path / "file.yaml", 8000)


@pytest.mark.nightly
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("text", TEXTS)
def test_each_text(text: str, command: str, tmp_path: Path) -> None:
    grows_linearly(command, TEXTS[text], tmp_path / "file.yaml", 32000)
