"""A moto account for preflight; missing responses are hand-written, in botocore's shapes."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from botocore.exceptions import ClientError
from click.testing import CliRunner

from gpufleet.cli.preflight import command
from tests.exit_status import exit_status

REGION = "us-east-1"
BLOCK = {
    "id": "cr-0123456789abcdef0",
    "zone": "us-east-1a",
    "starts": "2026-12-13T11:30:00Z",
    "until": "2026-12-20T11:30:00Z",
}
NAMES = {
    "L-417A185B": "Running On-Demand P instances",
    "L-DB2E81BA": "Running On-Demand G and VT instances",
    "L-3819A6DF": "All G and VT Spot Instance Requests",
    "L-C4BD4855": "All P5 Spot Instance Requests",
    "L-7212CCBC": "All P4, P3 and P2 Spot Instance Requests",
}
RESERVATION: dict[str, Any] = {
    "CapacityReservationId": BLOCK["id"],
    "InstanceType": "p5.48xlarge",
    "AvailabilityZone": "us-east-1a",
    "State": "active",
    "TotalInstanceCount": 4,
    "AvailableInstanceCount": 4,
    "StartDate": datetime(2026, 12, 13, 11, 30, tzinfo=UTC),
    "EndDate": datetime(2026, 12, 20, 11, 30, tzinfo=UTC),
}


class Account:
    """A moto account, and the responses of operations that moto does not implement."""

    def __init__(self, folder: Path, subnets: dict[str, str]) -> None:
        self.folder, self.subnets = folder, subnets
        self.quota = 10_000.0
        self.quota_names = dict(NAMES)
        self.reservations: list[dict[str, Any]] = [RESERVATION]
        self.denied: set[str] = set()
        self.answers: dict[str, dict[str, Any]] = {}
        """Operation -> response, instead of moto's."""
        self.missing: set[str] = set()
        """Operations whose subject does not exist."""

    def answer(self, operation: str, given: dict[str, Any]) -> dict[str, Any] | None:
        if operation in self.denied:
            raise ClientError({"Error": {"Code": "UnauthorizedOperation"}}, operation)
        if operation in self.missing:
            error = {"Code": "ResourceNotFoundException", "Message": "not there"}
            raise ClientError({"Error": error}, operation)
        if operation in self.answers:
            return self.answers[operation]
        if operation == "GetServiceQuota":
            code = given["QuotaCode"]
            return {"Quota": {"QuotaName": self.quota_names[code], "Value": self.quota}}
        if operation == "DescribeCapacityReservations":
            wanted = given["CapacityReservationIds"]
            there = [r for r in self.reservations if r["CapacityReservationId"] in wanted]
            if not there:
                error = {"Code": "InvalidCapacityReservationId.NotFound", "Message": "not there"}
                raise ClientError({"Error": error}, operation)
            return {"CapacityReservations": there}
        return None

    def ask(
        self,
        *pools: dict[str, Any],
        subnets: dict[str, str] | None = None,
        version: str = "1.36",
        node_role: str | None = None,
        addons: dict[str, Any] | None = None,
    ) -> Any:
        """Runs the command on a fleet of these pools."""
        declared = [
            {"name": f"pool-{i}", "nodes": {"min": 0, "max": 2}, **pool}
            for i, pool in enumerate(pools)
        ]
        spec = {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": REGION, "kubernetesVersion": version},
            "pools": declared,
            **({"addons": addons} if addons else {}),
        }
        file = self.folder / "fleet.yaml"
        file.write_text(yaml.safe_dump(spec))
        chosen = {"us-east-1a": self.subnets["us-east-1a"]} if subnets is None else subnets
        flags = [part for z, i in chosen.items() for part in ("--subnet", f"{z}={i}")]
        flags += ["--node-role", node_role] if node_role else []
        result = CliRunner().invoke(command, [str(file), *flags, "--format", "json"])
        return exit_status(result), json.loads(result.stdout)

    def codes(self, *pools: dict[str, Any], **more: Any) -> list[str]:
        _, answer = self.ask(*pools, **more)
        return [finding["code"] for finding in answer["findings"]]
