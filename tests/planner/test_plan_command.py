"""`gpufleet plan` as a person runs it: text, JSON, files, exit codes, policies."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet_planner.commands.plan import command
from tests.planner.plan_files import file, service
from tests.reading import yaml_data, yaml_documents

EXAMPLES = Path(__file__).parents[2] / "examples" / "plan"


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, list(arguments), input=stdin)


@pytest.mark.parametrize("name", ["team", "slices"])
def test_a_plan_passes_the_policies(name: str) -> None:
    result = run(str(EXAMPLES / f"{name}.yaml"), "--format", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    broken = {f["code"] for f in document["findings"] if f["evidence"].get("level") is not None}
    # Not one violation of a policy, advisory or mandatory, but for what depends on the image:
    # where a file names none, the port and the probes of its engine are not known.
    images = "image: " in (EXAMPLES / f"{name}.yaml").read_text("utf-8")
    assert broken <= (set() if images else {"gpu-server-without-readiness"})


def test_text_is_a_spec_and_findings_go_to_standard_error() -> None:
    result = run(str(EXAMPLES / "sandbox-training.yaml"))
    assert result.exit_code == 0
    spec = yaml_data(result.stdout)
    assert [pool["intent"] for pool in spec["pools"]] == [
        "training",
        "training",
        "interactive",
        "inference",
    ]
    assert all(pool["nodes"]["min"] == pool["nodes"]["max"] for pool in spec["pools"])
    assert "nonprod-pool-minimum-above-zero" in result.stderr


def test_a_plan_of_a_mixture_buys_for_half_of_what_is_computed(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(
        "platform: eks\ncluster: {name: a, region: us-east-1}\ngpus: [H100-80GB]\n"
        "confidence: worst\nworkloads:\n"
        "  - {name: chat, workload: inference, model: Qwen3-30B-A3B, context: 4096, prompt: 500,\n"
        "     output: 300, batch: 8, target: {outputTokensPerSecond: 2000}}\n",
        encoding="utf-8",
    )
    written = run(str(file)).stdout
    assert "similar load tests are public: measure before you buy" in written
    found = re.search(r"([\d,]+) tokens/s of 2,000 requested \(at least ([\d,]+)\)", written)
    assert found is not None, written
    reached, least = (int(text.replace(",", "")) for text in found.groups())
    assert least >= 2000
    # spreads.csv, mixtures under a steady load.
    assert reached == pytest.approx(1.98 * least, abs=3)


def test_manifests_are_written(tmp_path: Path) -> None:
    pods = tmp_path / "pods.yaml"
    result = run(str(EXAMPLES / "slices.yaml"), "--manifests", str(pods))
    assert result.exit_code == 0
    documents = list(yaml_documents(pods.read_text(encoding="utf-8")))
    assert [d["kind"] for d in documents] == ["Deployment"] * 3
    assert "image-missing" in result.stderr


def test_errors_exit_1_and_unreadable_files_2(tmp_path: Path) -> None:
    text = (
        "platform: eks\ncluster: {name: a, region: us-east-1}\n"
        "workloads: [{name: x, workload: inference, model: Lama-3.1-8B, context: 10}]\n"
    )
    result = run("-", "--format", "json", stdin=text)
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["spec"] is None
    assert [f["code"] for f in document["findings"]] == ["model-unknown"]
    missing = run(str(tmp_path / "none.yaml"))
    assert isinstance(missing.exception, UnreadableInputError)
    broken = run("-", stdin="a: [")
    assert isinstance(broken.exception, UnreadableInputError)


def test_units_that_are_in_the_names_already_are_told() -> None:
    text = (
        "platform: eks\ncluster: {name: a, region: us-east-1}\nworkloads:\n"
        "  - {name: x, workload: inference, model: Llama-3.1-8B, context: 8k,\n"
        "     target: {tokenMs: 50ms, budgetUsdPerHour: 5$}}\n"
        "  - {name: y, workload: notebook, memoryGib: 8GiB}\n"
    )
    result = run("-", "--format", "json", stdin=text)
    assert result.exit_code == 1
    fixes = {f["path"]: f["fix"] for f in json.loads(result.stdout)["findings"]}
    assert fixes == {
        "workloads[0].context": "write 8192",
        "workloads[0].target.tokenMs": "write 50 without ms: the unit of tokenMs is in its name",
        "workloads[0].target.budgetUsdPerHour": "write 5 without $: the unit of budgetUsdPerHour "
        "is in its name",
        "workloads[1].memoryGib": "write 8 without GiB: the unit of memoryGib is in its name",
    }


def test_a_notebook_that_nothing_ends_is_told_the_key_of_its_own_file() -> None:
    text = (
        "platform: eks\ncluster: {name: ml, region: us-east-1}\n"
        "workloads: [{name: labs, workload: notebook, memoryGib: 8}]\n"
    )
    result = run("-", "--format", "json", stdin=text)
    (found,) = [f for f in json.loads(result.stdout)["findings"] if f["severity"] == "error"]
    assert found["code"] == "gpu-notebook-without-culling"
    assert "write `culledAfterHours`" in found["fix"]
    ended = run("-", stdin=text.replace("memoryGib: 8", "memoryGib: 8, culledAfterHours: 1"))
    assert ended.exit_code == 0, ended.output


def test_the_same_workloads_in_several_regions() -> None:
    """Regions of another cloud are planned on the platform that buys there; prices in dollars are
    those of the catalogue: p5.48xlarge and a3-highgpu-8g have the H100 that the team needs."""
    team = str(EXAMPLES / "team.yaml")
    document = json.loads(
        run(team, "--regions", "us-east-1,us-central1", "--format", "json").stdout
    )
    here, there = document["places"]
    assert (here["place"], here["platform"]) == ("us-east-1", "eks")
    assert (there["place"], there["platform"]) == ("us-central1", "gke")
    assert here["fleets"]["expected"]["usdPerHour"] == document["cost"]["usdPerHour"]
    assert float(here["fleets"]["worst"]["usdPerHour"]) >= float(
        here["fleets"]["expected"]["usdPerHour"]
    )
    text = run(team, "--regions", "us-east-1,us-central1").stdout
    assert "# in us-east-1 (eks): expected: " in text
    assert yaml_data(text)["cluster"]["region"] == "us-east-1"


def test_a_region_that_no_cloud_has_is_named() -> None:
    result = run(str(EXAMPLES / "team.yaml"), "--regions", "us-east-1,nowhere-9")
    assert result.exit_code == 1
    assert "no cloud of the catalogue has a region 'nowhere-9'" in result.stderr


def test_the_solver_prints_nothing_between_the_lines_of_an_answer() -> None:
    """For these services the HiGHS of scipy 1.17.1 prints two notes in spite of its options."""
    sizes = {"a": ("Qwen2.5-1.5B", 4, 2), "b": ("Llama-3.1-8B", 4, 1), "c": ("Qwen2.5-1.5B", 16, 1)}
    rows = [
        service(name, model=model, batch=batch, replicas=replicas)
        for name, (model, batch, replicas) in sizes.items()
    ]
    rows.append(service("d", batch=8, isolation="hardware"))
    rows.append(service("e", batch=8, replicas=2))
    program = "from gpufleet_planner.planning.plan import plan; import sys, json; "
    program += "assert plan(json.loads(sys.argv[1])).spec"
    asked = json.dumps(file(*rows, gpus=["H100-80GB"]))
    done = subprocess.run([sys.executable, "-c", program, asked], capture_output=True, check=True)
    assert done.stdout == b""
