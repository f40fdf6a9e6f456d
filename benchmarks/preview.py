"""Preview of a fleet against the same registrations replayed by a plain Pulumi program.

Both programs run under the real engine and provider; the time of an empty program is subtracted
from both, as neither can save it. The budget is 1.10x.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

from benchmarks.paired import seconds
from benchmarks.specs import fleet
from gpufleet.sandbox import Sandbox

RUNS = int(os.environ.get("GPUFLEET_BENCH_RUNS", "7"))
SIZES = tuple(int(n) for n in os.environ.get("GPUFLEET_BENCH_POOLS", "10,100,1000").split(","))

_PROVIDER = """
import json, os, pulumi, pulumi_kubernetes as kubernetes
cluster = kubernetes.Provider(
    "cluster", kubeconfig=os.environ["KUBECONFIG"], cluster_identifier="bench")
"""
_FLEET = (
    _PROVIDER
    + """
from gpufleet import GpuFleet
spec = json.load(open("spec.json"))
GpuFleet("fleet", {"spec": spec}, pulumi.ResourceOptions(providers={"kubernetes": cluster}))
"""
)
_REPLAY = (
    _PROVIDER
    + """
import re
TYPED = {
    "kubernetes:core/v1:Namespace": kubernetes.core.v1.Namespace,
    "kubernetes:core/v1:ConfigMap": kubernetes.core.v1.ConfigMap,
    "kubernetes:core/v1:Node": kubernetes.core.v1.Node,
    "kubernetes:helm.sh/v3:Release": kubernetes.helm.v3.Release,
}
made = {}
for row in json.load(open("registrations.json")):
    opts = pulumi.ResourceOptions(parent=made.get(row["parent"]))
    props = row["props"]
    if row["custom"]:
        opts.provider = cluster
        given = {re.sub("[A-Z]", lambda c: "_" + c[0].lower(), key): value
                 for key, value in props.items() if key not in ("apiVersion", "kind")}
        made[row["urn"]] = TYPED[row["type"]](row["name"], opts=opts, **given)
    else:
        made[row["urn"]] = pulumi.ComponentResource(row["type"], row["name"], props, opts)
"""
)
_RECORD = """
import json, sys
import pulumi
from google.protobuf import json_format
from pulumi.runtime import mocks, settings

class Recorder(mocks.MockMonitor):
    rows = []
    def RegisterResource(self, request):
        answer = super().RegisterResource(request)
        if not request.type.startswith("pulumi:"):
            self.rows.append({
                "type": request.type, "name": request.name, "custom": request.custom,
                "parent": request.parent, "urn": answer.urn,
                "props": json_format.MessageToDict(request.object)})
        return answer

class Echo(pulumi.runtime.Mocks):
    def new_resource(self, args):
        return [f"{args.name}-id", args.inputs]
    def call(self, args):
        raise RuntimeError(args.token)

recorder = Recorder(Echo())
pulumi.runtime.set_mocks(Echo(), preview=True, monitor=recorder)
from gpufleet import GpuFleet
import pulumi_kubernetes as kubernetes

@pulumi.runtime.test
def run():
    cluster = kubernetes.Provider("cluster", kubeconfig="x", cluster_identifier="bench")
    GpuFleet("fleet", {"spec": json.load(open("spec.json"))},
             pulumi.ResourceOptions(providers={"kubernetes": cluster}))

run()
json.dump(recorder.rows, open("registrations.json", "w"))
"""


def _project(folder: Path, name: str, program: str) -> None:
    folder.mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text(
        f"name: {name}\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
    )
    (folder / "__main__.py").write_text(textwrap.dedent(program))


def _pulumi(folder: Path, environment: Mapping[str, str], *arguments: str) -> None:
    done = subprocess.run(
        ["pulumi", *arguments, "--non-interactive"],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"pulumi {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}")


def measure() -> list[str]:
    """Rows of the report."""
    rows = [
        "| pools | registrations | preview, empty program subtracted | plain program | ratio |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        sandbox = Sandbox(root / "sandbox")
        with sandbox.up():
            environment = sandbox.environment()
            _project(root / "empty", "empty", "")
            _pulumi(root / "empty", environment, "stack", "init", "bench")
            for pools in SIZES:
                rows.append(_size(root / str(pools), pools, root / "empty", environment))
    return rows


def _size(folder: Path, pools: int, empty: Path, environment: Mapping[str, str]) -> str:
    ours, plain = folder / "ours", folder / "plain"
    _project(ours, f"ours-{pools}", _FLEET)
    _project(plain, f"plain-{pools}", _REPLAY)
    (ours / "spec.json").write_text(json.dumps(fleet(pools)))
    (plain / "spec.json").write_text(json.dumps(fleet(pools)))
    subprocess.run([sys.executable, "-c", _RECORD], cwd=plain, check=True)
    registrations = len(json.loads((plain / "registrations.json").read_text()))
    for project in (ours, plain):
        _pulumi(project, environment, "stack", "init", "bench")
        _pulumi(project, environment, "preview", "-s", "bench")
    triples = [
        tuple(
            seconds(lambda p=p: _pulumi(p, environment, "preview", "-s", "bench"))
            for p in (empty, ours, plain)
        )
        for _ in range(RUNS)
    ]
    first = statistics.median(a - e for e, a, _ in triples)
    second = statistics.median(b - e for e, _, b in triples)
    ratio = statistics.median((a - e) / (b - e) for e, a, b in triples)
    return f"| {pools:,} | {registrations:,} | {first:.2f} s | {second:.2f} s | {ratio:.2f}x |"
