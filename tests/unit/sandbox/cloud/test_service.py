"""The provider protocol: previews, names, differences, failures, state that several runs share."""

from pathlib import Path

import pytest
from google.rpc import status_pb2
from pulumi.runtime.proto import provider_pb2

from gpufleet_sandbox.cloud.scenario import Disturbance, LookupAnswer, ScenarioError
from gpufleet_sandbox.cloud.service import StandInProvider
from gpufleet_sandbox.cloud.values import UNKNOWN, Secret, from_struct, to_struct
from tests.clouds import Clouds
from tests.unit.sandbox.cloud.provider_calls import Caller, Context, RefusedError

BUCKET = "aws:s3/bucket:Bucket"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
ADDRESS = "gcp:compute/address:Address"


def test_values_survive_the_wire() -> None:
    value = {"a": 1, "b": 1.5, "c": [True, {"d": Secret("x")}], "e": UNKNOWN, "f": "1"}
    assert from_struct(to_struct({**value, "gone": None})) == value


def test_a_preview_knows_inputs_and_nothing_else(aws: Caller) -> None:
    identifier, outputs, _ = aws.create(BUCKET, {"bucket": "b"}, preview=True)
    assert identifier == ""
    assert outputs["bucket"] == "b"
    assert outputs["arn"] is UNKNOWN


def test_names_come_from_the_seed_and_stay(gcp: Caller) -> None:
    filled, _ = gcp.check(POLICY, {"region": "us-central1"}, name="My policy")
    assert filled["name"].startswith("my-policy-")
    assert filled["__defaults"] == ["name"]
    again, _ = gcp.check(POLICY, {"region": "us-central1"}, filled, name="My policy")
    assert again["name"] == filled["name"]
    chosen, _ = gcp.check(POLICY, {"region": "us-central1", "name": "mine"}, filled)
    assert chosen["name"] == "mine"
    assert "__defaults" not in chosen


def test_a_replacement_frees_a_chosen_name_first(gcp: Caller) -> None:
    before, _ = gcp.check(POLICY, {"region": "us-central1", "name": "mine"})
    other = gcp.diff(POLICY, "mine", before, {"region": "us-east1", "name": "mine"})
    assert list(other.replaces) == ["region"]
    assert other.deleteBeforeReplace
    before, _ = gcp.check(POLICY, {"region": "us-central1"})
    assert not gcp.diff(POLICY, "x", before, {"region": "us-east1"}).deleteBeforeReplace


def test_no_difference_is_said_and_drift_is_seen(gcp: Caller) -> None:
    before = {"name": "ip", "region": "us-central1", "description": "a"}
    none = provider_pb2.DiffResponse.DIFF_NONE
    assert gcp.diff(ADDRESS, "ip", before, before).changes == none
    same = gcp.diff(ADDRESS, "ip", before, before, {**before, "address": "10.0.0.1"})
    assert same.changes == none
    drifted = gcp.diff(ADDRESS, "ip", before, before, {**before, "description": "b"})
    assert list(drifted.diffs) == ["description"]


def test_create_read_update_delete(gcp: Caller, clouds: Clouds) -> None:
    identifier, _, inputs = gcp.create(ADDRESS, {"name": "ip-1", "region": "us-central1"})
    assert gcp.read(ADDRESS, identifier)[1]["project"] == "stand-in"
    with pytest.raises(RefusedError, match="already exists"):
        gcp.create(ADDRESS, {"name": "ip-1", "region": "us-central1"})
    gcp.update(ADDRESS, identifier, inputs, {**inputs, "description": "new"})
    # Another process, another provider, one cloud.
    other = Caller(StandInProvider(Clouds(clouds.folder.root).gcp), project="stand-in")
    assert other.read(ADDRESS, identifier)[1]["description"] == "new"
    gcp.delete(ADDRESS, identifier)
    gcp.delete(ADDRESS, identifier)
    assert gcp.read(ADDRESS, identifier)[0] == ""
    with pytest.raises(RefusedError, match="does not exist"):
        gcp.update(ADDRESS, identifier, inputs, inputs)


def test_secrets_come_back_marked_and_stay_out_of_the_log(aws: Caller, clouds: Clouds) -> None:
    inputs = {"identifier": "db", "instanceClass": "db.t3.micro", "password": Secret("hush")}
    identifier, outputs, _ = aws.create("aws:rds/instance:Instance", inputs)
    assert outputs["password"] == Secret("hush")
    assert aws.read("aws:rds/instance:Instance", identifier)[1]["password"] == Secret("hush")
    assert "hush" not in (clouds.folder.root / "calls.jsonl").read_text()
    assert "hush" not in repr(clouds.one("aws:rds/instance:Instance"))


def test_rules_strike_the_call_they_name(gcp: Caller, clouds: Clouds) -> None:
    inputs = {"region": "us-central1"}
    clouds.disturb(
        Disturbance(operation="create", type=ADDRESS, nth=2, then="fail", message="quota")
    )
    gcp.create(ADDRESS, {**inputs, "name": "a"})
    with pytest.raises(RefusedError, match=r"^quota$"):
        gcp.create(ADDRESS, {**inputs, "name": "b"})
    gcp.create(ADDRESS, {**inputs, "name": "b"})
    clouds.disturb(Disturbance(operation="delete", name="x*", then="fail"))
    gcp.delete(ADDRESS, "a")
    with pytest.raises(RefusedError, match="the scenario says so"):
        gcp.delete(ADDRESS, "b", name="xyz")
    clouds.calm()
    gcp.delete(ADDRESS, "b")
    outcomes = [(call.operation, call.outcome) for call in clouds.calls()][-6:]
    assert outcomes == [
        ("create", "ok"),
        ("create", "quota"),
        ("create", "ok"),
        ("delete", "ok"),
        ("delete", "the scenario says so"),
        ("delete", "ok"),
    ]


def test_made_but_not_ready_is_reported_with_its_state(gcp: Caller, clouds: Clouds) -> None:
    clouds.disturb(Disturbance(operation="create", then="fail-after", message="stockout"))
    with pytest.raises(RefusedError, match="stockout") as refused:
        gcp.create(ADDRESS, {"name": "late", "region": "us-central1"})
    clouds.calm()
    ((key, value),) = refused.value.trailing
    assert key == "grpc-status-details-bin"
    status = status_pb2.Status.FromString(value)
    failed = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(failed)
    assert (failed.id, list(failed.reasons)) == ("late", ["stockout"])
    assert clouds.folder.find(ADDRESS, "late") is not None


def test_a_hanging_call_ends_when_the_engine_cancels(clouds: Clouds) -> None:
    caller = Caller(StandInProvider(clouds.gcp), project="stand-in")
    clouds.disturb(Disturbance(operation="create", then="hang"))
    caller.provider.Cancel(None, Context())
    with pytest.raises(RefusedError, match="cancelled"):
        caller.create(ADDRESS, {"name": "never", "region": "us-central1"})
    clouds.calm()
    assert clouds.folder.find(ADDRESS, "never") is None


def test_look_ups_answer_from_the_scenario_and_must_fit_the_sdk(
    aws: Caller, clouds: Clouds
) -> None:
    token = "aws:ssm/getParameter:getParameter"
    with pytest.raises(RefusedError, match=r"no answer to aws:ssm.*name='/ami'.*scenario.yaml"):
        aws.invoke(token, name="/ami")
    clouds.disturb(
        answers=(
            LookupAnswer(function=token, arguments={"name": "/ami"}, result={"value": "ami-1"}),
        )
    )
    assert aws.invoke(token, name="/ami") == ({"value": "ami-1"}, [])
    clouds.disturb(answers=(LookupAnswer(function=token, result={"valeu": "x"}),))
    with pytest.raises(RefusedError, match="valeu, which its result in the SDK has not"):
        aws.invoke(token, name="/ami")
    assert "nme" in aws.invoke(token, nme="/ami")[1][0]
    clouds.calm()


def test_a_scenario_that_is_none_says_where(tmp_path: Path) -> None:
    clouds = Clouds(tmp_path)
    clouds.folder.scenario_file.write_text("rules: [{operation: creat, then: fail}]")
    with pytest.raises(ScenarioError, match=r"scenario.yaml is not a scenario[\s\S]*operation"):
        clouds.folder.scenario()


def test_a_provider_without_region_or_project_is_refused(clouds: Clouds) -> None:
    with pytest.raises(RefusedError, match="missing region"):
        Caller(StandInProvider(clouds.aws))
    with pytest.raises(RefusedError, match="missing project"):
        Caller(StandInProvider(clouds.gcp))


def test_provider_settings_are_checked_too(clouds: Clouds) -> None:
    provider = StandInProvider(clouds.aws)
    news = to_struct({"region": "us-east-1", "defaultTags": '{"tgs": {}}', "regoin": "x"})
    response = provider.CheckConfig(provider_pb2.CheckRequest(news=news), Context())
    reasons = [failure.reason for failure in response.failures]
    assert any("defaultTags.tgs" in reason for reason in reasons)
    assert any("did you mean region?" in reason for reason in reasons)
