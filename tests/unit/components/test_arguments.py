"""The TypedDicts of the components restate the models of the spec, word for word."""

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pulumi
import pytest

from gpufleet import arguments
from gpufleet.components_base.inputs import InvalidArgumentsError, declared
from gpufleet.findings import Finding
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.spelling import spelled_as_files

WRITER = Path(__file__).with_name("write_arguments.py")


def writer() -> Any:
    spec = importlib.util.spec_from_file_location("write_arguments", WRITER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_what_the_models_say() -> None:
    folder = Path(arguments.__file__).parent
    for file, text in writer().files().items():
        assert (folder / file).read_text() == text, f"{file} is old: run {WRITER.name}"


def test_arguments_become_the_spelling_of_the_file() -> None:
    given = {
        "name": "p",
        "instance_types": ["p4de.24xlarge"],
        "nodes": {"min": 1.0, "max": 2.0},
        "labels": {"Some_Key": "v"},
        "sharing": {"mig": {"layouts": [{"gpus": 4.0, "devices": {"1g.10gb": 7.0}}]}},
        "team": None,
    }
    assert declared("x", arguments.GpuPoolArgs, given) == {
        "name": "p",
        "instanceTypes": ["p4de.24xlarge"],
        "nodes": {"min": 1, "max": 2},
        "labels": {"Some_Key": "v"},
        "sharing": {"mig": {"layouts": [{"gpus": 4, "devices": {"1g.10gb": 7}}]}},
    }


def test_every_key_that_is_wrong_or_missing_is_named_at_once() -> None:
    given: Any = {"nodes": [1, 2], "intsance_types": [], "taints": [{"kye": "a"}]}
    with pytest.raises(InvalidArgumentsError) as caught:
        declared('Thing "x"', arguments.GpuPoolArgs, given)
    text = str(caught.value)
    assert text.startswith('Thing "x": 5 errors\n')
    assert "intsanceTypes: `intsance_types` is not an argument here" in text
    assert "nearest: instance_types" in text
    assert "name: this argument is needed and missing" in text
    assert "nodes: a mapping with the keys of NodesArgs is wanted, found list" in text
    assert "taints[0].kye: `kye` is not an argument here" in text
    assert "taints[0].key: this argument is needed and missing" in text


def test_arguments_may_have_the_spelling_of_files() -> None:
    given = {"name": "p", "instanceTypes": ["g6.xlarge"], "nodes": {"min": 0, "max": 1}}
    assert declared("x", arguments.GpuPoolArgs, given) == given


def test_one_argument_in_two_spellings_is_refused() -> None:
    given: Any = {"name": "p", "nodes": {}, "instanceTypes": [], "instance_types": []}
    with pytest.raises(InvalidArgumentsError, match="`instanceTypes` and `instance_types` are one"):
        declared("x", arguments.GpuPoolArgs, given)


def test_a_spec_may_have_the_spelling_of_python() -> None:
    given = {
        "pools": [
            {
                "instance_types": ["g6.xlarge"],
                "labels": {"some_key": "v"},
                "sharing": {"time_slicing": {"fail_requests_greater_than_one": False}},
                "eks": {"launch_template": {"instance_market_options": {}}},
            }
        ],
        "addons": {"gpu_operator": {"values": {"node_selector": {}}}, "no_such_key": 1},
    }
    assert spelled_as_files(FleetSpec, given) == {
        "pools": [
            {
                "instanceTypes": ["g6.xlarge"],
                "labels": {"some_key": "v"},
                "sharing": {"timeSlicing": {"failRequestsGreaterThanOne": False}},
                "eks": {"launchTemplate": {"instance_market_options": {}}},
            }
        ],
        "addons": {"gpuOperator": {"values": {"node_selector": {}}}, "no_such_key": 1},
    }


@pytest.mark.parametrize("keys", [("kubernetesVersion", "kubernetes_version"), ("a", "b")])
def test_what_is_given_twice_or_not_known_stays_for_validation(keys: tuple[str, str]) -> None:
    given = {"cluster": dict.fromkeys(keys, "1.36"), "pools": "no list", 1: 2}
    assert spelled_as_files(FleetSpec, given) == given


def test_a_list_and_a_mapping_are_not_taken_for_one_another() -> None:
    from gpufleet.gpu_fleet import GpuFleetArgs

    given: Any = {"spec": "fleet.yaml", "connection": {"subnet_ids_by_zone": ["subnet-1"]}}
    with pytest.raises(InvalidArgumentsError) as caught:
        declared('GpuFleet "x"', GpuFleetArgs, given)
    text = str(caught.value)
    assert "spec: a mapping is wanted, found str" in text
    assert "connection.subnetIdsByZone: a mapping is wanted, found list" in text
    zones: Any = {"name": "p", "nodes": {"min": 0, "max": 1}, "zones": "us-east-1a"}
    with pytest.raises(InvalidArgumentsError, match="zones: a list is wanted, found str"):
        declared('Thing "x"', arguments.GpuPoolArgs, zones)


@pytest.mark.parametrize(
    ("given", "path", "fix"),
    [
        ({"subnet_ids_by_zone": {}}, "connection.subnetIdsByZone", "; its values may be Outputs"),
        ({"network_tags": []}, "connection.networkTags", "; its values may be Outputs"),
        ({"gpu_networks": {}}, "connection.gpuNetworks", ""),
    ],
)
def test_a_list_or_mapping_that_must_be_known_is_no_output(
    given: dict[str, Any], path: str, fix: str
) -> None:
    from gpufleet.gpu_fleet import GpuFleetArgs

    async def refused(*, whole: bool) -> Finding:
        of_each = {key: pulumi.Output.from_input(value) for key, value in given.items()}
        connection = pulumi.Output.from_input(given) if whole else of_each
        with pytest.raises(InvalidArgumentsError) as caught:
            declared("x", GpuFleetArgs, {"spec": {}, "connection": connection})
        (found,) = caught.value.findings
        return found

    found = asyncio.run(refused(whole=False))
    assert (found.path, found.message.split(",")[1]) == (path, " found Output")
    assert (found.fix or "").endswith(f" that is known before deployment{fix}")
    found = asyncio.run(refused(whole=True))
    assert found.path == "connection"
    assert found.message.startswith("a mapping")
    assert found.message.endswith("found Output")


def test_none_is_a_missing_argument() -> None:
    from gpufleet.gpu_fleet import GpuFleetArgs

    with pytest.raises(InvalidArgumentsError, match="spec: this argument is needed and missing"):
        declared("x", GpuFleetArgs, {"spec": None})
