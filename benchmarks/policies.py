"""The policy rules: what the pack adds per resource, and how fast files are audited.

The pack is measured against a pack with one policy that does nothing, in turns, over the real
analyzer protocol: each resource is remediated and analysed, and the stack once at the end. The
audit judges a folder of public-style manifests with every rule; conftest runs a Rego set of
comparable checks (benchmarks/rego), kube-score and checkov their usual ones; kube-score leaves
custom resources unread, which are most kinds of the folder. Every program gets the same files,
prints what it found, and runs in turn with the audit; times are those of whole processes, and a
ratio above 1 means that the audit was faster.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.paired import paired
from benchmarks.public_manifests import write_manifests

FILES = int(os.environ.get("GPUFLEET_BENCH_FILES", "1200"))
RUNS = int(os.environ.get("GPUFLEET_BENCH_RUNS", "7"))
RESOURCES = 300
CHECKOV = "3.2.495"
PACK = Path(__file__).parents[1] / "policies"
REGO = Path(__file__).parent / "rego"
NOTHING = """
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

def validate(args, report):
    pass

PolicyPack("nothing", [ResourceValidationPolicy(
    name="nothing", description="Nothing", validate=validate,
    enforcement_level=EnforcementLevel.MANDATORY)])
"""


def measure() -> list[str]:
    """Rows of the report."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        return [*_pack_rows(root), "", *_audit_rows(root)]


def _pack_rows(root: Path) -> list[str]:
    (root / "nothing").mkdir()
    (root / "nothing" / "PulumiPolicy.yaml").write_text("runtime: python\n")
    (root / "nothing" / "__main__.py").write_text(NOTHING)
    rows = [
        "| resource of about 60 properties | pack that does nothing | whole pack | added |",
        "|---|---|---|---|",
    ]
    with _analyzer(PACK) as ours, _analyzer(root / "nothing") as nothing:
        for name, kind, make in KINDS:
            asked = _requests(kind, make)
            pairs = paired(partial(_judge, ours, asked), partial(_judge, nothing, asked), RUNS)
            mine = [1000 * seconds / RESOURCES for seconds in pairs.ours]
            theirs = [1000 * seconds / RESOURCES for seconds in pairs.theirs]
            added = statistics.median(a - b for a, b in zip(mine, theirs, strict=True))
            rows.append(
                f"| {name} | {statistics.median(theirs):.2f} ms | {statistics.median(mine):.2f} ms "
                f"| {added:+.2f} ms |"
            )
    return rows


@contextmanager
def _analyzer(pack: Path) -> Iterator[Any]:
    """The pack as the language host starts it."""
    import grpc
    from pulumi.runtime.proto import analyzer_pb2_grpc

    environment = {**os.environ, "PULUMI_PROJECT": "p", "PULUMI_STACK": "s", "PULUMI_CONFIG": "{}"}
    command = [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:1", str(pack)]
    with subprocess.Popen(
        command, cwd=pack, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield analyzer_pb2_grpc.AnalyzerStub(channel)
        process.terminate()


def _requests(kind: str, make: Callable[[int], dict[str, Any]]) -> tuple[list[Any], list[Any], Any]:
    from google.protobuf import struct_pb2
    from pulumi.runtime.proto import analyzer_pb2

    analyses: list[Any] = []
    remediations: list[Any] = []
    whole = analyzer_pb2.AnalyzeStackRequest()
    for number in range(RESOURCES):
        properties = struct_pb2.Struct()
        properties.update(make(number))
        fields = {
            "type": kind,
            "urn": f"urn:pulumi:s::p::{kind}::d{number}",
            "name": f"d{number}",
            "properties": properties,
        }
        analyses.append(analyzer_pb2.AnalyzeRequest(**fields))
        remediations.append(analyzer_pb2.AnalyzeRequest(**fields))
        whole.resources.append(analyzer_pb2.AnalyzerResource(**fields))
    return analyses, remediations, whole


def _judge(analyzer: Any, requests: tuple[list[Any], list[Any], Any]) -> None:
    analyses, remediations, whole = requests
    for remediation, analysis in zip(remediations, analyses, strict=True):
        analyzer.Remediate(remediation)
        analyzer.Analyze(analysis)
    analyzer.AnalyzeStack(whole)


def _deployment(number: int) -> dict[str, Any]:
    """Two containers, probes, volumes: compliant, as most resources of a program are."""
    environment = [{"name": f"SETTING_{n}", "value": str(n)} for n in range(8)]
    probe = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10}
    server = {
        "name": "server",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "8192"],
        "env": environment,
        "ports": [{"containerPort": 8000, "name": "http"}],
        "readinessProbe": probe,
        "resources": {
            "requests": {"cpu": "4", "memory": "16Gi"},
            "limits": {"nvidia.com/gpu": "1"},
        },
        "volumeMounts": [{"name": "cache", "mountPath": "/cache"}],
    }
    proxy = {"name": "proxy", "image": "envoy:1.31", "ports": [{"containerPort": 9000}]}
    labels = {"app": f"chat-{number}", "team": "search"}
    spec = {
        "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-L4"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [server, proxy],
        "volumes": [{"name": "cache", "emptyDir": {}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"chat-{number}", "namespace": "serving", "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _database(number: int) -> dict[str, Any]:
    """What most resources of a program are: nothing a rule knows."""
    tags = {f"tag-{n}": str(n) for n in range(20)}
    settings = [{"name": f"setting-{n}", "value": str(n), "apply": "now"} for n in range(12)]
    return {"identifier": f"db-{number}", "engine": "postgres", "tags": tags, "settings": settings}


KINDS: tuple[tuple[str, str, Callable[[int], dict[str, Any]]], ...] = (
    ("a GPU workload, judged by every rule", "kubernetes:apps/v1:Deployment", _deployment),
    ("anything else", "aws:rds/instance:Instance", _database),
)


def _audit_rows(root: Path) -> list[str]:
    from gpufleet.sandbox import bootstrap
    from gpufleet.sandbox.progress import SilentProgress

    folder = root / "manifests"
    files = [str(path) for path in write_manifests(folder, FILES)]
    documents = sum(Path(file).read_text().count("\n---\n") + 1 for file in files)
    programs = bootstrap.prepare(["conftest", "kube-score"], SilentProgress())
    checkov = _checkov(root / "checkov")
    ours = _command(root, [sys.executable, "-m", "gpufleet.cli", "audit", str(folder)])
    conftest = str(programs["conftest"])
    others: dict[str, tuple[Callable[[], None], int]] = {
        "conftest v0.56.0": (
            _command(root, [conftest, "test", "--no-color", "-p", str(REGO), str(folder)]),
            RUNS,
        ),
        "kube-score v1.20.0": (
            _command(root, [str(programs["kube-score"]), "score", *files]),
            RUNS,
        ),
        f"checkov {CHECKOV}": (
            _command(
                root,
                [
                    checkov,
                    "--directory",
                    str(folder),
                    "--framework",
                    "kubernetes",
                    "--compact",
                    "--quiet",
                ],
            ),
            1,
        ),
    }
    rows = [
        f"{FILES:,} files, {documents:,} documents, {os.cpu_count()} processors; files a second.",
        "",
        "| program | files/s | gpufleet audit in the same turns | ratio |",
        "|---|---|---|---|",
    ]
    for name, (theirs, runs) in others.items():
        pairs = paired(ours, theirs, runs)
        mine, other = statistics.median(pairs.ours), statistics.median(pairs.theirs)
        rows.append(
            f"| {name} | {FILES / other:,.0f} | {FILES / mine:,.0f} | {1 / pairs.ratio:.2f}x |"
        )
    return rows


def _command(root: Path, command: list[str]) -> Callable[[], None]:
    """Runs a program that prints its report; findings are no failure here."""

    def run() -> None:
        with (root / "report").open("wb") as report:
            done = subprocess.run(command, stdout=report, stderr=subprocess.PIPE, check=False)
        if done.returncode not in (0, 1) or not (root / "report").stat().st_size:
            said = done.stderr.decode(errors="replace")[-400:]
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {said}")

    return run


def _checkov(folder: Path) -> str:
    """checkov in an environment of its own: it pins what others need otherwise."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"checkov=={CHECKOV}"], check=True)
    print(f"checkov installed in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return str(folder / "bin" / "checkov")
