"""The policy rules: what the pack adds per resource, and how fast files are audited.

The pack is measured against a pack with one policy without checks, alternately, over the real
analyzer protocol: each resource is remediated and analysed, and the stack once at the end. Times
are processor time of the packs: other load of the machine does not count. The audit validates a
folder of public-style manifests with every rule; conftest runs a Rego set of comparable checks
(benchmarks/rego), kube-score and checkov run their default checks. kube-score does not read custom
resources, which are most objects of the first two folders; the last folder is a cluster's
repository, mostly services without GPUs. Every program gets the same files, prints its findings,
and alternates with the audit. Times are those of whole processes; a ratio above 1 means that the
audit was faster.
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
from typing import Any, cast

from benchmarks.cluster_repository import write_repository
from benchmarks.paired import paired, processor_seconds
from benchmarks.policy_resources import KINDS, Make
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


FOLDERS: dict[str, tuple[Callable[[Path, int], list[Path]], int, tuple[str, ...]]] = {
    "Every file requests GPUs": (write_manifests, FILES, ("conftest", "kube-score", "checkov")),
    "The same kinds, five times as many": (write_manifests, 5 * FILES, ("kube-score",)),
    "A cluster's repository, one file of ten requests GPUs": (
        write_repository,
        FILES,
        ("conftest", "kube-score", "checkov"),
    ),
}
"""Input of a benchmark, its generator, the number of files, and the programs to compare with."""


def measure() -> list[str]:
    """Rows of the report."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        rows = _pack_rows(root)
        checkov = _checkov(root / "checkov")
        for at, (words, (write, files, alongside)) in enumerate(FOLDERS.items()):
            paths = write(root / f"manifests-{at}", files)
            rows += ["", *_audit_rows(root, words, paths, checkov, alongside)]
        return rows


def _pack_rows(root: Path) -> list[str]:
    (root / "nothing").mkdir()
    (root / "nothing" / "PulumiPolicy.yaml").write_text("runtime: python\n")
    (root / "nothing" / "__main__.py").write_text(NOTHING)
    rows = [
        "| resource | pack that does nothing | whole pack | added |",
        "|---|---|---|---|",
    ]
    with _analyzer(PACK) as ours, _analyzer(root / "nothing") as nothing:
        for name, make in KINDS:
            asked = _requests(make)
            pairs = paired(
                partial(_validate, *ours, asked),
                partial(_validate, *nothing, asked),
                RUNS,
                lambda validate: cast("float", validate()),
            )
            mine = [1000 * seconds / RESOURCES for seconds in pairs.ours]
            theirs = [1000 * seconds / RESOURCES for seconds in pairs.theirs]
            added = statistics.median(a - b for a, b in zip(mine, theirs, strict=True))
            rows.append(
                f"| {name} | {statistics.median(theirs):.2f} ms | {statistics.median(mine):.2f} ms "
                f"| {added:+.2f} ms |"
            )
    return rows


@contextmanager
def _analyzer(pack: Path) -> Iterator[tuple[Any, int]]:
    """The pack as the language host starts it, and its process."""
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
            yield analyzer_pb2_grpc.AnalyzerStub(channel), process.pid
        process.terminate()


def _requests(make: Make) -> tuple[list[Any], list[Any], Any]:
    from google.protobuf import struct_pb2
    from pulumi.runtime.proto import analyzer_pb2

    analyses: list[Any] = []
    remediations: list[Any] = []
    whole = analyzer_pb2.AnalyzeStackRequest()
    for number in range(RESOURCES):
        kind, content = make(number)
        properties = struct_pb2.Struct()
        properties.update(content)
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


def _validate(analyzer: Any, process: int, requests: tuple[list[Any], list[Any], Any]) -> float:
    """Seconds of processor time that the pack needed."""
    analyses, remediations, whole = requests
    before = processor_seconds(process)
    for remediation, analysis in zip(remediations, analyses, strict=True):
        analyzer.Remediate(remediation)
        analyzer.Analyze(analysis)
    analyzer.AnalyzeStack(whole)
    return processor_seconds(process) - before


def _audit_rows(
    root: Path, words: str, paths: list[Path], checkov: str, alongside: tuple[str, ...]
) -> list[str]:
    from gpufleet_sandbox import bootstrap
    from gpufleet_sandbox.progress import SilentProgress

    folder = paths[0].parents[1]
    files = [str(path) for path in paths]
    documents = sum(Path(file).read_text().count("\n---\n") + 1 for file in files)
    programs = bootstrap.prepare(["conftest", "kube-score"], SilentProgress())
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
        f"{words}: {len(files):,} files, {documents:,} documents, {os.cpu_count()} processors.",
        "",
        "| program | files/s | gpufleet audit in the same turns | ratio |",
        "|---|---|---|---|",
    ]
    for name, (theirs, runs) in others.items():
        if not name.startswith(alongside):
            continue
        pairs = paired(ours, theirs, runs)
        mine, other = statistics.median(pairs.ours), statistics.median(pairs.theirs)
        rows.append(
            f"| {name} | {len(files) / other:,.0f} | {len(files) / mine:,.0f} "
            f"| {1 / pairs.ratio:.2f}x |"
        )
    return rows


COMPILED = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "gpufleet-pyc")}
COMPILED.pop("PYTHONDONTWRITEBYTECODE", None)
"""As after an installation: an uncounted run compiles the modules."""


def _command(root: Path, command: list[str]) -> Callable[[], None]:
    """Runs a program that prints its report; findings are no failure here."""

    def run() -> None:
        with (root / "report").open("wb") as report:
            done = subprocess.run(
                command, stdout=report, stderr=subprocess.PIPE, env=COMPILED, check=False
            )
        if done.returncode not in (0, 1) or not (root / "report").stat().st_size:
            said = done.stderr.decode(errors="replace")[-400:]
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {said}")

    return run


def _checkov(folder: Path) -> str:
    """checkov in its own environment: it pins dependencies that other programs need unpinned."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"checkov=={CHECKOV}"], check=True)
    print(f"checkov installed in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return str(folder / "bin" / "checkov")
