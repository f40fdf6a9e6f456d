"""`gpufleet audit --fix`: bytes of changed files, and of files that cannot be changed."""

import os
import subprocess
import sys
from codecs import BOM_UTF8
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet_policies.commands.audit import command
from tests.policies.manifests import VLLM

ONE = VLLM.replace("replicas: 4", "replicas: 4 # so many").replace(
    "limits: {nvidia.com/gpu: 2}", "limits:\n              nvidia.com/gpu: 2"
)
DIFFERS = ONE.replace('cpu: "4", memory: 16Gi', 'cpu: "4", memory: 16Gi, nvidia.com/gpu: 1')
MENDED = DIFFERS.replace("nvidia.com/gpu: 1}", 'nvidia.com/gpu: "2"}')


IN_LITTLE_ROOM = """
import resource, sys
from gpufleet.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
main()
"""


def fixed(folder: Path, content: bytes) -> bytes:
    folder.mkdir()
    path = folder / "chat.yaml"
    path.write_bytes(content)
    said = CliRunner().invoke(
        command, ["--profile", "prod", "--jobs", "1", "--fix", str(path)], catch_exceptions=False
    )
    assert "not fixed" not in said.stdout
    return path.read_bytes()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", BOM_UTF8])
@pytest.mark.parametrize("last", ["\n", ""])
def test_lines_end_and_a_file_begins_as_they_did(
    tmp_path: Path, ending: str, mark: bytes, last: str
):
    usual = fixed(tmp_path / "usual", DIFFERS.encode())
    assert usual == MENDED.encode()
    given, wanted = (
        mark + (one.rstrip("\n") + last).replace("\n", ending).encode() for one in (DIFFERS, MENDED)
    )
    assert fixed(tmp_path / "this", given) == wanted


def test_a_file_that_cannot_grow_is_as_it_was(tmp_path: Path):
    path = tmp_path / "chat.yaml"
    path.write_text(DIFFERS)
    # -B: Python would write compiled files of the limited size, and read them later.
    program = [sys.executable, "-B", "-c", IN_LITTLE_ROOM, str(len(DIFFERS) - 20)]
    done = subprocess.run(
        [*program, "audit", "--profile", "prod", "--jobs", "1", "--fix", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    assert "not fixed" in done.stdout
    assert "File too large" in done.stdout
    assert path.read_text() == DIFFERS


def test_a_pipe_is_not_read_again(tmp_path: Path):
    path = tmp_path / "chat.yaml"
    os.mkfifo(path)
    with ThreadPoolExecutor() as writing:
        written = writing.submit(path.write_text, DIFFERS)
        said = CliRunner().invoke(command, ["--profile", "prod", "--jobs", "1", "--fix", str(path)])
        written.result()
    assert said.stdout.count("only files are rewritten, and this is not a file") == 1
