"""docs/what-must-exist.md: a section for each platform, for each shipped program a row."""

import re
from pathlib import Path
from typing import Any

import pytest

from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from tests.reading import yaml_data

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "what-must-exist.md").read_text(encoding="utf-8")
SECTIONS = {
    Platform.EKS: "EKS",
    Platform.GKE: "GKE",
    Platform.VSPHERE: "vSphere",
    Platform.OPENSHIFT: "OpenShift on vSphere",
    Platform.OPENSHIFT_AWS: "OpenShift on AWS and on Google Cloud",
    Platform.OPENSHIFT_GCP: "OpenShift on AWS and on Google Cloud",
    Platform.EXISTING: "Nodes that exist",
}
ROWS = {
    name: row
    for row in re.findall(r"^\| (?:stack|example)s? .*$", PAGE, re.M)
    for name in re.findall(r"`([\w/-]+)`", row.split("|")[1])
}
EXAMPLES = {
    file.parent.relative_to(ROOT / "examples").as_posix(): file
    for pattern in ("*/Pulumi.yaml", "*/*/Pulumi.yaml")
    for file in sorted((ROOT / "examples").glob(pattern))
}
_REQUIRED = re.compile(r"""require(?:_secret|_object|_int|_bool)?\(["'](\w+)["']\)""")


def test_each_platform_that_needs_something_has_a_section() -> None:
    assert set(SECTIONS) | {Platform.SANDBOX} == set(PLATFORMS)
    assert set(SECTIONS.values()) <= set(re.findall(r"^## (.*)$", PAGE, re.M))


def test_each_shipped_stack_and_example_has_one_row() -> None:
    stacks = {file.name.split(".")[1] for file in (ROOT / "stacks").glob("Pulumi.*.yaml")}
    assert set(ROWS) == stacks | set(EXAMPLES)


@pytest.mark.parametrize(("name", "file"), EXAMPLES.items(), ids=EXAMPLES)
def test_a_row_names_every_setting_without_a_default(name: str, file: Path) -> None:
    declared: dict[str, Any] = yaml_data(file.read_text()).get("config") or {}
    programs = "".join(one.read_text() for one in file.parent.glob("*.py"))
    asked = {key for key, one in declared.items() if "default" not in (one or {})}
    asked |= set(_REQUIRED.findall(programs)) - set(declared)
    assert {key for key in asked if f"`{key}`" not in ROWS[name]} == set()
