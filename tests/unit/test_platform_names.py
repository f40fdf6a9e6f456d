"""Only the folder of a platform names it; all other code uses the platform's value.

A name is `Platform.X`, a whole string such as "eks", access to an option `.eks`, or an import of
`gpufleet.platforms.eks`. A test with a made-up platform, `platforms/test_new_platform.py`, edits
the files of `LISTED` and no others.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform

ROOT = Path(__file__).parents[2]
ROOTS = ("components/gpufleet", "policies/gpufleet_policies", "stacks")
FOLDERS_OF_PLATFORMS = (
    "components/gpufleet/platforms/",
    "components/gpufleet/spec/platforms/",
    "components/gpufleet/arguments/",  # generated from the spec
)

LISTED = {
    "components/gpufleet/spec/base.py": "the enumeration",
    "components/gpufleet/spec/pool.py": "the options of a pool, one field for each platform",
    "components/gpufleet/platforms/registry.py": "the table of folders",
}
"""Files that name platforms, and why. Adding a platform edits these; ARCHITECTURE.md lists them."""

OTHERWISE = {
    "components/gpufleet/sandbox_distribution.py": "the name of the other distribution's parts",
    "components/gpufleet/__init__.py": "the extra of each SDK that a component imports",
    "components/gpufleet/cli/__init__.py": "two commands are called like platforms",
    "components/gpufleet/cli/vsphere.py": "the command of one platform",
    "components/gpufleet/cli/sandbox.py": "the command of another distribution",
    "components/gpufleet/cluster/pool.py": "makers of nodes, read by one reader each",
    "stacks/openshift.py": "the stack's part of OpenShift, wherever its machines are",
    "stacks/vsphere.py": "the stack's part of one platform",
    "stacks/settings.py": "the identifier of the sandbox's cluster",
}
"""Files that name a platform, and that adding another one does not edit."""

WORDS = frozenset({"existing"})
"""Names of platforms that are common words too: nodes that another tool created."""
NAMES = frozenset(platform.value for platform in Platform) - WORDS
OPTIONS = (NAMES | {platform.section for platform in Platform}) - {"sandbox"} - WORDS


def names_of_platforms(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of every place that names a platform."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="Platform"), attr=name) if name.isupper():
                yield node.lineno, f"Platform.{name}"
            case ast.Attribute(attr=name) if name in OPTIONS:
                yield node.lineno, f".{name}"
            case ast.Constant(value=str(text)) if text in NAMES or _in_folder(text):
                yield node.lineno, repr(text)
            case ast.ImportFrom(module=str(module)) if _in_folder(module):
                yield node.lineno, f"from {module}"
            case ast.Import(names=names):
                yield from ((node.lineno, one.name) for one in names if _in_folder(one.name))
            case _:
                pass


FOLDERS = (
    *(f"{folder.package}." for folder in PLATFORMS.values()),
    *(f"gpufleet.spec.platforms.{name}." for name in OPTIONS),
)


def _in_folder(module: str) -> bool:
    return f"{module}.".startswith(FOLDERS)


def product() -> list[str]:
    """Files that must not name a platform unless they are listed."""
    files = sorted(file for root in ROOTS for file in (ROOT / root).rglob("*.py"))
    paths = [file.relative_to(ROOT).as_posix() for file in files]
    return [path for path in paths if not path.startswith(FOLDERS_OF_PLATFORMS)]


def test_only_listed_files_name_a_platform() -> None:
    wrong: list[str] = []
    for path in product():
        if path not in LISTED and path not in OTHERWISE:
            found = names_of_platforms((ROOT / path).read_text())
            wrong += [f"{path}:{line}: {text}" for line, text in found]
    assert not wrong, "\n".join(["ask the platform of the pool or fleet instead:", *wrong])


def test_lists_hold_only_files_that_name_platforms() -> None:
    for path in (*LISTED, *OTHERWISE):
        assert list(names_of_platforms((ROOT / path).read_text())), path


@pytest.mark.parametrize(
    "source",
    [
        "x = Platform.EKS",
        'x = platform == "gke"',
        "x = pool.spec.vsphere",
        "from gpufleet.platforms.openshift.olm import namespace",
        "import gpufleet.platforms.sandbox",
        'MODULES = {"ClusterAutoscaler": "gpufleet.platforms.eks.cluster_autoscaler"}',
    ],
)
def test_every_form_of_a_name_is_found(source: str) -> None:
    assert list(names_of_platforms(source))


@pytest.mark.parametrize(
    "source",
    [
        '"""Pools on eks."""',
        'x = "GKE makes nodes"',
        "from gpufleet.platforms.registry import PLATFORMS",
        "x = Platform(name)",
    ],
)
def test_texts_and_the_registry_are_no_names(source: str) -> None:
    assert not list(names_of_platforms(source))
