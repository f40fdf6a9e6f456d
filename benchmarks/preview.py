"""Preview of a fleet against the same registrations replayed by a plain Pulumi program.

Both programs run under the real engine and provider; the time of an empty program is subtracted
from both, as neither can save it. The plain program makes the same resources with the SDK's typed
classes: the same inputs, parents, dependencies (by inputs and by components) and outputs of
components. Byte code is kept, as on any machine but a build server's. Each figure is the median of
pairs; processor time is that of the engine and everything it starts. The budget is 1.10x.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

from benchmarks.paired import seconds
from benchmarks.specs import fleet
from gpufleet_sandbox import Sandbox

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
def spelled(key):
    return re.sub("[A-Z]", lambda c: "_" + c[0].lower(), key)

made = {}
for row in json.load(open("registrations.json")):
    props = row["props"]
    if row["outputs"]:
        made[row["urn"]].register_outputs(props)
        continue
    for key, urns in row["wired"].items():
        props[key] = pulumi.Output.all(*(made[urn].urn for urn in urns)).apply(
            lambda _, value=props[key]: value)
    opts = pulumi.ResourceOptions(
        parent=made.get(row["parent"]),
        depends_on=[made[urn] for urn in row["depends_on"]],
        ignore_changes=row["ignored"],
    )
    if row["custom"]:
        opts.provider = cluster
        given = {spelled(key): value for key, value in props.items()
                 if key not in ("apiVersion", "kind", "compat")}
        made[row["urn"]] = TYPED[row["type"]](row["name"], opts=opts, **given)
    else:
        made[row["urn"]] = pulumi.ComponentResource(row["type"], row["name"], props, opts)
"""
)
_RECORD = """
import json, sys
import pulumi
from google.protobuf import json_format
from pulumi.runtime import mocks

class Recorder(mocks.MockMonitor):
    rows = []
    def RegisterResource(self, request):
        answer = super().RegisterResource(request)
        if not request.type.startswith("pulumi:"):
            wired = {key: sorted(found.urns)
                     for key, found in request.propertyDependencies.items() if found.urns}
            through_inputs = {urn for urns in wired.values() for urn in urns}
            self.rows.append({
                "outputs": False, "type": request.type, "name": request.name,
                "custom": request.custom, "parent": request.parent, "urn": answer.urn,
                "wired": wired, "ignored": list(request.ignoreChanges),
                "depends_on": sorted(set(request.dependencies) - through_inputs),
                "props": json_format.MessageToDict(request.object)})
        return answer
    def RegisterResourceOutputs(self, request):
        if request.urn.split("::")[2] != "pulumi:pulumi:Stack":
            self.rows.append({
                "outputs": True, "urn": request.urn,
                "props": json_format.MessageToDict(request.outputs)})
        return super().RegisterResourceOutputs(request)

class Echo(pulumi.runtime.Mocks):
    def new_resource(self, args):
        return ["", args.inputs]
    def call(self, args):
        raise RuntimeError(args.token)

def components(rows):
    \"\"\"A component represents what it made: no one writes its parts out in each depends_on.\"\"\"
    resources = [row for row in rows if not row["outputs"]]
    parents = {row["urn"]: row["parent"] for row in resources}
    below = {row["urn"]: set() for row in resources if not row["custom"]}
    for row in resources:
        above = row["parent"] if row["custom"] else ""
        while above in below:
            below[above].add(row["urn"])
            above = parents[above]
    for row in resources:
        left = set(row["depends_on"])
        for urn, parts in below.items():
            if parts and parts <= left:
                left = left - parts | {urn}
        row["depends_on"] = sorted(left)

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
components(recorder.rows)
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
        "| pools | registrations | preview less empty | plain | ratio | CPU | plain | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        sandbox = Sandbox(root / "sandbox")
        with sandbox.up():
            environment = dict(sandbox.environment())
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
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
    rows = json.loads((plain / "registrations.json").read_text())
    registrations = sum(not row["outputs"] for row in rows)
    for project in (ours, plain):
        _pulumi(project, environment, "stack", "init", "bench")
        _pulumi(project, environment, "preview", "-s", "bench")
    measured = [tuple(_costs(p, environment) for p in (empty, ours, plain)) for _ in range(RUNS)]
    cells = [f"{pools:,}", f"{registrations:,}"]
    for which in range(2):
        triples = [(e[which], a[which], b[which]) for e, a, b in measured]
        first = statistics.median(a - e for e, a, _ in triples)
        second = statistics.median(b - e for e, _, b in triples)
        ratio = statistics.median((a - e) / (b - e) for e, a, b in triples)
        cells += [f"{first:.2f} s", f"{second:.2f} s", f"{ratio:.2f}x"]
    return f"| {' | '.join(cells)} |"


def _costs(project: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds of one preview: on the clock, and of all processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = seconds(lambda: _pulumi(project, environment, "preview", "-s", "bench"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
