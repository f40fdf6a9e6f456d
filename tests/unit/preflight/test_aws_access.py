"""Requirements of Karpenter's machines and the controllers on the account, checked by preflight."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from tests.unit.preflight.aws_account import REGION, Account

ROLE = "arn:aws:iam::123456789012:role/nodes"
SPOT = "AWSServiceRoleForEC2Spot"
POOL = {"instanceTypes": ["g6.xlarge"], "provisioner": "karpenter"}


@pytest.fixture(autouse=True)
def all_there(account: Account) -> Iterator[None]:
    """An account that has everything."""
    account.answers = {
        "ListAccessEntries": {"accessEntries": []},
        "DescribeAddon": {"addon": {"addonName": "eks-pod-identity-agent"}},
    }
    yield
    account.answers = {}


@pytest.fixture
def spot_role() -> Iterator[None]:
    iam = boto3.client("iam", REGION)
    iam.create_role(RoleName=SPOT, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17"}))
    yield
    iam.delete_role(RoleName=SPOT)


def found(account: Account, pool: dict[str, Any], **more: Any) -> list[str]:
    return account.codes(pool, node_role=ROLE, **more)


def test_an_account_that_has_everything(account: Account) -> None:
    code, answer = account.ask(POOL, node_role=ROLE)
    assert (code, answer["findings"]) == (0, [])
    asked = "\n".join(answer["asked"])
    assert "access entries of ml" in asked
    assert "the add-on eks-pod-identity-agent" in asked


def test_a_role_that_may_not_join(account: Account) -> None:
    groups = {"instanceTypes": ["g6.xlarge"]}
    assert account.codes(POOL, groups, node_role=ROLE) == ["access-entry-missing"]
    account.answers["ListAccessEntries"] = {"accessEntries": [ROLE]}
    assert account.codes(POOL, groups, node_role=ROLE) == []


def test_a_second_entry_is_not_made(account: Account) -> None:
    account.answers["ListAccessEntries"] = {"accessEntries": [ROLE]}
    assert found(account, POOL) == ["access-entry-exists"]
    kept = {"addons": {"karpenter": {"accessEntry": False}}}
    assert found(account, POOL, **kept) == []


def test_a_role_that_is_not_known_is_not_taken_for_fine(account: Account) -> None:
    assert account.codes(POOL) == ["could-not-check"]


def test_controllers_without_the_agent(account: Account) -> None:
    account.missing.add("DescribeAddon")
    assert found(account, POOL) == ["pod-identity-agent-missing"]
    scaled = {"instanceTypes": ["g6.xlarge"], "provisioner": "clusterAutoscaler"}
    assert found(account, scaled) == ["pod-identity-agent-missing"]
    assert found(account, {"instanceTypes": ["g6.xlarge"]}) == []
    theirs = {"addons": {"karpenter": {"ownership": "existing", "nodeOverlay": True}}}
    account.answers["ListAccessEntries"] = {"accessEntries": [ROLE]}
    assert found(account, POOL, **theirs) == []


def test_a_second_karpenter_beside_auto_mode(account: Account) -> None:
    account.answers["DescribeCluster"] = {
        "cluster": {"version": "1.36", "computeConfig": {"enabled": True}}
    }
    account.missing.add("DescribeAddon")  # Auto Mode has the agent built in
    assert found(account, POOL) == ["karpenter-beside-auto-mode"]
    assert found(account, {"instanceTypes": ["g6.xlarge"]}) == []


AUTO = {"instanceTypes": ["g6.xlarge"], "provisioner": "autoMode"}


def test_pools_of_auto_mode(account: Account) -> None:
    account.missing.add("DescribeAddon")
    account.answers["ListAccessEntries"] = {"accessEntries": [ROLE]}
    assert found(account, AUTO) == ["auto-mode-off"]
    account.answers["DescribeCluster"] = {
        "cluster": {"version": "1.36", "computeConfig": {"enabled": True}}
    }
    assert found(account, AUTO) == []
    entry = {"addons": {"karpenter": {"accessEntry": True}}}
    assert found(account, AUTO, **entry) == ["access-entry-exists"]
    account.answers["ListAccessEntries"] = {"accessEntries": []}
    assert found(account, AUTO) == ["access-entry-missing"]
    assert found(account, AUTO, **entry) == []


def test_spot_needs_its_role(account: Account) -> None:
    assert found(account, {**POOL, "capacity": [{"spot": {}}, {"onDemand": {}}]}) == [
        "spot-role-missing"
    ]


@pytest.mark.usefixtures("spot_role")
def test_spot_with_its_role(account: Account) -> None:
    assert found(account, {**POOL, "capacity": [{"spot": {}}, {"onDemand": {}}]}) == []


def test_a_cluster_that_takes_no_entries(account: Account) -> None:
    account.answers["DescribeCluster"] = {
        "cluster": {"version": "1.36", "accessConfig": {"authenticationMode": "CONFIG_MAP"}}
    }
    assert found(account, POOL) == ["cluster-without-access-entries"]
    assert found(account, POOL, addons={"karpenter": {"accessEntry": False}}) == []
