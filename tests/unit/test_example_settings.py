"""READMEs, descriptions and programs of the examples name the same settings and outputs."""

import re
import shlex
from pathlib import Path

import pytest

from tests.reading import yaml_data

EXAMPLES = Path(__file__).parents[2] / "examples"
DESCRIBED = sorted(path.parent for path in EXAMPLES.glob("**/Pulumi.yaml"))
_OUTPUT = re.compile(r"""(?:require|get)_output\(["'](\w+)["']\)""")
each = pytest.mark.parametrize(
    "example", DESCRIBED, ids=lambda folder: str(folder.relative_to(EXAMPLES))
)


def settings(example: Path) -> dict[str, dict[str, object]]:
    """Settings that an example's description declares."""
    declared = yaml_data((example / "Pulumi.yaml").read_text()).get("config", {})
    return {name: one if isinstance(one, dict) else {} for name, one in declared.items()}


def page(example: Path) -> Path:
    """Its page, or that of the example that it belongs to."""
    pages = (one / "README.md" for one in (example, example.parent))
    return next(one for one in pages if one.exists())


@each
def test_the_commands_of_a_readme_set_what_is_declared(example: Path) -> None:
    here = page(example).parent
    for line in page(example).read_text().splitlines():
        if line.startswith("    cd examples/"):
            here = EXAMPLES.parent / line.split()[1]
        if here != example or not line.startswith("    pulumi config set "):
            continue
        words = [word for word in shlex.split(line) if not word.startswith("--")]
        assert words[3].split(".")[0] in settings(example), line


@each
def test_outputs_of_another_stack_are_named_alike(example: Path) -> None:
    program = "".join(path.read_text() for path in example.glob("*.py"))
    read = set(_OUTPUT.findall(program))
    told = [str(one.get("description", "")) for one in settings(example).values()]
    named = [text.partition("with the outputs ")[2] for text in told if "with the outputs" in text]
    assert read == {name for text in named for name in text.rstrip(".").split(", ")}
    assert read <= set(re.findall(r"`(\w+)`", page(example).read_text()))
