"""The DRA driver's simulator chart: values of upstream, a schema, the rules of DRA-13."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.reading import yaml_documents
from tests.unit.sandbox.simulator_chart import (
    CHARTS,
    Values,
    laid_over,
    leaves,
    load,
    template,
    upstream,
    violations,
)

NAME = "dra-driver-nvidia-gpu"
CHART = CHARTS / NAME


def problems(values: Values) -> list[str]:
    return violations(NAME, laid_over(load(CHART / "values.yaml"), values))


def test_name_and_version_are_the_catalogues() -> None:
    from gpufleet.catalogue import load as catalogue

    chart, pin = load(CHART / "Chart.yaml"), catalogue().chart("dra-driver-nvidia-gpu")
    assert (chart["name"], chart["version"]) == (pin.name, pin.version)


def test_values_are_upstreams() -> None:
    ours = dict(leaves(load(CHART / "values.yaml")))
    assert ours == dict(leaves(upstream(NAME, "0.5.0")))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"featureGates": {"DynamicMIG": True, "Unknown": False}},
        {"logVerbosity": 6},
        {"kubeletPlugin": {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}},
        {"kubeletPlugin": {"containers": {"gpus": {"env": [{"name": "A", "value": "b"}]}}}},
    ],
)
def test_documented_values_are_accepted(values: Values) -> None:
    assert problems(values) == []


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"featuregates": {}}, "featuregates"),
        ({"featureGates": {"DynamicMIG": "true"}}, "'true' is not of type 'boolean'"),
        ({"resources": {"gpu": {"enabled": True}}}, "gpu"),
        ({"kubeletPlugin": {"nodeselector": {}}}, "nodeselector"),
        ({"consumableShare": "memory"}, "consumableShare"),
    ],
)
def test_others_are_refused(values: Values, key: str) -> None:
    assert any(key in problem for problem in problems(values)), problems(values)


def render(tmp_path: Path, values: Values, *more: str) -> subprocess.CompletedProcess[str]:
    served = ("--api-versions", "resource.k8s.io/v1/DeviceClass")
    return template(NAME, tmp_path, values, *(more or ("-n", "dra")), *served)


GOOD: Values = {"gpuResourcesEnabledOverride": True}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "needs gpuResourcesEnabledOverride=true"),
        ({**GOOD, "nvidiaCtkPath": "/usr/bin"}, "no longer supported"),
        ({**GOOD, "webhook": {"enabled": True, "tls": {"mode": "none"}}}, "webhook.tls.mode"),
        (
            {
                **GOOD,
                "webhook": {"enabled": True, "tls": {"certManager": {"issuerType": "issuer"}}},
            },
            "issuerName is needed",
        ),
        ({**GOOD, "webhook": {"enabled": True, "tls": {"mode": "secret"}}}, "secret.name"),
    ],
)
def test_what_upstream_refuses_is_refused(tmp_path: Path, values: Values, message: str) -> None:
    done = render(tmp_path, values)
    assert done.returncode != 0
    assert message in done.stderr


def test_the_default_namespace_is_refused(tmp_path: Path) -> None:
    assert "allowDefaultNamespace" in render(tmp_path, GOOD, "-n", "default").stderr


def test_classes_and_values(tmp_path: Path) -> None:
    done = render(tmp_path, {**GOOD, "resources": {"computeDomains": {"enabled": False}}})
    assert done.returncode == 0, done.stderr
    made = [item for item in yaml_documents(done.stdout) if item]
    classes = {m["metadata"]["name"]: m["spec"] for m in made if m["kind"] == "DeviceClass"}
    assert set(classes) == {"gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"}
    assert classes["gpu.nvidia.com"]["extendedResourceName"] == "nvidia.com/gpu"
    assert "extendedResourceName" not in classes["mig.nvidia.com"]
    (told,) = [m for m in made if m["kind"] == "ConfigMap"]
    values = json.loads(told["data"]["values.json"])
    assert values["gpuResourcesEnabledOverride"] is True
