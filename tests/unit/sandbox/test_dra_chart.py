"""The DRA driver's simulator chart: values of upstream, a schema, the rules of DRA-13."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[3]
CHART = ROOT / "components/gpufleet/sandbox/charts/dra-driver-nvidia-gpu"
UPSTREAM = ROOT.parent / "shared/reference/charts/dra-driver-nvidia-gpu-0.4.1.values.yaml"
HELM = os.environ.get("GPUFLEET_TEST_HELM") or shutil.which("helm")

Values = dict[str, Any]


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def merge(base: Values, over: Values) -> Values:
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merge(result[key], value) if both else value
    return result


def problems(values: Values) -> list[str]:
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    merged = merge(load(CHART / "values.yaml"), values)
    return [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(merged)]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    else:
        yield path, value


def test_name_and_version_are_the_catalogues() -> None:
    from gpufleet.catalogue import load as catalogue

    chart, pin = load(CHART / "Chart.yaml"), catalogue().chart("dra-driver-nvidia-gpu")
    assert (chart["name"], chart["version"]) == (pin.name, pin.version)


def test_values_are_upstreams() -> None:
    if not UPSTREAM.exists():
        pytest.skip(f"upstream's values are not beside the checkout ({UPSTREAM})")
    ours, theirs = dict(leaves(load(CHART / "values.yaml"))), dict(leaves(load(UPSTREAM)))
    assert ours == theirs


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
        ({"consumableShares": "memory"}, "consumableShares"),
    ],
)
def test_others_are_refused(values: Values, key: str) -> None:
    assert any(key in problem for problem in problems(values)), problems(values)


def render(tmp_path: Path, values: Values, *more: str) -> subprocess.CompletedProcess[str]:
    if HELM is None:
        pytest.skip("no helm on PATH (GPUFLEET_TEST_HELM names one); engine tests render too")
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    command = [HELM, "template", "r", str(CHART), "-f", str(file), *(more or ("-n", "dra"))]
    served = ["--api-versions", "resource.k8s.io/v1/DeviceClass"]
    return subprocess.run([*command, *served], capture_output=True, text=True, check=False)


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
    made = [item for item in yaml.safe_load_all(done.stdout) if item]
    classes = {m["metadata"]["name"]: m["spec"] for m in made if m["kind"] == "DeviceClass"}
    assert set(classes) == {"gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"}
    assert classes["gpu.nvidia.com"]["extendedResourceName"] == "nvidia.com/gpu"
    assert "extendedResourceName" not in classes["mig.nvidia.com"]
    (told,) = [m for m in made if m["kind"] == "ConfigMap"]
    values = json.loads(told["data"]["values.json"])
    assert values["gpuResourcesEnabledOverride"] is True
