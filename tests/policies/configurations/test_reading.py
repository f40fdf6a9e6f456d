"""Reading documents: ConfigMaps, Go's numbers, the context file, names."""

import pytest

from gpufleet.contract.programs.context import read_context
from gpufleet.contract.programs.go_json import integer
from gpufleet_policies.configurations.kinds import validate_text
from tests.policies.configurations.case_rows import FINE


def test_a_configmap_is_unwrapped() -> None:
    body = "apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n    "
    inner = FINE["mig-parted"].replace("\n", "\n    ")
    assert validate_text("mig-parted", body + inner, gpu="H100-80GB").verdict == "accept"
    broken = body + inner.replace("7", "8")
    (finding,) = validate_text("mig-parted", broken, gpu="H100-80GB").findings
    assert finding.path == "mig-configs.a[0].mig-devices"


def test_every_key_is_validated_unless_one_is_selected() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\ndata: {a: 'version: v1', b: 'version: v2'}"
    (problem,) = validate_text("device-plugin", text).findings
    assert (problem.code, problem.path) == ("device-plugin-version-unknown", "data.b: version")
    assert validate_text("device-plugin", text, select="a").verdict == "accept"
    assert validate_text("device-plugin", text, select="b").verdict == "reject"
    absent = validate_text("device-plugin", text, select="c").findings[0]
    assert "config-manager sidecar fails" in absent.message


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (3.0, 3), (3.5, None), (True, None), ("3", None), (1 << 63, None), (1e21, None)],
)
def test_go_integers(value: object, expected: int | None) -> None:
    assert integer(value) == expected


def test_wrong_contexts_are_reported_with_the_right_form() -> None:
    _, report = read_context(
        {
            "gpus": 3,
            "gpu": "H1000",
            "gpusPerNode": 0,
            "env": [1],
            "version": "new",
            "featureGates": "A=maybe",
            "chart": 3,
            "product": 5,
            "gpuPerNode": 2,
        },
        None,
    )
    paths = {finding.path for finding in report.findings}
    assert paths == {
        "gpu",
        *(
            f"context.{key}"
            for key in (
                "gpus",
                "gpusPerNode",
                "env",
                "version",
                "featureGates",
                "chart",
                "product",
                "gpuPerNode",
            )
        ),
    }
    assert all(finding.fix for finding in report.findings)


def test_context_forms() -> None:
    context, report = read_context(
        {
            "product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED",
            "env": [{"name": "MIG_STRATEGY", "value": "single"}],
            "featureGates": "A=true, B=false",
            "version": "v0.15.0",
            "chart": "nvidia/gpu-operator@v26.7.0",
        }
    )
    assert not report.findings
    assert context.gpu is not None
    assert context.gpu.key == "A100-80GB"
    assert context.bare_product == "NVIDIA-A100-SXM4-80GB"
    assert context.labelled_profile == "1g.10gb"
    assert context.env == {"MIG_STRATEGY": "single"}
    assert context.feature_gates == {"A": True, "B": False}
    assert context.version.value == "v0.15.0"
    assert context.chart is not None
    assert (context.chart.name, context.chart.release.value) == ("gpu-operator", "v26.7.0")
