"""Absurd numbers: huge, tiny, signed twice, of other scripts. Nothing hangs or breaks."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet_policies.commands.audit import command as audit
from gpufleet_policies.commands.check import command as check
from gpufleet_policies.readers.karpenter import seconds
from gpufleet_policies.readers.reading import amount, decimal, whole
from gpufleet_policies.rules.settings import FleetError, read_settings
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pools import QUIET, gke_pool
from tests.policies.cases.workloads import LIMITS, deployment

LONG = "9" * 5000
"""More digits than Python reads."""


@pytest.mark.parametrize("written", [LONG, "-" + LONG, "--5", "5-", "²", "٣", "1_0", "", " ", "-"])
def test_what_is_no_whole_number(written: str):
    assert whole(written) is None


@pytest.mark.parametrize("written", ["1e999999999", "1e-999999999", "-1e99999", "inf", "nan", LONG])
def test_what_is_no_number_a_field_can_mean(written: str):
    assert decimal(written) is None


@pytest.mark.parametrize("written", [LONG, LONG + "s", "9" * 400 + "h", "1h 1h", "-1h", "h"])
def test_what_is_no_duration(written: str):
    assert not seconds(written).is_known


@pytest.mark.parametrize(
    ("written", "number"),
    [("1e3", 1000), ("0.5", None), ("1k", 1000), ("2", 2), (2.0, 2), ("1Ki", 1024), ("+2", 2)],
)
def test_quantities_as_kubernetes_reads_them(written: Any, number: int | None):
    found = amount(written)
    assert found is not None
    assert (int(found.number) if found.is_whole else None) == number


@pytest.mark.parametrize("written", ["1e999999999", "-1", "nan", True])
def test_amounts_of_settings(written: Any):
    with pytest.raises(FleetError):
        read_settings({"budgets": {"prod": {"standingUsdPerMonth": written}}})


def said(thing: Thing) -> set[str]:
    case = Case("", thing, thing, "", alongside=(), settings={"profile": "strict"})
    return {finding.code for finding in case.findings(thing)}


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ("1e3", None),
        ("1e-999999999", "gpu-not-integer"),
        ("0.5", "gpu-not-integer"),
        ("500m", "gpu-not-integer"),
        ("1k", None),
    ],
)
def test_gpus_in_odd_quantities(asked: str, rule: str | None):
    found = said(deployment({LIMITS: {"nvidia.com/gpu": asked}}))
    assert ("gpu-not-integer" in found) == (rule is not None)
    assert "policy-rule-failed" not in found


@pytest.mark.parametrize("written", [".nan", ".inf", "-.inf", "-1", "-500m"])
def test_an_amount_that_no_api_server_takes_is_refused(written: str, tmp_path: Path):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    container = {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "AMOUNT"}}}
    text = json.dumps({**pod, "spec": {"containers": [container]}})
    file = tmp_path / "pod.yaml"
    file.write_text(text.replace('"AMOUNT"', written), encoding="utf-8")
    for command in (audit, check):
        assert CliRunner().invoke(command, [str(file)]).exit_code == 1


@pytest.mark.parametrize("written", [LONG, f'"{LONG}"', "1e999999999", "1e19", f'"1e{LONG}"'])
def test_an_amount_above_the_largest_quantity_is_one_short_error(written: str, tmp_path: Path):
    """k8s.io/apimachinery v0.36.3 quantity.go: at most 2^63-1; `Value` of 1e19 is 0."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "a"}}
    text = json.dumps({**quota, "spec": {"hard": {"requests.nvidia.com/gpu": "AMOUNT"}}})
    file = tmp_path / "quota.yaml"
    file.write_text(text.replace('"AMOUNT"', written), encoding="utf-8")
    for command in (audit, check):
        result = CliRunner().invoke(command, [str(file)])
        assert result.exit_code == 1
        assert "requests.nvidia.com/gpu is " in result.output
        assert "above the largest quantity: 9223372036854775807" in result.output
        assert "write at most 9223372036854775807" in result.output
        assert max(map(len, result.output.splitlines())) < 300


@pytest.mark.parametrize("count", [10**18, -1, "1e9"])
def test_a_node_with_more_gpus_than_any_has(count: Any):
    place = "nodeConfig.guestAccelerators[0]"
    sharing = {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 8}
    pool = gke_pool({f"{place}.count": count, f"{place}.gpuSharingConfig": sharing})
    case = Case("", pool, pool, "", alongside=QUIET, settings={"profile": "strict"})
    assert "policy-rule-failed" not in {finding.code for finding in case.findings(pool)}


@pytest.mark.parametrize("part", ["1e99999999", "0.5", "half", LONG])
def test_fractions_of_gpus(part: str):
    key = 'spec.template.metadata.annotations."gpu-fraction"'
    thing = deployment({key: part, LIMITS: {"nvidia.com/gpu": "1"}})
    assert "fraction-with-whole-gpu" in said(thing)
    assert "policy-rule-failed" not in said(thing)


@pytest.mark.parametrize("key", ["checkpoint-seconds", "min-gpu-memory-gib", "model-params-b"])
@pytest.mark.parametrize("written", ["1e999999999", LONG, "1e-999999999", "٣"])
def test_annotations_with_numbers_nobody_means(key: str, written: str):
    thing = deployment({f'metadata.annotations."gpufleet.dev/{key}"': written})
    assert "policy-rule-failed" not in said(thing)
