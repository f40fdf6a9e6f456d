"""`check` without `--as` is the audit of one file: the same rules, findings and codes."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.cli.check import command
from gpufleet.cli.output import UnreadableInputError
from gpufleet.contract.foreign.codes import code_space
from gpufleet.contract.foreign.kinds import validate_text
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.fronts.check import NothingToCheckError, check_file
from gpufleet_policies.rules.rule import Level
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY
from tests.unit.contract.foreign.rule_cases import CASES

NAMES = {
    "gpu-operator-values": "gpu-operator-values.yaml",
    "network-operator-values": "network-operator-values.yaml",
    "device-plugin-values": "nvidia-device-plugin-values.yaml",
    "dra-driver-values": "dra-driver-nvidia-gpu-values.yaml",
}
"""Values files say their chart by their name."""

OF_THE_TEXT = ("-key-repeated", "-second-document", "-not-json", "-no-mapping", "-patch")
"""Ends of codes about a text as it is written: readers of objects do not see it."""
OF_A_FORCED_KIND = frozenset(
    {
        "autoscaler-nothing-to-judge",
        "device-plugin-mps-root-elsewhere",  # operator and chart set it
        "device-plugin-mps-root-missing",
        "gpu-operator-counters-key",  # needs the ConfigMap beside the values
        "device-plugin-values-config",
        "karpenter-huge-pages-unknown",  # needs the pods beside the pool
        "karpenter-no-limits",  # gpu-pool-unbounded reports it, with its money
        "karpenter-nothing-to-judge",
        "karpenter-pod-fits-no-pool",  # pods and pools are compared by the pack's rules
        "kueue-nothing-to-judge",
        "mig-parted-config-not-selected",
        "object-nothing-to-judge",
        "object-version-unknown",
    }
)
"""Codes that only `--as` reports."""

ROWS = [
    pytest.param(kind, text, where, id=f"{number}-{kind}-{code}")
    for kind, rows in CASES.items()
    for number, (code, text, _, where) in enumerate(rows)
    if code not in OF_A_FORCED_KIND and not code.endswith(OF_THE_TEXT)
]


@pytest.mark.parametrize(("kind", "text", "where"), ROWS)
def test_recognised_files_have_the_findings_of_their_kind(
    kind: str, text: str, where: dict[str, Any], tmp_path: Path
):
    file = tmp_path / NAMES.get(kind, f"{kind}.yaml")
    file.write_text(text)
    try:
        expected = {one.code for one in validate_text(kind, text, **where).findings}
    except UnreadableDocumentError:
        with pytest.raises(NothingToCheckError):
            check_file(str(file), TODAY, **where)
        return
    try:
        found = check_file(str(file), TODAY, **where)
    except NothingToCheckError:
        pytest.skip("nothing in it says its kind")
    codes = {one.code for one in found.findings if one.code in code_space()}
    assert codes == expected - OF_A_FORCED_KIND
    if where:
        return
    audited = audit([Input(str(file))], read_settings({}), TODAY).findings
    mandatory = {one.finding.rule for one in audited if one.finding.level is Level.MANDATORY}
    assert mandatory == {one.code for one in found.findings if one.severity == "error"}


def test_most_rows_are_recognised():
    """So that the comparison above cannot turn into skips unseen."""
    assert len(ROWS) > 350


def test_the_command_recognises_and_names_what_it_has_not_judged(tmp_path: Path):
    run = CliRunner().invoke
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n"
        "spec: {mig: {strategy: mixd}}\n"
    )
    found = run(command, [str(policy)])
    assert found.exit_code == 1
    assert "gpu-operator-" in found.output
    other = tmp_path / "other.yaml"
    other.write_text("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n")
    with pytest.raises(UnreadableInputError, match=r"no rule reads objects of example\.com/Thing"):
        run(command, [str(other)], catch_exceptions=False)
    parted = "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: false}]}\n"
    other.write_text(f"{other.read_text()}---\n{parted}")
    found = check_file(str(other), TODAY)
    assert found.verdict == "unjudged"
    assert found.unjudged == ("Thing a: no rule reads objects of example.com/Thing",)
