"""Every broken declaration gives clear findings at the right place, an exit code, no traceback."""

import json

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.cli import _program
from tests.unit.cli.broken_pools import POOLS
from tests.unit.cli.broken_specs import GOOD, SPECS, changed


def run(*arguments: str, text: str | bytes | None = None):
    return CliRunner().invoke(_program, list(arguments), input=text, catch_exceptions=False)


def findings_of(text: str | bytes) -> tuple[int, list[dict]]:
    result = run("compile", "-", "--format", "json", text=text)
    return result.exit_code, json.loads(result.stdout)["findings"]


def test_the_base_of_all_cases_is_fine():
    code, findings = findings_of(yaml.safe_dump(GOOD))
    assert code == 0, findings


CASES = (*SPECS, *POOLS)


@pytest.mark.parametrize(
    ("changes", "code", "path"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_broken_spec(changes, code, path):
    text = yaml.safe_dump(changed(changes), sort_keys=False, allow_unicode=True)
    exit_code, findings = findings_of(text)
    assert exit_code == 1, findings
    errors = [f for f in findings if f["severity"] == "error"]
    fitting = [f for f in errors if f["code"].startswith(code) and path in f["path"]]
    assert fitting, errors
    assert len(errors) <= 4, "one mistake makes a handful of findings at most"
    for finding in errors:
        assert finding["message"].strip()
        assert "pydantic" not in finding["message"]
        assert "Traceback" not in finding["message"]


def test_at_least_fifty_broken_specs():
    assert len(CASES) >= 50


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAABCDEFGHIJKLMNOP",
        "nvapi-" + "x" * 30,
        "hf_" + "a" * 30,
        "-----BEGIN RSA PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x",
    ],
)
def test_a_secret_is_refused_and_never_repeated(secret):
    text = yaml.safe_dump(changed({"tags": {"owner": secret}}))
    result = run("compile", "-", text=text)
    assert result.exit_code == 1
    assert "spec-holds-secret" in result.output
    assert "tags.owner" in result.output
    assert secret not in result.output


def test_a_key_that_names_a_credential_is_refused_and_its_value_never_repeated():
    values = {"driver": {"licensing": {"apiKey": "tiny-secret"}}}
    text = yaml.safe_dump(changed({"addons": {"gpuOperator": {"values": values}}}))
    result = run("compile", "-", text=text)
    assert result.exit_code == 1
    assert "addons.gpuOperator.values.driver.licensing.apiKey" in result.output
    assert "tiny-secret" not in result.output


def test_problems_of_different_pools_come_together():
    data = changed(
        {
            "pools[0].intent": "train",
            "pools[1].sharing.mig.layouts": [{"devices": {"3g.40gb": 2, "1g.10gb": 1}}],
        }
    )
    _, findings = findings_of(yaml.safe_dump(data))
    places = {f["path"].split(".")[0] for f in findings if f["severity"] == "error"}
    assert places == {"pools[0]", "pools[1]"}
