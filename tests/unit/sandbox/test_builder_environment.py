"""A first `make up` builds programs in an environment that has only `requirements/programs.txt`."""

import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOADED = """
import json, sys
from pathlib import Path
import gpufleet_sandbox.go_build
from gpufleet.cli import main
sys.argv = ["gpufleet", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
files = {name.split(".")[0] for name, one in sys.modules.items()
         if "site-packages" in (getattr(one, "__file__", None) or "")}
print("\\n" + json.dumps(sorted(files)))
"""


def locked(file: str) -> dict[str, str]:
    """Package -> version."""
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.MULTILINE))


def test_it_is_a_part_of_what_the_tests_have() -> None:
    assert locked("programs.txt").items() <= locked("dev.txt").items()


@pytest.mark.parametrize(
    "words",
    [("explain", "stacks/Pulumi.sandbox-dev.yaml"), ("sandbox", "programs", "--help")],
    ids=lambda words: words[0],
)
def test_it_has_what_the_commands_of_the_wait_import(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = packages_distributions()
    needed = {
        re.sub("[._]", "-", one.lower())
        for module in json.loads(done.stdout.splitlines()[-1])
        for one in names.get(module, ())
    }
    ours = {"pulumi-gpufleet", "gpufleet-sandbox", "setuptools"}
    assert needed - ours <= set(locked("programs.txt"))
    assert "click" in needed
