"""Every installation text uses the words of `gpufleet.installation`."""

import re
from pathlib import Path

import pytest

from gpufleet.installation import PRODUCT, SANDBOX, install_command

ROOT = Path(__file__).parents[2]
SOURCES = ("components", "policies", "planner", "sandbox")
PAGES = sorted(
    page
    for pattern in ("*.md", "action.yml", "docs/**/*.md", "examples/**/*", "templates/**/*")
    for page in ROOT.glob(pattern)
    if page.suffix in {".md", ".yml", ".yaml", ".txt", ".py"}
    and not {"decisions", "node_modules"} & set(page.parts)
    and page.name != "CHANGELOG.md"
)
INSTALL = re.compile(r"pip install ([^`#\n]*)")
"""The arguments of pip, up to the end of the command."""
OURS = re.compile(r"pulumi-gpufleet|gpufleet-sandbox|\.whl|WHEEL")
"""Names that no index has, and files that exist after a build only."""


def commands() -> dict[str, list[str]]:
    """Arguments of every `pip install` of a page -> pages."""
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for arguments in INSTALL.findall(page.read_text(encoding="utf-8")):
            found.setdefault(arguments.strip(), []).append(str(page.relative_to(ROOT)))
    return found


def test_pages_name_only_what_can_be_installed() -> None:
    wrong = {arguments: pages for arguments, pages in commands().items() if OURS.search(arguments)}
    assert wrong == {}
    assert any(arguments.startswith(PRODUCT) for arguments in commands())


def test_a_page_that_makes_an_environment_activates_it() -> None:
    """`gpufleet` and `pip` of the next line are otherwise those of the shell, or not found."""
    for page in PAGES:
        for block in re.findall(r"(?:^ {4}\S.*\n)+", page.read_text(encoding="utf-8"), re.M):
            made = re.search(r"-m venv (\S+)", block)
            rest = block[made.end() :] if made else ""
            if made and re.search(r"^ {4}(gpufleet|pip) ", rest, re.M):
                assert f". {made[1]}/bin/activate" in rest, (page, block)


def test_no_source_has_words_of_its_own() -> None:
    texts = {
        str(module.relative_to(ROOT)): module.read_text(encoding="utf-8")
        for folder in SOURCES
        for module in (ROOT / folder).rglob("*.py")
    }
    own = {name for name, text in texts.items() if re.search(r"pip install\b", text)}
    assert own == {"components/gpufleet/installation.py"}


@pytest.mark.parametrize(
    ("extras", "sandbox", "words"),
    [
        ((), False, f"pip install {PRODUCT}"),
        (("eks", "policies"), False, f"pip install '{PRODUCT}[eks,policies]'"),
        ((), True, f"pip install {PRODUCT} {SANDBOX}"),
        (("clouds",), True, f"pip install {PRODUCT} '{SANDBOX}[clouds]'"),
    ],
)
def test_brackets_are_quoted_for_the_shell(
    extras: tuple[str, ...], sandbox: bool, words: str
) -> None:
    assert install_command(*extras, sandbox=sandbox) == words
