"""Requirements of a pipeline: large files, working links, whole baselines, vulnerabilities."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpufleet_policies.fronts.audit import sarif
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.audit.test_fixed_files import IN_LITTLE_ROOM
from tests.policies.objects import TODAY
from tools.rule_pages import pages

ROOT = Path(__file__).parents[3]
IDLE = """
apiVersion: v1
kind: Pod
metadata: {name: shell, namespace: ml}
spec:
  containers:
  - {name: c, image: x, command: [sleep, infinity], resources: {limits: {nvidia.com/gpu: 1}}}
"""


def rules_in(path: Path) -> list[str]:
    found = audit(find_inputs([str(path)]), read_settings({}), TODAY)
    assert not [one for one in found.files if one.problem]
    return [one.code for one in found.findings]


def test_yaml_above_four_mebibytes_is_read_to_its_end(tmp_path: Path):
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '%s'}\n---\n" % (
        "x" * 9000
    )
    path = tmp_path / "dump.yaml"
    path.write_text(other * 700 + IDLE)
    assert path.stat().st_size > 6 << 20
    assert "gpu-idle-command" in rules_in(path)


def test_help_leads_to_a_page_or_to_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "pod.yaml").write_text(IDLE)
    found = audit(find_inputs([str(tmp_path)]), read_settings({}), TODAY)

    def help_of(site: str | None) -> dict[str, str]:
        monkeypatch.setattr(sarif, "documentation_site", lambda: site)
        document = json.loads(json.dumps(sarif.as_sarif(found, "1")))
        (one,) = [
            rule
            for rule in document["runs"][0]["tool"]["driver"]["rules"]
            if rule["id"] == "gpu-idle-command"
        ]
        return one

    installed = help_of(None)
    assert "helpUri" not in installed, "no address is better than a dead one"
    assert "`gpufleet policies explain gpu-idle-command`" in installed["help"]["text"]
    with_site = help_of("https://docs.example/")["helpUri"]
    assert with_site == "https://docs.example/docs/policies.md#gpu-idle-command"
    assert "## gpu-idle-command\n" in pages()["idle.md"]


def test_a_baseline_that_does_not_fit_is_not_cut(tmp_path: Path):
    (tmp_path / "pod.yaml").write_text(IDLE)
    known = tmp_path / "known.json"
    old = json.dumps({"version": 1, "findings": {}})
    known.write_text(old)
    arguments = ["audit", "--jobs", "1", "--baseline", str(known), "--write-baseline"]
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_ROOM, "40", *arguments, str(tmp_path / "pod.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert known.read_text() == old
    assert sorted(path.name for path in tmp_path.iterdir()) == ["known.json", "pod.yaml"]


def test_known_vulnerabilities_of_all_locked_packages_and_modules_are_asked_for():
    """Both need network: they query advisory databases, and fail without one."""
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^\.SHELLFLAGS := -euo pipefail -c$", makefile, re.MULTILINE)
    recipe = makefile.partition("\nvulnerabilities:")[2].partition("\n\n")[0]
    assert "tools/vulnerabilities.py --pip-audit" in recipe
    program = (ROOT / "tools/vulnerabilities.py").read_text()  # tests/unit/test_vulnerabilities.py
    assert '"--strict", "--require-hashes", "--disable-pip"' in program
    assert 'glob("tools/*/go.mod")' in program
    assert len(list(ROOT.glob("tools/*/go.mod"))) > 10
    assert "make vulnerabilities" in (ROOT / "CONTRIBUTING.md").read_text()
