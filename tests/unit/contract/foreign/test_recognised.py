"""`gpufleet check FILE` without `--as`: what is in the file says its kind."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet.cli.check import command
from gpufleet.cli.output import UnreadableInputError
from gpufleet.contract.foreign.recognised import validate_recognised
from tests.policies.audit.wrapper_shapes import FAULT
from tests.unit.contract.foreign.test_wrapped import release

PLUGIN = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}\n"
MIG = "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: false}]}\n"
POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: c}
spec: {mig: {strategy: mixd}}
"""


@pytest.mark.parametrize(
    ("text", "path", "kinds", "code"),
    [
        (PLUGIN, "", ("device-plugin",), "device-plugin-replicas-invalid"),
        (MIG, "", ("mig-parted",), None),
        (POLICY, "", ("gpu-operator-values",), FAULT),
        ("mig: {strategy: mixd}\nmigManager: {}\n", "", ("gpu-operator-values",), FAULT),
        ("mig: {strategy: mixd}\n", "gpu-operator-values.yaml", ("gpu-operator-values",), FAULT),
        (release("gpu-operator", "{mig: {strategy: mixd}}"), "", ("gpu-operator-values",), FAULT),
        (
            release("gpu-operator", "{}") + "---\n" + release("network-operator", "{}"),
            "",
            ("gpu-operator-values", "network-operator-values"),
            None,
        ),
        (release("cert-manager", "{}"), "", (), "wrapped-chart-unknown"),
        ("mig: {strategy: mixd}\n", "fake-gpu-operator-values.yaml", (), None),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", "", (), None),
    ],
)
def test_kinds_are_recognised(text: str, path: str, kinds: tuple[str, ...], code: str | None):
    found, validation = validate_recognised(text, path)
    assert found == kinds
    if code is not None:
        assert code in [one.code for one in validation.findings]


def test_the_command_needs_no_kind(tmp_path: Path):
    file = tmp_path / "a.yaml"
    file.write_text(POLICY)
    result = CliRunner().invoke(command, [str(file), "--format", "json"])
    assert result.exit_code == 1
    assert FAULT in [one["code"] for one in json.loads(result.stdout)["findings"]]
    file.write_text("a: 1\n")
    result = CliRunner().invoke(command, [str(file)])
    assert isinstance(result.exception, UnreadableInputError)
    assert "no kind is recognised in it; give --as, one of mig-parted" in str(result.exception)
