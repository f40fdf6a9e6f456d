"""Fields of `cluster` that only some platforms read."""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data

CHAT = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}}
VSPHERE = {**CHAT, "vsphere": {"cpus": 16, "memoryGib": 128, "template": "ubuntu"}}


def said(platform: str, pool: dict[str, Any], **cluster: Any) -> list[tuple[str, str, str]]:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "ml", **cluster},
            "pools": [pool],
        }
    )
    assert result.deployable, result.findings
    return [
        (one.path, one.message, one.fix or "")
        for one in result.findings
        if one.code == "cluster-field-of-other-platform"
    ]


def test_a_field_that_nothing_reads_is_a_warning() -> None:
    """A file that has one goes on to work."""
    read = "eks, gke, openshiftAws, openshiftGcp, sandbox, existing"
    assert said("vsphere", VSPHERE, region="us-east-1", project="acme", autopilot=True) == [
        (
            "cluster.region",
            "region 'us-east-1' has no meaning on vsphere, and changes nothing there",
            f"remove region; it is read on {read}",
        ),
        (
            "cluster.project",
            "project 'acme' has no meaning on vsphere, and changes nothing there",
            "remove project; it is read on gke, openshiftGcp",
        ),
        (
            "cluster.autopilot",
            "autopilot true has no meaning on vsphere, and changes nothing there",
            "remove autopilot; it is read on gke",
        ),
    ]


@pytest.mark.parametrize(
    ("platform", "cluster", "paths"),
    [
        ("eks", {"region": "us-east-1"}, []),
        ("eks", {"region": "us-east-1", "project": "acme"}, ["cluster.project"]),
        ("eks", {"region": "us-east-1", "autopilot": True}, ["cluster.autopilot"]),
        ("eks", {"region": "us-east-1", "autopilot": False}, []),
        ("gke", {"region": "us-central1", "project": "acme"}, []),
        ("sandbox", {"region": "us-east-1"}, []),
    ],
)
def test_where_a_field_is_read_nothing_is_said(
    platform: str, cluster: dict[str, Any], paths: list[str]
) -> None:
    assert [path for path, _, _ in said(platform, CHAT, **cluster)] == paths
