"""Constraints of the providers: each with a source, and equal to it."""

import itertools
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue.provider_inputs import (
    FOLDER,
    constraints,
    provider_rows,
    violations,
)

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT.parent / "shared" / "reference" / "providers" / "google.json"


def tool() -> dict[str, Any]:
    """The tool's names. It imports its neighbour, as it does when it is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        return runpy.run_path(str(ROOT / "tools" / "provider_inputs.py"))


TOOL = tool()
CLOUDS = ("aws", "gcp")
NODE_POOL = "gcp:container/nodePool:NodePool"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_each_constraint_has_a_source(cloud: str) -> None:
    sources = {row["key"]: row for row in provider_rows(cloud) if "location" in row}
    rows = [row for found in constraints(cloud).values() for row in found]
    assert rows
    assert {row.source for row in rows} == set(sources) - {f"pulumi-{cloud}"}
    assert all(row.at for row in rows)
    for source in sources.values():
        assert re.search(r"@ [0-9a-f]{7,40}|(botocore|pulumi_\w+) [0-9.]+", source["location"]), (
            source
        )
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", source["date"])


def test_google_rows_are_those_of_the_provider() -> None:
    if not REFERENCE.is_file():
        pytest.skip(f"{REFERENCE} is not there: the schema of Google's provider")
    schema = json.loads(REFERENCE.read_text(encoding="utf-8"))
    assert (FOLDER / "gcp.jsonl").read_text(encoding="utf-8") == TOOL["written"](
        itertools.chain(TOOL["google_rows"](schema), TOOL["sdk_rows"]("gcp"))
    )


def test_aws_rows_are_those_of_the_installed_service_models() -> None:
    assert (FOLDER / "aws.jsonl").read_text(encoding="utf-8") == TOOL["written"](
        itertools.chain(TOOL["aws_rows"](), TOOL["sdk_rows"]("aws"))
    )


def found(token: str, inputs: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.path, one.reason) for one in violations(token, inputs)]


def test_what_the_provider_refuses() -> None:
    assert found(NODE_POOL, {"upgradeSettings": {"strategy": "SHORT_LIVED"}}) == [
        ("upgradeSettings.strategy", "must be one of SURGE, BLUE_GREEN, and is 'SHORT_LIVED'")
    ]
    assert found(NODE_POOL, {"nodeConfig": {"diskSizeGb": 5, "taints": [{"effect": "NoExecute"}]}})[
        0
    ] == ("nodeConfig.diskSizeGb", "must be at least 10, and is 5")
    assert found(NODE_GROUP, {"scalingConfig": {"minSize": 0, "maxSize": 0, "desiredSize": 0}}) == [
        ("scalingConfig.maxSize", "must be at least 1, and is 0")
    ]
    assert found(NODE_GROUP, {"taints": [{"key": "k", "effect": "NO_SCHEDULE"}] * 51}) == [
        ("taints", "has at most 50 entries, and 51 are given")
    ]
    both = {"maxUnavailable": 1, "maxUnavailablePercentage": 10}
    (one,) = found(NODE_GROUP, {"updateConfig": both})
    assert one[1].startswith("needs exactly one of updateConfig.maxUnavailable, ")
    (one,) = found(NODE_GROUP, {"updateConfig": {"updateStrategy": "MINIMAL"}})
    assert one[1].endswith("has none")
    assert found(TEMPLATE, {"name": "a", "namePrefix": "b"}) == [("name", "excludes namePrefix")]
    network = "gcp:compute/network:Network"
    assert found(network, {"name": "GPU"})[0][1].startswith("must match ^(?:[a-z]")
    subnet = {"name": "a", "ipCidrRange": "10.0.0.0"}
    assert found("gcp:compute/subnetwork:Subnetwork", subnet) == [
        ("ipCidrRange", "must be an address range, and is '10.0.0.0'")
    ]


def test_what_is_not_known_is_not_judged() -> None:
    assert found(NODE_GROUP, {"amiType": object(), "taints": object()}) == []
    assert found("random:index/pet:Pet", {"name": 1}) == []
