"""`check` opens the wrappers of GitOps tools: the same shapes as the audit."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet_policies.commands.check import command
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.check import CheckedFile, CheckVerdict, check_file
from gpufleet_policies.rules.settings import RuleSettings
from tests.policies.audit.wrapper_shapes import FAULT
from tests.policies.audit.wrapper_shapes_of_others import ALL_SHAPES
from tests.policies.objects import TODAY

KIND = "gpu-operator-values"
ALONE = [
    shape
    for shape in ALL_SHAPES
    # A fleet.yaml is known by its name, which a text does not have.
    if len(shape.files) == 1 and shape.name != "fleet-bundle"
]


def checked(text: str, kind: str = KIND) -> CheckedFile:
    file = Input("a.yaml", content=text.encode())
    return check_file(file, TODAY, RuleSettings(), kind=kind)


@pytest.mark.parametrize("shape", ALONE, ids=lambda shape: shape.name)
def test_values_are_judged_where_they_are_written(shape):
    (text,) = shape.files.values()
    found = checked(text)
    (fault,) = [one for one in found.findings if one.code == FAULT]
    assert fault.path.endswith(shape.where)
    assert found.verdict is CheckVerdict.REJECT
    clean = checked(text.replace("mixd", "mixed"))
    assert FAULT not in [one.code for one in clean.findings]


def test_documents_of_one_text_hold_each_others_values():
    shape = next(one for one in ALL_SHAPES if one.name == "flux-values-from-config-map")
    (fault,) = [one for one in checked("---\n".join(shape.files.values())).findings
                if one.code == FAULT]  # fmt: skip
    assert "data[values.yaml]" in fault.path
    (left,) = checked(shape.files["release.yaml"]).not_judged
    assert "spec.valuesFrom[0]" in left.reason


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: x, namespace: gpu}
spec: {chart: {spec: {chart: CHART, version: VERSION}}, values: VALUES}
"""


def release(chart: str, values: str, version: str = "v25.3.0") -> str:
    written = RELEASE.replace("CHART", chart).replace("VERSION", version)
    return written.replace("VALUES", values)


def codes(kind: str, text: str) -> set[str]:
    return {one.code for one in checked(text, kind).findings}


def test_charts_of_other_kinds_are_listed():
    found = checked(release("fake-gpu-operator", "{mig: {strategy: mixd}}"))
    assert (found.findings, found.is_judged) == ((), False)
    assert "fake-gpu-operator" in found.not_judged[0].reason
    with pytest.raises(UnreadableDocumentError, match="use --as network-operator-values"):
        checked(release("network-operator", "{nfd: {enabled: 1}}"))


def test_configurations_inside_of_the_device_plugin_s_chart_are_judged():
    text = (
        "version: v1\\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}"
    )
    values = f'{{config: {{map: {{a: "{text}"}}}}}}'
    assert "device-plugin-replicas-invalid" in codes(
        "device-plugin-values", release("nvidia-device-plugin", values, "0.17.1")
    )


@pytest.mark.parametrize("name", ["dra-driver-nvidia-gpu", "nvidia-dra-driver-gpu"])
def test_both_names_of_the_dra_driver_are_known(name: str):
    assert "dra-chart-gpus-override" in codes(
        "dra-driver-values", release(name, "{resources: {gpus: {enabled: true}}}", "25.8.0")
    )


def test_variables_are_not_judged_and_listed():
    found = checked(release("gpu-operator", '{mig: {strategy: "${S}"}}'))
    assert not found.findings
    assert "spec.values.mig.strategy" in found.not_judged[0].object


def test_the_command_exits_by_what_is_inside(tmp_path: Path):
    (tmp_path / "a.yaml").write_text(release("gpu-operator", "{mig: {strategy: mixd}}"))
    arguments = [str(tmp_path / "a.yaml"), "--as", KIND, "--format", "json"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 1
    paths = [one["path"] for one in json.loads(result.stdout)["findings"]]
    assert "spec.values.mig.strategy" in paths
