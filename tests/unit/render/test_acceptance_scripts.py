"""Scripts of the tests under a plain shell, with programs that print what the vendors' do."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpufleet.render.acceptance import FOLDER
from gpufleet_sandbox.operands.hardware import read_hardware
from gpufleet_sandbox.operands.node_tests import PROGRAMS
from gpufleet_sandbox.operands.sick_gpus import write_outputs

NODE = {
    "sandbox.gpufleet.dev/hardware": '{"gpus": [{"product": "NVIDIA H100 80GB HBM3", "memoryMiB": '
    '81559, "count": 8}], "cpu": "192", "memory": "2Ti", "driver": "580.95.05"}'
}
EXPECTED = {"GPUS": "8", "MEMORY_MIB": "73403", "DRIVER": "580", "NVLINK": "yes"}


def run(script: str, folder: Path, faults: str = "{}", **env: str) -> Mapping[str, str]:
    """Figure -> verdict, of one script on a node with faults."""
    write_outputs(read_hardware(NODE), {**NODE, "sandbox.gpufleet.dev/faults": faults}, folder)
    subprocess.run(
        ["/bin/sh", str(FOLDER / script)],
        env={
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "SCRIPTS": str(FOLDER),
            "RESULTS": str(folder),
            "GPUS_OF_NODE": str(folder),
            **env,
        },
        check=True,
    )
    lines = (folder / "figures").read_text().splitlines()
    return {line.split("\t")[0]: line.split("\t")[3] for line in lines}


def test_a_healthy_node_passes(tmp_path: Path) -> None:
    found = run("facts.sh", tmp_path, **EXPECTED)
    passed = {"gpus", "memory-mib", "driver", "ecc-uncorrected", "nvlink"}
    assert {name for name, verdict in found.items() if verdict == "passed"} == passed
    assert found["clock-mhz"] == "reported"


@pytest.mark.parametrize(
    ("faults", "env", "refused"),
    [
        ('{"missingGpus": 1}', {}, {"gpus"}),
        ('{"eccErrors": 2}', {}, {"ecc-uncorrected"}),
        ('{"inactiveLinks": 1}', {}, {"nvlink"}),
        ("{}", {"MEMORY_MIB": "90000"}, {"memory-mib"}),
        ("{}", {"DRIVER": "595"}, {"driver"}),
        ("{}", {"DRIVER": "58"}, {"driver"}),
    ],
)
def test_facts_that_are_not_those_of_the_catalogue(
    tmp_path: Path, faults: str, env: Mapping[str, str], refused: set[str]
) -> None:
    found = run("facts.sh", tmp_path, faults, **{**EXPECTED, **env})
    assert {name for name, verdict in found.items() if verdict == "refused"} == refused


def test_what_is_not_known_is_reported(tmp_path: Path) -> None:
    found = run("facts.sh", tmp_path, GPUS="8")
    assert (found["memory-mib"], found["driver"]) == ("reported", "reported")
    assert run("nccl.sh", tmp_path, GPUS="8", SIZE="8G")["nccl-within-gbs"] == "reported"


@pytest.mark.parametrize(("least", "verdict"), [("337.5", "passed"), ("500", "refused")])
def test_bandwidth_is_that_of_the_largest_message(tmp_path: Path, least: str, verdict: str) -> None:
    found = run("nccl.sh", tmp_path, GPUS="8", SIZE="8G", LEAST=least)
    assert found == {"nccl-within-gbs": verdict}
    assert "478.42" in (tmp_path / "figures").read_text()


def test_a_program_that_fails_is_a_refusal_with_its_last_words(tmp_path: Path) -> None:
    assert run("work.sh", tmp_path, '{"xid": 79}', RESOURCE="nvidia.com/gpu") == {
        "work-nvidia.com/gpu": "refused"
    }
    assert "Failed to allocate device vector A" in (tmp_path / "figures").read_text()
    (tmp_path / "figures").unlink()
    assert run("dcgm.sh", tmp_path, '{"diagnostics": "Memory"}', LEVEL="3") == {
        "diagnostics-3": "refused"
    }
    assert " Memory " in (tmp_path / "figures").read_text()
