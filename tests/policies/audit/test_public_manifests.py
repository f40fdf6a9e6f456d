"""Manifests as people publish them: no crash, the same words twice, every line right."""

import subprocess
import sys
from pathlib import Path

from benchmarks.public_manifests import write_manifests
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.placed import fingerprint
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.fronts.audit.text import as_text
from gpufleet_policies.rules.settings import read_settings
from tests.examples import examples
from tests.policies.objects import TODAY

FILES = examples(1000)


def test_a_folder_of_manifests(tmp_path: Path):
    assert len(write_manifests(tmp_path, FILES)) == FILES
    settings = read_settings({"profile": "strict"})
    result = audit(find_inputs([str(tmp_path)]), settings, TODAY)
    assert len(result.files) == FILES
    assert [file.name for file in result.unread] == []
    rules = {found.code for found in result.findings}
    assert "policy-rule-failed" not in rules
    assert len(rules) >= 20, "the folder must give the rules something to validate"
    for found in result.findings:
        lines = Path(found.file).read_text().count("\n")
        assert 1 <= found.line <= lines
    again = audit(find_inputs([str(tmp_path)]), settings, TODAY)
    words = [list(as_text(one, lambda text, _: text)) for one in (result, again)]
    assert words[0] == words[1]
    assert [fingerprint(f) for f in again.findings] == [fingerprint(f) for f in result.findings]


PLAIN = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: d{0}}}
spec:
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec:
      containers: [{{name: c, image: v, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""


def test_manifests_are_judged_without_what_is_slow_to_import(tmp_path: Path):
    """A declaration's models cost each process a third of a second; most YAML is plain. Only
    relations of pools and programs need them."""
    for number in range(100):
        (tmp_path / f"{number}.yaml").write_text(PLAIN.format(number))
    script = (
        "import sys; from gpufleet_policies.commands.audit import command\n"
        "try: command()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('pydantic', 'multiprocessing') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--jobs", "1", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-2].endswith("of 100 files")
    assert done.stdout.splitlines()[-1] == "[]"
