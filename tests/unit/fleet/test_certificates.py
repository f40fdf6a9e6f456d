"""Charts that request certificates of cert-manager, in the words of their own values files."""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data


def found(addon: str, values: dict[str, Any]) -> list[str]:
    data = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": [{"name": "p", "gpu": "L4", "nodes": {"min": 0, "max": 1}}],
        "addons": {addon: {"values": values}},
    }
    said = compile_data(data).findings
    return [one.path for one in said if one.code == "cert-manager-by-no-one"]


WEBHOOK = {"operator": {"admissionController": {"enabled": True}}}
BY_SECRET = {"webhook": {"enabled": True, "tls": {"mode": "secret", "secret": {"name": "s"}}}}


@pytest.mark.parametrize(
    ("addon", "values", "key"),
    [
        ("kueue", {"enableCertManager": True}, "enableCertManager"),
        ("keda", {"certificates": {"certManager": {"enabled": True}}},
         "certificates.certManager.enabled"),
        ("draDriver", {"webhook": {"enabled": True}}, "webhook.enabled"),
        ("networkOperator", WEBHOOK, "operator.admissionController.enabled"),
    ],
)  # fmt: skip
def test_a_setting_that_needs_it(addon: str, values: dict[str, Any], key: str) -> None:
    assert found(addon, values) == [f"addons.{addon}.values.{key}"]


@pytest.mark.parametrize(
    ("addon", "values"),
    [
        ("kueue", {"enableCertManager": False}),
        ("draDriver", BY_SECRET),
        ("networkOperator",
         {"operator": {"admissionController": {"enabled": True, "useCertManager": False}}}),
    ],
)  # fmt: skip
def test_a_setting_that_does_not(addon: str, values: dict[str, Any]) -> None:
    assert found(addon, values) == []
