"""`gpufleet preflight` against moto; missing responses are hand-written, in botocore's shapes."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from click.testing import CliRunner

from gpufleet.cli.preflight import command
from gpufleet.platforms.accounts import aws_reservations
from tests.unit.preflight.aws_account import BLOCK, REGION, RESERVATION, Account

BLOCK_POOL = {"instanceTypes": ["p5.48xlarge"], "capacity": [{"capacityBlock": BLOCK}]}


def test_where_all_is_well_nothing_is_found_and_every_question_is_named(account: Account) -> None:
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]}, BLOCK_POOL)
    assert (code, answer["findings"]) == (0, [])
    asked = "\n".join(answer["asked"])
    for words in ("where g6.xlarge is offered", "reservation cr-0123", "L-DB2E81BA", "cluster ml"):
        assert words in asked


def test_a_type_that_is_not_offered(account: Account) -> None:
    pool = {"instanceTypes": ["p6-b300.48xlarge"], "capacity": [{"spot": {}}]}
    subnets = {"us-east-1b": account.subnets["us-east-1b"]}
    code, answer = account.ask({"instanceTypes": ["p6-b300.48xlarge"]}, subnets=subnets)
    assert code == 1
    (finding,) = [f for f in answer["findings"] if f["code"] == "instance-type-not-offered"]
    assert "not offered in us-east-1b" in finding["message"]
    assert finding["fix"] == "offered in us-east-1a, us-east-1c"
    assert "instance-type-not-offered" in account.codes(pool, subnets=subnets)


def test_a_type_that_is_offered_in_some_zones_only(account: Account) -> None:
    subnets = {zone: account.subnets[zone] for zone in ("us-east-1a", "us-east-1b")}
    pool = {"instanceTypes": ["p6-b300.48xlarge"]}
    code, answer = account.ask(pool, subnets=subnets)
    assert code == 0
    assert [f["code"] for f in answer["findings"]] == ["instance-type-not-everywhere"]
    assert answer["findings"][0]["evidence"]["found"] == ["p6-b300.48xlarge in us-east-1b"]


def test_a_quota_that_is_short_for_all_pools_together(account: Account) -> None:
    account.quota = 12.0
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]}, {"instanceTypes": ["g6.2xlarge"]})
    assert code == 1
    (finding,) = answer["findings"]
    assert finding["code"] == "quota-short"
    assert "may need 24 vCPUs of 'Running On-Demand G and VT instances'" in finding["message"]
    assert "the quota is 12" in finding["message"]


def test_a_block_draws_on_no_vcpu_quota(account: Account) -> None:
    account.quota = 0.0
    assert account.codes(BLOCK_POOL) == []


def test_a_code_that_means_another_quota_is_not_believed(account: Account) -> None:
    account.quota_names["L-DB2E81BA"] = "Running On-Demand Standard instances"
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]})
    assert (code, answer["findings"][0]["code"]) == (0, "could-not-check")


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"AvailableInstanceCount": 1}, "reservation-full", "room for 1 of 2 nodes"),
        ({"TotalInstanceCount": 1}, "reservation-too-small", "holds 1 instances"),
        ({"AvailabilityZone": "us-east-1b"}, "reservation-in-other-zone", "is in us-east-1b"),
        ({"InstanceType": "p5e.48xlarge"}, "reservation-of-other-type", "is of p5e.48xlarge"),
        ({"State": "expired"}, "reservation-not-usable", "is expired"),
        (
            {"EndDate": datetime(2026, 12, 19, 11, 30, tzinfo=UTC)},
            "capacity-block-ends-otherwise",
            "ends 2026-12-19T11:30:00+00:00",
        ),
        (
            {"StartDate": datetime(2026, 12, 14, 11, 30, tzinfo=UTC)},
            "capacity-block-begins-otherwise",
            "begins 2026-12-14T11:30:00+00:00",
        ),
        ({"CapacityReservationId": "cr-other"}, "reservation-not-found", "no reservation cr-0123"),
    ],
)
def test_a_reservation_is_what_the_pool_takes_it_for(
    account: Account, change: dict[str, Any], code: str, said: str
) -> None:
    account.reservations = [{**RESERVATION, **change}]
    status, answer = account.ask(BLOCK_POOL)
    assert status == 1
    (finding,) = answer["findings"]
    assert finding["code"] == code
    assert said in finding["message"]


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (datetime(2026, 12, 19, 11, 30, tzinfo=UTC), None),
        (datetime(2026, 12, 20, 6, 10, tzinfo=UTC), "the block ends in 5 h 20 min"),
        (datetime(2026, 12, 20, 11, 30, tzinfo=UTC), None),  # expired by its state
    ],
)
def test_a_block_that_is_nearly_over(
    account: Account, monkeypatch: pytest.MonkeyPatch, now: datetime, said: str | None
) -> None:
    monkeypatch.setattr(aws_reservations, "utc_now", lambda: now)
    status, answer = account.ask(BLOCK_POOL)
    found = [one["message"] for one in answer["findings"]]
    assert status == 0
    assert [one for one in found if said is not None and said in one] == found
    assert bool(found) is (said is not None)


def test_a_group_of_reservations_is_not_taken_for_fine(account: Account) -> None:
    group = "arn:aws:resource-groups:us-east-1:123456789012:group/gpu"
    pool = {"instanceTypes": ["g6.xlarge"], "capacity": [{"reserved": {"id": group}}]}
    status, answer = account.ask(pool)
    (found,) = answer["findings"]
    assert (status, found["code"]) == (0, "could-not-check")
    assert group in found["message"]


def run_machines(
    account: Account, pool: str, count: int, zone: str, type_: str = "g6.xlarge"
) -> list[str]:
    """Machines that carry a pool's tag."""
    tags = [{"Key": "gpufleet.dev/pool", "Value": pool}]
    answer = boto3.client("ec2", REGION).run_instances(
        ImageId="ami-12c6146b",
        MinCount=count,
        MaxCount=count,
        InstanceType=type_,
        SubnetId=account.subnets[zone],
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    return [one["InstanceId"] for one in answer["Instances"]]


def test_machines_of_the_pool_itself_leave_room(account: Account) -> None:
    made = run_machines(account, "pool-0", 2, "us-east-1a", "p5.48xlarge")
    account.reservations = [{**RESERVATION, "AvailableInstanceCount": 0}]
    try:
        # They are not in the reservation.
        assert account.codes(BLOCK_POOL) == ["reservation-full"]
    finally:
        boto3.client("ec2", REGION).terminate_instances(InstanceIds=made)

    def inside(operation: str, given: dict[str, Any]) -> dict[str, Any] | None:
        if operation == "DescribeInstances":
            one = {"CapacityReservationId": BLOCK["id"]}
            return {"Reservations": [{"Instances": [one, one]}]}
        return answer(operation, given)

    answer, account.answer = account.answer, inside  # type: ignore[method-assign]
    assert account.codes(BLOCK_POOL) == []


def test_a_subnet_in_another_zone(account: Account) -> None:
    wrong = {"us-east-1a": account.subnets["us-east-1b"]}
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]}, subnets=wrong)
    assert code == 1
    assert [f["code"] for f in answer["findings"]] == ["subnet-in-other-zone"]


def test_a_subnet_without_enough_addresses(account: Account) -> None:
    small = {"us-east-1c": account.subnets["us-east-1c"]}
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]}, subnets=small)
    assert code == 1
    (finding,) = answer["findings"]
    assert finding["code"] == "subnet-addresses-short"
    assert "take 32 addresses or more, and there are free: us-east-1c 11" in finding["message"]


def test_pools_that_fit_one_by_one_and_not_together(account: Account) -> None:
    large = {"us-east-1a": account.subnets["us-east-1a"]}  # 4091 addresses
    pool = {"instanceTypes": ["g6.xlarge"], "nodes": {"min": 0, "max": 200}}
    assert account.codes(pool, subnets=large) == []
    both = {**large, "us-east-1b": account.subnets["us-east-1b"]}
    here = {**pool, "zones": ["us-east-1a"]}
    assert account.codes(here, pool, subnets=both) == []  # the second may go elsewhere
    code, answer = account.ask(here, here, subnets=both)
    assert code == 1
    (finding,) = answer["findings"]
    assert finding["code"] == "subnet-addresses-short"
    assert "400 nodes of pool-0, pool-1 take 6400 addresses or more" in finding["message"]
    assert finding["path"] == "pools"


def test_nodes_that_run_have_their_addresses_already(account: Account) -> None:
    small = {"us-east-1c": account.subnets["us-east-1c"]}  # 11 addresses
    pool = {"instanceTypes": ["g6.xlarge"]}
    made = run_machines(account, "pool-0", 2, "us-east-1c")
    try:
        assert account.codes(pool, subnets=small) == []
        _, answer = account.ask({**pool, "nodes": {"min": 0, "max": 3}}, subnets=small)
        (finding,) = answer["findings"]
        assert "1 more nodes of pool-0 take 16 addresses or more" in finding["message"]
        account.denied = {"DescribeInstances"}
        _, answer = account.ask(pool, subnets=small)
        found = {one["code"]: one["message"] for one in answer["findings"]}
        assert set(found) == {"could-not-check", "subnet-addresses-short"}
        assert "could not be counted" in found["subnet-addresses-short"]
    finally:
        boto3.client("ec2", REGION).terminate_instances(InstanceIds=made)


def test_machines_of_other_pools_and_subnets_leave_no_room(account: Account) -> None:
    small = {"us-east-1c": account.subnets["us-east-1c"]}
    made = run_machines(account, "else", 1, "us-east-1c")
    made += run_machines(account, "pool-0", 2, "us-east-1b")
    try:
        assert account.codes({"instanceTypes": ["g6.xlarge"]}, subnets=small) == [
            "subnet-addresses-short"
        ]
    finally:
        boto3.client("ec2", REGION).terminate_instances(InstanceIds=made)


def test_a_quota_nobody_names_is_not_taken_for_another(account: Account) -> None:
    account.quota = 0.0
    pool = {"instanceTypes": ["p6-b200.48xlarge"], "capacity": [{"spot": {}}]}
    _, answer = account.ask(pool)
    (finding,) = [f for f in answer["findings"] if f["code"] == "could-not-check"]
    assert "the quota for Spot P6 instances" in finding["message"]
    assert "quota-short" not in [f["code"] for f in answer["findings"]]


OPERATIONS = {
    "DescribeCluster": "eks:DescribeCluster",
    "DescribeSubnets": "ec2:DescribeSubnets",
    "DescribeInstanceTypeOfferings": "ec2:DescribeInstanceTypeOfferings",
    "GetServiceQuota": "servicequotas:GetServiceQuota",
    "DescribeCapacityReservations": "ec2:DescribeCapacityReservations",
    "DescribeInstances": "ec2:DescribeInstances",
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_question_that_is_denied_is_said_and_never_taken_for_fine(
    account: Account, operation: str
) -> None:
    account.denied = {operation}
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]}, BLOCK_POOL)
    assert code == 0
    denied = answer["findings"]
    assert {f["code"] for f in denied} == {"could-not-check"}
    assert {f["fix"] for f in denied} == {f"allow {OPERATIONS[operation]}"}
    assert not {f["evidence"]["question"] for f in denied} & set(answer["asked"])


def test_a_zone_without_subnet(account: Account) -> None:
    pool = {"instanceTypes": ["g6.xlarge"], "zones": ["us-east-1b"]}
    assert account.codes(pool) == ["zone-without-subnet"]


def test_a_cluster_of_another_version(account: Account) -> None:
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]}, version="1.35")
    assert code == 1
    (finding,) = [f for f in answer["findings"] if f["code"] == "cluster-version-differs"]
    assert "ml runs Kubernetes 1.36, and 1.35 is declared" in finding["message"]


def test_the_clusters_own_subnets_are_asked_without_any_given(account: Account) -> None:
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]}, subnets={})
    assert (code, answer["findings"]) == (0, [])
    assert "zones of ml's subnets" in answer["asked"]


def test_what_may_not_be_asked_is_said_and_the_rest_is_asked(account: Account) -> None:
    account.denied = {"GetServiceQuota", "DescribeCapacityReservations", "DescribeCluster"}
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]}, BLOCK_POOL)
    assert code == 0
    assert {f["code"] for f in answer["findings"]} == {"could-not-check"}
    fixes = {f["fix"] for f in answer["findings"]}
    assert fixes == {
        "allow eks:DescribeCluster",
        "allow ec2:DescribeCapacityReservations",
        "allow servicequotas:GetServiceQuota",
    }
    assert any("is offered" in question for question in answer["asked"])


def test_without_credentials_nothing_is_taken_for_fine(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.exceptions import NoCredentialsError

    def no_one(operation: str, given: dict[str, Any]) -> dict[str, Any]:
        del operation, given
        raise NoCredentialsError

    monkeypatch.setattr(account, "answer", no_one)
    code, answer = account.ask({"instanceTypes": ["g6.xlarge"]})
    assert code == 2
    assert answer["asked"] == []
    assert {f["code"] for f in answer["findings"]} == {"could-not-check"}


def test_input_that_cannot_be_asked_about(tmp_path: Path) -> None:
    from gpufleet.cli.output import UnreadableInputError

    file = tmp_path / "fleet.yaml"
    spec = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "x"},
        "pools": [{"name": "a", "gpu": "L4", "nodes": {"min": 1, "max": 1}}],
    }
    file.write_text(yaml.safe_dump(spec))
    refused = CliRunner().invoke(command, [str(file)])
    assert isinstance(refused.exception, UnreadableInputError)
    assert "preflight does not support platform sandbox" in str(refused.exception)
    usage = CliRunner().invoke(command, [str(file), "--subnet", "us-east-1a"])
    assert usage.exit_code == 2
    assert "'us-east-1a' is not ZONE=ID" in usage.output
    spec["pools"][0]["gpu"] = "L5"  # type: ignore[index]
    file.write_text(yaml.safe_dump(spec))
    wrong = CliRunner().invoke(command, [str(file), "--format", "json"])
    assert wrong.exit_code == 1
    assert json.loads(wrong.stdout)["findings"][0]["code"] == "gpu-unknown"
