"""Programs in another language: the YAML language host and the package of `components/`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

HOST = "pulumi-language-yaml"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def program(cluster_project: Callable[..., Any], sandbox: Any) -> Any:
    """`examples/languages/yaml` as it is committed, but for the folder of the components."""
    if not (sandbox.layout.bin / HOST).exists():
        pytest.skip(f"{HOST} is not made yet; run `gpufleet sandbox programs`")
    text = (ROOT / "examples" / "languages/yaml" / "Pulumi.yaml").read_text()
    assert "gpufleet: ../../../components" in text
    text = text.replace("../../../components", str(ROOT / "components"))
    return cluster_project({"Pulumi.yaml": text}, name="gpufleet-yaml", runtime="yaml")


def test_a_yaml_program_makes_a_fleet(program: Any, sandbox: Any, cluster: Any) -> None:
    config = {"kubeconfig": str(sandbox.kubeconfig)}

    result = program.run("up", config=config)

    assert "gpufleet:index:SimulatedGpuNodePool" in json.dumps(program.engine.state(program.stack))
    assert result.status == 0
    outputs = program.engine.outputs(program.stack)
    assert outputs == {
        "advertised": {"notebooks": {"nvidia.com/mig-1g.10gb": 56}},
        "usdPerHour": "54.8941",
    }
    node = client.CoreV1Api(cluster).read_node("from-yaml-notebooks-0")
    assert node.metadata.labels["gpufleet.dev/pool"] == "notebooks"
    program.run("up", "--expect-no-changes", config=config)


def test_every_error_of_the_spec_reaches_a_yaml_program(program: Any, sandbox: Any) -> None:
    file = program.folder / "Pulumi.yaml"
    document = yaml.safe_load(file.read_text())
    pool = document["resources"]["fleet"]["properties"]["spec"]["pools"][0]
    pool["nodes"] = {"min": 3, "max": 2}
    pool["intend"] = "interactive"
    file.write_text(yaml.safe_dump(document))

    result = program.run("up", config={"kubeconfig": str(sandbox.kubeconfig)}, check=False)

    assert result.status != 0
    assert "2 errors" in result.output
    assert "pools[0].nodes: min 3 is greater than max 2" in result.output
    assert "pools[0].intend" in result.output
    assert "nearest: intent" in result.output
    assert ".py" not in result.output, "wrong arguments come without a traceback"


def test_the_package_has_a_schema(project: Callable[..., Any]) -> None:
    engine = project({"Pulumi.yaml": "name: schema\nruntime: python\n"}, name="schema").engine

    result = engine.call(["package", "get-schema", str(ROOT / "components")])

    assert result.status == 0, result.output
    schema = json.loads(result.output[result.output.index("{") :])
    recorded = json.loads((ROOT / "tests/schema/schema.json").read_text(encoding="utf-8"))
    assert set(schema["resources"]) == set(recorded["resources"])
    assert "gpufleet:index:GpuFleet" in schema["resources"]
