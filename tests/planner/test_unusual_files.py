"""Files of workloads as strangers write them: a right plan, or one error with what to write."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet_planner.commands.plan import command
from tests.planner.plan_files import file, service

EKS = {"platform": "eks", "cluster": {"name": "ml", "region": "us-east-1"}}
GKE = {"platform": "gke", "cluster": {"name": "ml", "region": "us-central1"}}
MACHINE = {"cpus": 64, "memoryGib": 512, "template": "ubuntu-gpu"}
OWN = {
    "platform": "vsphere",
    "cluster": {"name": "lab"},
    "hardware": [{"gpu": "L4", "gpusPerNode": 2, "nodes": 2, "vsphere": MACHINE}],
}
JOB = {"name": "tune", "workload": "lora", "model": "Llama-3.1-8B", "context": 2048}
LABS = {"name": "labs", "workload": "notebook", "count": 4, "memoryGib": 8, "culledAfterHours": 2}
LONG = "x" * 52


def planned(data: dict[str, Any], folder: Path) -> tuple[int, dict[str, Any]]:
    """JSON of the command; twice the same, and no manifests without a plan."""
    source, pods = folder / "in.yaml", folder / "pods.yaml"
    source.write_text(yaml.safe_dump(data, allow_unicode=True), "utf-8")
    pods.write_text("# of the plan before\n", "utf-8")
    arguments = [str(source), "--format", "json", "--manifests", str(pods)]
    done = CliRunner().invoke(command, arguments)
    assert isinstance(done.exception, SystemExit | None), done.exception
    first = pods.read_bytes()
    assert CliRunner().invoke(command, arguments).output == done.output
    assert pods.read_bytes() == first
    document = json.loads(done.stdout)
    assert set(document) == {
        "spec", "cost", "confidence", "pools", "workloads", "manifests", "places",
        "findings",
    }  # fmt: skip
    assert (document["spec"] is None) == (first == b"# of the plan before\n")
    assert (document["spec"] is None) <= (document["cost"]["usdPerHour"] is None)
    assert (document["spec"] is None) <= (done.exit_code == 1)
    return done.exit_code, document


def errors(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in document["findings"] if one["severity"] == "error"]


@pytest.mark.parametrize(
    ("data", "machine", "nodes"),
    [
        (file(service(output=256, prompt=512, target={"requestsPerSecond": 0.001})), "g6", 1),
        (file(service(LONG)), "g6", 1),
        (file(service(), cluster={"name": "c" * 100, "region": "us-east-1"}), "g6", 1),
        (file(service(image="r.example/x@sha256:" + "a" * 64)), "g6", 1),
        (file({**LABS, "count": 10_000, "memoryGib": 3}), "g4dn", 2500),
        (file(service(replicas=300, mostGpus=300, gpus=["L4"], isolation="hardware")), "g6", None),
        (file(service(gpus=["H100-80GB"]), **GKE), None, 1),
    ],
)  # fmt: skip
def test_unusual_files_are_planned(
    data: dict[str, Any], machine: str | None, nodes: int | None, tmp_path: Path
) -> None:
    _, document = planned(data, tmp_path)
    assert document["spec"] is not None, document["findings"]
    (pool,) = document["pools"]
    assert machine is None or pool["machine"].split(".")[0] == machine
    assert nodes is None or pool["nodes"] == nodes


@pytest.mark.parametrize(
    ("data", "code", "path", "words", "fix"),
    [
        (file(service(replicas=5000)), "target-unreachable", "workloads[0]", "5000", "mostGpus of"),
        (file(service(target={"tokenMs": 0.001})), "target-unreachable", "workloads[0]", "0.001 ms",
         "tokenMs of"),
        (file({**JOB, "target": {"tokens": 10**15, "deadlineHours": 1}}), "target-unreachable",
         "workloads[0]", "1 h allowed", "deadlineHours of"),
        (file(service(replicas=100), **OWN), "nothing-fits", "workloads[0]", "hardware has 2",
         "add machines to hardware"),
        (file(service(), **{**OWN, "hardware": []}), "hardware-missing", "hardware", "vsphere",
         "write hardware"),
        (file(service(gpus=["P4"])), "nothing-offered", "workloads[0]", "P4, which chat", "GPU"),
        (file(service("chät")), "plan-file-invalid", "workloads[0].name", "chät", "that form"),
        (file(service("x" * 53)), "plan-file-invalid", "workloads[0].name", "52 characters",
         "shorten name"),
        (file(service(image="not an image !!")), "plan-file-invalid", "workloads[0].image",
         "not an image", "that form"),
        (file(service(model=8)), "plan-file-invalid", "workloads[0].model",
         "must be text", '"8"'),
        (file(service(replicas=True)), "plan-file-invalid", "workloads[0].replicas",
         "not true or false", "write the number"),
        (file(service(), spec={"pools": []}), "plan-file-invalid", "spec.pools", "plan writes",
         "workloads"),
        (file(service(), spec={"cluster": {"name": "b", "region": "us-west-2"}}),
         "plan-file-invalid", "spec.cluster", "name, region", "at the top of the file"),
        (file(service(), spec={"budget": {"usdPerHour": "9"}}), "plan-file-invalid", "spec.budget",
         "usdPerHour", "at the top of the file"),
        (file(service(team="a"), spec={"queues": 3}), "plan-file-invalid", "spec.queues",
         "a mapping: 3", "docs/fleet-spec.md"),
        (file(service(), spec={"addons": [1]}), "plan-file-invalid", "spec.addons", "a mapping",
         "docs/fleet-spec.md"),
        (file(service(), spec={"catalogueOverlay": 5}), "plan-file-invalid",
         "spec.catalogueOverlay", "path of a file: 5", "in quotes"),
        (file(service(), spec={"catalogueOverlay": "/none"}), "overlay-not-found",
         "spec.catalogueOverlay", "/none", "path"),
        (file(service(), spec={"foo": 1}), "spec-key-unknown", "spec.foo", "`foo`", "remove it"),
        (file(service(team="a"), spec={"queues": {"teams": [{"name": "b", "share": 1}]}}),
         "team-shares-over-one", "spec.queues.teams", "add up", "lower"),
        (file(service(), **{**GKE, "cluster": {**GKE["cluster"], "autopilot": True}}),
         "autopilot-makes-node-pools", "provisioner", "Autopilot", "provisioner: computeClass"),
        (file({"name": "n", "workload": "notebook", "count": 10**6, "memoryGib": 8}),
         "plan-file-invalid", "workloads[0].count", "at most 150000: 1000000", "at most 150000"),
        (file({"name": "n", "workload": "notebook", "count": 150_000, "memoryGib": 130}),
         "plan-too-large", "workloads[0]", "at most 10000", "fewer"),
        (file(service(replicas=10**6)), "plan-file-invalid", "workloads[0].replicas",
         "at most 150000: 1000000", "at most 150000"),
        (file(service(), provisioner="karpenter", **GKE), "provisioner-not-on-platform",
         "provisioner", "karpenter", "managed"),
    ],
)  # fmt: skip
def test_wrong_files_have_one_error(
    data: dict[str, Any], code: str, path: str, words: str, fix: str, tmp_path: Path
) -> None:
    exit_code, document = planned(data, tmp_path)
    assert exit_code == 1
    (found,) = errors(document)
    assert (found["code"], found["path"]) == (code, path)
    assert words in found["message"]
    assert fix in found["fix"]


def test_what_the_fix_of_autopilot_says_is_a_plan(tmp_path: Path) -> None:
    cluster = {**GKE["cluster"], "autopilot": True}
    data = file(service(), **{**GKE, "cluster": cluster, "provisioner": "computeClass"})
    _, document = planned(data, tmp_path)
    assert document["spec"]["provisioner"] == "computeClass"
    assert document["spec"]["pools"][0]["nodes"]["min"] == 0


def test_own_machines_where_nodes_are_bought_are_no_plan_of_theirs(tmp_path: Path) -> None:
    own = [{"gpu": "H100", "gpusPerNode": 8, "nodes": 2, "usdPerGpuHour": "0.01"}]
    _, document = planned(file(service(), hardware=own), tmp_path)
    assert [pool["machine"] for pool in document["pools"]] == ["g6.xlarge"]
    told = {one["code"]: one["path"] for one in document["findings"]}
    assert told["hardware-not-on-platform"] == "hardware"


@pytest.mark.parametrize(
    "lengths", [{"prompt": 10_000, "output": 10_000}, {"prompt": 10**9, "output": None}]
)
def test_lengths_that_no_engine_takes_are_refused(tmp_path: Path, lengths: dict[str, Any]) -> None:
    """As `gpufleet size` refuses them: vLLM returns 400 for a request above `--max-model-len`
    ("This model's maximum context length is ...")."""
    code, document = planned(file(service(context=8192, **lengths)), tmp_path)
    reported = {(one["code"], one["severity"], one["path"]) for one in document["findings"]}
    assert code == 1
    assert ("mean-beyond-context", "error", "workloads[0].context") in reported


def test_a_run_of_minutes_takes_no_machine_of_16_gpus(tmp_path: Path) -> None:
    """By the hours of the run alone, 16 GPUs for eight minutes cost less than one for ten hours."""
    run = {"name": "tune", "workload": "lora", "model": "Llama-3.1-8B", "context": 2048}
    target = {"tokens": 41_717_432, "deadlineHours": 24}
    _, document = planned(file({**run, "batch": 1, "target": target}, **GKE), tmp_path)
    assert [pool["machine"] for pool in document["pools"]] == ["g2-standard-4"]
