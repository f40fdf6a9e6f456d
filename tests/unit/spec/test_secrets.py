"""Credentials are found by shape and by name, named by place, and never repeated."""

import pytest
from click.testing import CliRunner

from gpufleet.cli.compile import command
from gpufleet.spec.secrets import validate_secrets

NAMED = "specs are committed and stored in state, so they never hold secrets"


@pytest.mark.parametrize(
    ("data", "path", "why"),
    [
        ({"a": {"password": "x"}}, "values.a.password", "the key `password` names a credential"),
        ({"apiKey": "x"}, "values.apiKey", "the key `apiKey` names a credential"),
        ({"SECRET_ACCESS_KEY": "x"}, "values.SECRET_ACCESS_KEY", "the key `SECRET_ACCESS_KEY`"),
        (
            {"env": [{"name": "NGC_TOKEN", "value": "x"}]},
            "values.env[0].value",
            "the variable `NGC_TOKEN` is named like a credential",
        ),
        ({"args": ["-k", "AKIA" + "A" * 16]}, "values.args[1]", "looks like an AWS access key id"),
        ({"a": "nvapi-" + "b" * 24}, "values.a", "looks like an NGC API key"),
        (
            {"driver": {"env": [{"name": "HTTPS_PROXY", "value": "http://bob:bbbb@proxy:3128"}]}},
            "values.driver.env[0].value",
            "looks like an address with a password",
        ),
        (
            {"args": ["--verbose", "--token=bbbb-AAAA"]},
            "values.args[1]",
            "looks like an option with a credential",
        ),
    ],
)
def test_a_credential_is_named_by_its_place(data: object, path: str, why: str) -> None:
    (found,) = validate_secrets(data, "values")
    assert (found.code, found.path) == ("spec-holds-secret", path)
    assert why in found.message
    assert NAMED in found.message
    assert found.fix == "put it into a Kubernetes Secret and name that Secret here"
    assert "AAAA" not in str(found)
    assert "bbbb" not in str(found)


@pytest.mark.parametrize(
    "data",
    [
        {"password": ""},
        {"passwordSecret": "registry"},
        {"tokenExpirationSeconds": 3600},
        {"token": 4},
        {"env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]},
        {"args": ["--token=$(TOKEN)", "--token-file=/run/token", "--max-tokens=5"]},
        {"env": [{"name": "NGC_TOKEN", "valueFrom": {"secretKeyRef": {"name": "ngc"}}}]},
    ],
)
def test_names_of_secrets_and_numbers_are_none(data: object) -> None:
    assert list(validate_secrets(data)) == []


def test_a_token_in_the_wrong_field_is_refused_and_not_repeated() -> None:
    token = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
    pool = f"{{name: a, gpu: {token}, size: {{min: 0, max: 1}}}}"
    text = f"platform: eks\npools: [{pool}]\n"
    done = CliRunner().invoke(command, ["-"], input=text)
    assert done.exit_code
    assert "spec-holds-secret" in done.output
    assert token not in done.output
    assert token not in str(done.exception)
