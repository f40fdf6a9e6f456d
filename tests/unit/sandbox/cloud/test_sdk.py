"""The installed SDKs as the simulator reads them, and inputs validated by them."""

import pytest

from gpufleet_sandbox.cloud.checking import problems
from gpufleet_sandbox.cloud.cloud import sdk
from gpufleet_sandbox.cloud.naming import NAMED
from gpufleet_sandbox.cloud.replacement import REPLACING, replaces
from gpufleet_sandbox.cloud.schema import package_schema
from gpufleet_sandbox.cloud.sdk import UnknownTypeError
from gpufleet_sandbox.cloud.shapes import ListOf, MapOf, ObjectShape, Scalar
from gpufleet_sandbox.cloud.values import UNKNOWN, Secret

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
GROUP = {
    "clusterName": "ml",
    "nodeRoleArn": "arn:aws:iam::123456789012:role/nodes",
    "scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 0},
    "subnetIds": ["subnet-1"],
}


def wrong(**changed: object) -> list[str]:
    record = sdk("aws").resource(NODE_GROUP).record
    return [str(one) for one in problems(record, {**GROUP, **changed})]


def test_a_resource_is_read_with_names_types_and_what_is_required() -> None:
    found = sdk("aws").resource(NODE_GROUP)
    inputs = found.record.properties
    required = {name for name, one in inputs.items() if one.required}
    assert required == {"clusterName", "nodeRoleArn", "scalingConfig", "subnetIds"}
    assert inputs["subnetIds"].shape == ListOf(Scalar("string"))
    assert inputs["labels"].shape == MapOf(Scalar("string"))
    assert inputs["diskSize"].shape == Scalar("integer")
    assert {"arn", "resources", "status", "tagsAll"} <= found.outputs - set(inputs)
    pool = sdk("gcp").resource("gcp:container/nodePool:NodePool").record
    config = pool.properties["nodeConfig"].shape
    assert isinstance(config, ObjectShape)
    assert isinstance(config.properties["guestAccelerators"].shape, ListOf)


def test_what_the_sdk_marks_secret_is_known() -> None:
    assert "password" in sdk("aws").resource("aws:rds/instance:Instance").secrets
    assert sdk("aws").resource(NODE_GROUP).secrets == frozenset()


@pytest.mark.parametrize(
    "token",
    ["aws:eks/nodeGroup:NodeGroups", "aws:nowhere/thing:Thing", "gcp:eks/nodeGroup:NodeGroup"],
)
def test_a_type_the_sdk_lacks_is_refused_by_name(token: str) -> None:
    with pytest.raises(UnknownTypeError, match=token.split(":")[1].split("/")[0]):
        sdk("aws").resource(token)


def test_right_inputs_pass_unknown_ones_too() -> None:
    assert wrong() == []
    assert wrong(nodeRoleArn=UNKNOWN, labels={"a": UNKNOWN}, subnetIds=UNKNOWN) == []
    assert wrong(diskSize="20", forceUpdateVersion="true") == []


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"ami": "x"}, "ami: NodeGroupArgs has no property ami; did you mean amiType?"),
        (
            {"scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSise": 0}},
            (
                "scalingConfig.desiredSise: NodeGroupScalingConfigArgs has no property "
                "desiredSise; did you mean desiredSize?"
            ),
        ),
        ({"clusterName": None}, "clusterName: required and not given"),
        ({"taints": [{"key": "a"}]}, "taints[0].effect: required and not given"),
        ({"diskSize": 20.5}, "diskSize: must be a whole number, and is 20.5"),
        ({"diskSize": True}, "diskSize: must be a whole number, and is the boolean true"),
        ({"labels": ["a"]}, "labels: must be an object, and is a list"),
        ({"labels": {"a/b": {}}}, 'labels["a/b"]: must be a string, and is an object'),
        ({"subnetIds": "subnet-1"}, "subnetIds: must be a list, and is 'subnet-1'"),
    ],
)
def test_a_wrong_input_is_named_with_its_value(changed: dict[str, object], text: str) -> None:
    assert text in wrong(**changed)


def test_a_wrong_secret_is_named_without_its_value() -> None:
    (text,) = wrong(diskSize=Secret("hush"))
    assert text == "diskSize: the secret given is not a whole number"


def test_functions_have_arguments_and_results() -> None:
    found = sdk("aws").function("aws:ec2/getSubnet:getSubnet")
    assert "availabilityZone" in found.record.properties
    assert "availableIpAddressCount" in found.results
    assert problems(found.record, {"id": 3.5, "nme": "x"})[0].path == "nme"


@pytest.mark.parametrize("token", sorted(REPLACING))
def test_every_replacing_path_is_an_input_of_the_sdk(token: str) -> None:
    record = sdk(token.partition(":")[0]).resource(token).record
    for entry in REPLACING[token]:
        shape: object = record
        for step in entry.removeprefix("=").split("."):
            while isinstance(shape, ListOf):
                shape = shape.item
            assert isinstance(shape, ObjectShape), entry
            assert step in shape.properties, entry
            shape = shape.properties[step].shape


@pytest.mark.parametrize("token", sorted(NAMED))
def test_every_name_is_an_input_of_the_sdk(token: str) -> None:
    inputs = sdk(token.partition(":")[0]).resource(token).record.properties
    key, prefix, _ = NAMED[token]
    assert key in inputs
    assert prefix is None or prefix in inputs


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("nodeConfig.guestAccelerators[0].count", True),
        ("nodeConfig", True),
        ("nodeConfig.labels.team", False),
        ('nodeConfig.labels["a/b"]', False),
        ("nodeConfig.machineType", False),
        ("nodeConfig.spot", True),
        ("autoscaling.totalMaxNodeCount", False),
        ("initialNodeCount", True),
    ],
)
def test_a_change_replaces_as_the_provider_says(path: str, answer: bool) -> None:
    assert replaces("gcp:container/nodePool:NodePool", path) is answer


def test_the_schema_for_yaml_programs_refers_to_types_it_has() -> None:
    schema = package_schema(sdk("gcp"))
    text = repr(schema)
    assert schema["resources"]["gcp:container/nodePool:NodePool"]["requiredInputs"] == ["cluster"]
    for token in {part.split("'")[0] for part in text.split("#/types/")[1:]}:
        assert token in schema["types"]
