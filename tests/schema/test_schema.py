"""The public surface of the component package: a difference from `schema.json` is a release matter.

After a deliberate change:  GPUFLEET_WRITE_SCHEMA=1 pytest tests/schema
"""

import json
import os
import runpy
from pathlib import Path
from typing import Any

import pytest

from gpufleet.hosting import ComponentHost

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("schema.json")


@pytest.fixture(scope="module")
def host() -> dict[str, Any]:
    """Definitions of `components/__main__.py`."""
    return runpy.run_path(str(ROOT / "components"))


BESIDE_THE_RULES = {"gpufleet:index:GpuAdmissionPolicies"}
"""Components of the package `gpufleet_policies`, which is in the same wheel."""


@pytest.fixture(scope="module")
def schema(host: dict[str, Any]) -> dict[str, Any]:
    provider = ComponentHost(host["COMPONENTS"], host["NAME"], host["VERSION"])
    return json.loads(provider.schema or "")


def test_the_schema_is_the_recorded_one(schema: dict[str, Any]) -> None:
    text = json.dumps(schema, indent=1, sort_keys=True) + "\n"
    if os.environ.get("GPUFLEET_WRITE_SCHEMA"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "the package's surface changed; see the top of this file"


def test_go_has_a_type_for_every_mapping(schema: dict[str, Any]) -> None:
    """Pulumi's Go SDK has mappings of mappings of mappings of texts and no deeper ones (v3.272.0
    go/pulumi/types_builtins.go, StringMapMapMapOutput)."""

    def depth(found: dict[str, Any]) -> int:
        inner = found.get("additionalProperties")
        return 1 + depth(inner) if isinstance(inner, dict) else 0

    parts = [*schema["resources"].items(), *schema["types"].items()]
    assert not [
        f"{name}.{key}"
        for name, part in parts
        for kind in ("properties", "inputProperties")
        for key, one in part.get(kind, {}).items()
        if depth(one) > 3
    ]


def test_the_package_says_all_that_a_registry_shows(host: dict[str, Any]) -> None:
    """Categories and kinds: pulumi/pulumi 3.259.0, pkg/codegen/schema/schema.go, `Keywords`."""
    addresses = {key: f"https://example.com/{key}" for key in host["ADDRESSES"]}
    package = ComponentHost(host["COMPONENTS"], host["NAME"], host["VERSION"], addresses)
    schema = json.loads(package.schema or "")
    shown = ("displayName", "description", "publisher", "license", "version")
    assert {key for key in (*shown, *addresses) if not schema.get(key)} == set()
    assert set(addresses) == {"homepage", "repository", "logoUrl", "pluginDownloadURL"}
    assert "category/infrastructure" in schema["keywords"]
    assert "kind/component" in schema["keywords"]
    assert set(schema["language"]) == {"nodejs", "python", "go", "csharp", "java"}


def test_every_component_is_hosted(schema: dict[str, Any]) -> None:
    import gpufleet

    components = {
        f"gpufleet:index:{name}" for name in gpufleet.__all__ if not name.endswith("Args")
    }
    assert set(schema["resources"]) == components | BESIDE_THE_RULES


def test_every_input_and_output_is_described(schema: dict[str, Any]) -> None:
    for kind in ("types", "resources"):
        for token, definition in schema[kind].items():
            assert definition.get("description"), token
            for group in ("properties", "inputProperties"):
                for key, prop in definition.get(group, {}).items():
                    assert prop.get("description"), f"{token}.{key}"


def test_few_inputs_are_required(schema: dict[str, Any]) -> None:
    required = {
        token.rsplit(":", 1)[1]: sorted(definition.get("requiredInputs", []))
        for token, definition in schema["resources"].items()
    }
    assert required == {
        "ClusterAutoscaler": ["catalogue", "clusterName", "region"],
        "DevicePlugin": ["catalogue", "config"],
        "DraDriver": ["catalogue", "platform", "pools"],
        "EfaDevicePlugin": ["catalogue", "instanceTypes"],
        "EksCluster": ["clusterName", "region", "zones"],
        # What another stack makes has no default: cluster, role, subnets.
        "EksGpuNodeGroup": [
            "catalogue",
            "clusterName",
            "nodeRoleArn",
            "pool",
            "region",
            "subnetIdsByZone",
        ],
        "GkeCluster": ["clusterName", "project", "region"],
        "GkeGpuNodePool": ["catalogue", "clusterName", "pool", "region"],
        "GpuAcceptance": ["catalogue", "platform", "pools"],
        "GpuAddons": ["catalogue", "platform", "pools"],
        "GpuAdmissionPolicies": [],
        "GpuFleet": ["spec"],
        "GpuMonitoring": ["catalogue", "monitoring", "platform", "pools"],
        "GpuOperator": ["catalogue"],
        "GpuScaledObject": ["scaling"],
        "Karpenter": ["catalogue", "clusterName", "nodeRoleArn", "region"],
        "KarpenterGpuNodePool": [
            "catalogue",
            "clusterName",
            "nodeRoleArn",
            "pool",
            "region",
            "subnetIdsByZone",
        ],
        "Keda": ["catalogue"],
        "KueueQueues": ["catalogue", "platform", "pools", "queues"],
        "NetworkOperator": ["catalogue"],
        "NeuronDevicePlugin": ["catalogue"],
        "NimOperator": ["catalogue"],
        "NimService": ["nim"],
        "OlmOperator": ["catalogue", "operator"],
        "OpenShiftClusterAutoscaler": ["catalogue", "pools"],
        "OpenShiftGpuMachineSet": ["catalogue", "pool"],
        "NodeMonitoringAgent": ["clusterName"],
        "SimulatedGpuNodePool": ["catalogue", "pool"],
        "VsphereGpuNodeGroup": ["catalogue", "connection", "pool"],
    }


def test_descriptions_are_the_same_under_every_python(schema: dict[str, Any]) -> None:
    """Python 3.13 strips the indentation of docstrings, older ones do not."""
    texts = [definition["description"] for definition in schema["resources"].values()]
    assert [text for text in texts if "\n    " in text] == []
