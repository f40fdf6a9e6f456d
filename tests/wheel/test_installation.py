"""The words of the pages install gpufleet in an empty environment, by pip itself."""

import os
import subprocess
import venv
from pathlib import Path

import pytest

from gpufleet.installation import PRODUCT
from tests.unit.test_installation import commands

ROOT = Path(__file__).parents[2]
WORDS = sorted({words for words in commands() if words.strip("'\"").startswith(PRODUCT)})


def install_by(words: str, folder: Path) -> str:
    """Run a page's command in a new environment; what `gpufleet --version` then prints."""
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    pip = f"pip install --quiet {words.replace(PRODUCT, str(ROOT))}"
    for command in (pip, "gpufleet --version"):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr[-2000:])
    return done.stdout


def test_the_program_alone(tmp_path: Path) -> None:
    assert install_by(PRODUCT, tmp_path).startswith("gpufleet, version ")


@pytest.mark.nightly
@pytest.mark.parametrize("words", WORDS)
def test_each_page(words: str, tmp_path: Path) -> None:
    assert install_by(words, tmp_path).startswith("gpufleet, version ")
