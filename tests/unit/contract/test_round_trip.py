"""The audit of a declaration's rendered files has the contract's findings in the declaration."""

import ast
import re
from pathlib import Path

import pytest

from gpufleet import contract
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY
from tests.unit.contract.bad_fleets import BAD, L4, NOT_IN_FILES
from tests.unit.contract.fleets import declaration
from tests.unit.contract.more_bad_fleets import BEYOND, FOUND_AS
from tests.unit.contract.more_bad_fleets import NOT_IN_FILES as BEYOND_FILES

CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
MADE = {"error", "warning", "info", "say", "_finding"}
OF_RANGES = {"driver-not-for-gpu", "kernel-module-not-for-gpu", "gpu-operator-too-old-for-gpu"}
"""Codes that `contract.driver_ranges` makes."""
OF_PARTS = {
    f"{part}-installed-{how}"
    for part in ("driver", "toolkit", "device-plugin")
    for how in ("twice", "by-nobody")
}
"""Codes that `contract.owners` makes for each part."""
OF_MODULES = {"gds-without-its-module", "gdrcopy-without-its-module"}
SHOWN_ELSEWHERE = {
    # No image of the catalogue lacks the driver and a driver container (test_public_reports).
    "driver-not-for-this-image",
    "gdrcopy-without-its-module",
}


def codes_of_rules() -> set[str]:
    """Codes that the modules of the contract write."""
    found = OF_RANGES | OF_PARTS | OF_MODULES | {"node-feature-discovery-twice"}
    for path in Path(str(contract.__path__[0])).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if not made or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            written = [one.value for one in node.keywords if one.arg == "code"]
            if node.func.id in MADE:
                written += node.args[:1]
            texts = [
                str(one.value).partition("/")[0] for one in written if isinstance(one, ast.Constant)
            ]
            found |= {text for text in texts if CODE.fullmatch(text)}
    return found - SHOWN_ELSEWHERE


def audited(folder: Path, document: dict[str, object]) -> set[str]:
    """Codes that the audit finds in what the declaration renders, refused or not."""
    fleet = compile_data(document).fleet
    assert fleet is not None
    for one in artefacts(fleet):
        file = folder / one.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(one.text, encoding="utf-8")
    result = audit(find_inputs([str(folder)]), read_settings({"profile": "strict"}), TODAY)
    assert result.files
    return {one.code for one in result.findings}


ALL = {**BAD, **BEYOND}
SILENT = {**NOT_IN_FILES, **BEYOND_FILES}


def test_each_code_of_the_contract_has_a_bad_fleet() -> None:
    assert codes_of_rules() <= set(ALL)
    assert set(SILENT) <= set(ALL)
    assert all(SILENT.values())


@pytest.mark.parametrize("code", ALL)
def test_a_bad_fleet_is_found_declared_and_rendered(tmp_path: Path, code: str) -> None:
    assert code in {one.code for one in compile_data(ALL[code]).findings}
    found = audited(tmp_path, ALL[code])
    assert (FOUND_AS.get(code, code) in found) is (code not in SILENT)


@pytest.mark.parametrize("platform", ["eks", "gke", "vsphere"])
def test_a_good_fleet_has_none_of_them(tmp_path: Path, platform: str) -> None:
    size = {"vsphere": {"cpus": 8, "memoryGib": 64, "template": "ubuntu"}}
    pool = {**L4, **(size if platform == "vsphere" else {})}
    document = declaration(platform, pool)
    assert compile_data(document).deployable
    assert not audited(tmp_path, document) & set(ALL)
