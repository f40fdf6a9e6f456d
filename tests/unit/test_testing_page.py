"""The program and the test of docs/test-your-program.md run as a reader writes them."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "test-your-program.md").read_text(encoding="utf-8")


def passes(folder: Path, tests: int) -> None:
    """pytest in a folder as a reader calls it."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_fleet.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{tests} passed" in done.stdout, done.stdout + done.stderr
    assert "error" not in done.stderr


def test_the_test_of_the_page_passes(tmp_path: Path) -> None:
    program, test, typed = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (tmp_path / "fleet.py").write_text(program)
    (tmp_path / "test_fleet.py").write_text(test)
    (tmp_path / "typed.py").write_text(typed)
    passes(tmp_path, 3)


PROGRAM = """
import pulumi
import pulumi_aws as aws
from gpufleet import GpuFleet

platform = pulumi.StackReference("org/platform/prod")
account = aws.Provider("account", region="us-east-1")
pool = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 4}}
GpuFleet(
    "ml",
    {
        "spec": {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [pool],
        },
        "connection": {
            "node_role_arn": platform.get_output("role"),
            "subnet_ids_by_zone": {"us-east-1a": platform.get_output("subnet")},
        },
    },
    pulumi.ResourceOptions(providers={"aws": account}),
)
"""
TEST = """
from gpufleet.testing import use_mocks

made = use_mocks(stacks={"org/platform/prod": {"role": "arn:aws:iam::1:role/n", "subnet": "s-1"}})

import program


def test_the_group_is_in_the_subnet_of_the_platform():
    group = made.one("aws:eks/nodeGroup:NodeGroup")
    assert group.inputs["subnetIds"] == ["s-1"]
    assert group.inputs["nodeRoleArn"] == "arn:aws:iam::1:role/n"
"""


def test_a_whole_program_with_values_of_another_stack(tmp_path: Path) -> None:
    """Registered when the module is imported, requested without an engine that runs the loop."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "test_fleet.py").write_text(TEST)
    passes(tmp_path, 1)
