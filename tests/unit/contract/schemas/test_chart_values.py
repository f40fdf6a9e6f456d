"""Values of the operators' charts: keys and types of the charts and of what they hand on."""
# ruff: noqa: E501  # one case, one line

from pathlib import Path
from typing import Any

import pytest

from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.kinds import validate_text

CHARTS = Path(__file__).parents[5] / "shared/reference/charts"
GPU, NETWORK = "gpu-operator-values", "network-operator-values"


def codes(kind: str, text: str, version: str | None = None) -> list[tuple[str, str]]:
    context: dict[str, Any] | None = None if version is None else {"version": version}
    found = validate_text(kind, text, context=context).findings
    return [(one.code, one.path) for one in found]


@pytest.mark.parametrize(
    ("kind", "file", "version"),
    [
        (GPU, "gpu-operator-v26.7.0.values.yaml", "v26.7.0"),
        (NETWORK, "network-operator-26.4.1.values.yaml", "26.4.1"),
    ],
)
@pytest.mark.parametrize("said", [True, False])
def test_default_values_are_accepted(kind: str, file: str, version: str, said: bool) -> None:
    path = CHARTS / file
    if not path.exists():
        pytest.skip(f"no copy of the chart's values next to the checkout ({path})")
    context = {"version": version} if said else None
    validated = validate_text(kind, path.read_text(), context=context)
    assert [str(one) for one in validated.findings] == []
    assert validated.verdict is Verdict.ACCEPT


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("driver: {enabled: maybe}", ("gpu-operator-wrong-type", "driver.enabled")),
        ("toolkit: {resources: {limit: {cpu: 1}}}", ("config-key-misspelt", "toolkit.resources.limit")),
        ("gfd: {resources: {limits: {cpu: 1Gib}}}", ("gpu-operator-value-invalid", "gfd.resources.limits.cpu")),
        ("driver: {startupProbe: {periodSeconds: '5'}}", ("gpu-operator-wrong-type", "driver.startupProbe.periodSeconds")),
        ("operator: {affinity: {nodeAfinity: {}}}", ("config-key-misspelt", "operator.affinity.nodeAfinity")),
        ("operator: {tolerations: [{key: a, operater: Exists}]}", ("config-key-misspelt", "operator.tolerations[0].operater")),
        ("driver: {nvidiaDriverCRD: {driverType: vgpus}}", ("gpu-operator-choice-unknown", "driver.nvidiaDriverCRD.driverType")),
        ("psp: {enabled: true}", ("config-key-unknown", "psp")),
    ],
)  # fmt: skip
def test_what_templates_hand_on_has_the_types_of_the_definition(
    values: str, expected: tuple[str, str]
) -> None:
    assert expected in codes(GPU, values)


@pytest.mark.parametrize(
    "values",
    [
        "driver: {version: 580}",
        "driver: {env: [], resources: {}, imagePullSecrets: ''}",
        "toolkit: {hostNetwork: 'true'}",
        "mig: {strategy: ''}",
        "migManager: {enabled: null}",
        "daemonsets: {rollingUpdate: {maxUnavailable: 25%}}",
        "global: {anything: 1}\nnode-feature-discovery: {anything: 1}",
    ],
)
def test_what_templates_write_as_text_or_leave_out_is_accepted(values: str) -> None:
    assert codes(GPU, values) == []


def test_rules_know_the_release_of_the_gpu_operator() -> None:
    ignored = ("gpu-operator-key-ignored", "cdi.default")
    assert codes(GPU, "cdi: {default: false}", "v25.3.0") == []
    assert ignored in codes(GPU, "cdi: {default: false}", "v25.10.0")
    assert ignored in codes(GPU, "cdi: {default: false}")
    # A field of an older release may look like one of today.
    assert codes(GPU, "driver: {imagePullPolicies: a}", "v23.9.0") == [
        ("config-key-unknown", "driver.imagePullPolicies")
    ]
    assert ("config-key-misspelt", "driver.imagePullPolicies") in codes(
        GPU, "driver: {imagePullPolicies: a}"
    )


@pytest.mark.parametrize("version", ["24.10.0", "25.1.0", "25.4.0", "25.7.0"])
def test_the_switch_of_the_nic_configuration_operator_was_read(version: str) -> None:
    values = "nfd: {enabled: true}\nnicConfigurationOperator: {enabled: false}"
    assert codes(NETWORK, values, version) == []


@pytest.mark.parametrize("version", ["25.10.0", "26.4.1", None])
def test_sections_of_the_policy_are_not_read_any_more(version: str | None) -> None:
    values = "nfd: {enabled: true}\nnicConfigurationOperator: {enabled: false}\ndeployCR: true"
    moved = [path for code, path in codes(NETWORK, values, version) if code.endswith("-moved")]
    assert moved == ["nicConfigurationOperator"]
    (message,) = [
        one.message
        for one in validate_text(NETWORK, values).findings
        if one.code == "network-operator-section-moved"
    ]
    assert "nicConfigurationOperator, deployCR" in message


@pytest.mark.parametrize("version", ["23.1.0", "23.10.0", "24.1.0", "24.7.0"])
def test_sections_of_the_policy_were_read(version: str) -> None:
    values = "deployCR: true\nofedDriver: {deploy: false}\nnfd: {enabled: true}"
    assert codes(NETWORK, values, version) == []


def test_the_version_of_the_chart_counts_too() -> None:
    context = {"chart": {"name": "network-operator", "version": "v24.7.0"}}
    values = "deployCR: true\nnfd: {enabled: true}"
    assert validate_text(NETWORK, values, context=context).verdict is Verdict.ACCEPT
