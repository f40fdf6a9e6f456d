"""A machine or cluster whose DRS behaviour is `manual`: vCenter starts it only with the option
`OverrideAutomationLevel`, and recommends a host otherwise (vSphere API, ClusterPowerOnVmOption and
DrsBehavior). The proxy simulates it; vcsim does not have the option."""

import re
from typing import Any

import pytest

from tests.engine.vcenter_fixture import Vcenter
from tests.engine.vsphere.direct import UNCLOSED, created, refused
from tests.vcenter.fault_proxy import Action, Rule
from tests.vcenter.vcenter8 import recommended

pytestmark = UNCLOSED
MACHINE = re.compile(rb"<vm [^>]*>vm-\d+</vm>")
RESULT = re.compile(rb'(<val [^>]*type="ClusterPowerOnVmResult"[^>]*?)(?:/>|></val>)')
RECOMMENDATION = (
    b"<recommendations><key>17</key><type>V1</type><time>2026-11-28T00:00:00Z</time>"
    b"<rating>1</rating><reason>powerOnVm</reason><reasonText>start it</reasonText>"
    b"</recommendations>"
)


def recommending(answer: bytes) -> bytes:
    """A result with a recommendation in place of an attempt."""
    return RESULT.sub(lambda found: found[1] + b">" + RECOMMENDATION + b"</val>", answer)


@pytest.mark.parametrize("more", [{}, {"drsBehavior": "manual"}], ids=["cluster", "machine"])
def test_drs_manual_gets_its_machine(cloud: Vcenter, more: dict[str, Any]) -> None:
    cloud.proxy.reset(recommended())
    assert created(cloud.node(1, **more))["powerState"] == "poweredOn"
    assert cloud.proxy.calls["PowerOnMultiVM_Task"] == 1


def test_a_recommendation_alone_is_named_with_the_setting(cloud: Vcenter) -> None:
    """If vCenter does not follow the option."""
    only = Rule(
        Action.REWRITE, "PowerOnMultiVM_Task", nth=0, rewrite=lambda body: MACHINE.sub(b"", body)
    )
    rules = [only]
    for method in ("RetrievePropertiesEx", "RetrieveProperties"):
        rules.append(Rule(Action.REWRITE_REPLY, method, nth=0, rewrite=recommending))
    cloud.proxy.reset(rules)
    text = refused("vsphere-drs-behavior", lambda: created(cloud.node(1)))
    assert "powering on gpu-1: DRS does not start it, and only recommends a host" in text
    assert "recommendation 17" in text
    assert "drsBehavior: fullyAutomated or partiallyAutomated" in text
    assert cloud.owned() == []
