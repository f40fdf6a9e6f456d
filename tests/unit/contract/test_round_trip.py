"""What the contract finds in a declaration, the audit finds in the files that it renders."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from gpufleet.contract.validate import RULES
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY
from tests.unit.contract.bad_fleets import BAD, L4, NOT_IN_FILES
from tests.unit.contract.fleets import declaration

CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
OF_RANGES = {"driver-not-for-gpu", "kernel-module-not-for-gpu", "gpu-operator-too-old-for-gpu"}
"""Codes that `contract.driver_ranges` makes, for declarations and for manifests."""


def codes_of_rules() -> set[str]:
    """Codes that the modules of the contract's rules write."""
    found = set(OF_RANGES)
    for name in {rule.__module__ for rule in RULES}:
        path = import_module(name).__file__
        assert path is not None
        for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
            first = node.args[0] if made else None
            text = first.value if isinstance(first, ast.Constant) else None
            if isinstance(text, str) and CODE.fullmatch(text):
                found.add(text)
    return found


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


def test_each_code_of_the_contract_has_a_bad_fleet() -> None:
    assert set(BAD) == codes_of_rules()
    assert set(NOT_IN_FILES) <= set(BAD)


@pytest.mark.parametrize("code", BAD)
def test_a_bad_fleet_is_found_declared_and_rendered(tmp_path: Path, code: str) -> None:
    assert code in {one.code for one in compile_data(BAD[code]).findings}
    assert (code in audited(tmp_path, BAD[code])) is (code not in NOT_IN_FILES)


@pytest.mark.parametrize("platform", ["eks", "gke", "vsphere"])
def test_a_good_fleet_has_none_of_them(tmp_path: Path, platform: str) -> None:
    size = {"vsphere": {"cpus": 8, "memoryGib": 64, "template": "ubuntu"}}
    pool = {**L4, **(size if platform == "vsphere" else {})}
    document = declaration(platform, pool)
    assert compile_data(document).deployable
    assert not audited(tmp_path, document) & set(BAD)
