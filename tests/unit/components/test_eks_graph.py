"""The graph in docs/eks-gpu-node-group.md is drawn from what the component registers.

`UPDATE_GOLDEN=1 pytest tests/unit/components/test_eks_graph.py` draws it again.
"""

import os
import re
from pathlib import Path
from typing import Any

from gpufleet import EksGpuNodeGroup
from tests.unit.components.conftest import Recording
from tests.unit.components.eks_pools import arguments

PAGE = Path(__file__).parents[3] / "docs/eks-gpu-node-group.md"
MARK = "<!-- graph: EFA Capacity Block -->\n"
SHOWN = {
    "aws:autoscaling/schedule:Schedule": "scheduled action",
    "aws:ec2/launchTemplate:LaunchTemplate": "launch template",
    "aws:ec2/securityGroup:SecurityGroup": "security group",
    "aws:eks/nodeGroup:NodeGroup": "node group",
    "gpufleet:index:EksGpuNodeGroup": "EksGpuNodeGroup",
}


def says(kind: str, inputs: dict[str, Any]) -> str:
    """Relevant facts of a resource."""
    if "instanceMarketOptions" in inputs:
        market = inputs["instanceMarketOptions"]["marketType"]
        target = inputs["capacityReservationSpecification"]["capacityReservationTarget"]
        efas = [i for i in inputs["networkInterfaces"] if i["interfaceType"] == "efa-only"]
        bought = f"{inputs['instanceType']}, {market}<br>{target['capacityReservationId']}"
        return f"{bought}<br>1 + {len(efas)} efa-only"
    if kind == "node group":
        return f"{inputs['capacityType']}<br>{', '.join(inputs['subnetIds'])}"
    return "all traffic to itself" if kind == "security group" else ""


def graph(recording: Recording) -> str:
    lines = ["graph LR"]
    for one in recording.resources:
        kind = SHOWN[one.type]
        words = says(kind, one.inputs)
        lines.append(f'  {one.name}["{kind}{f"<br>{words}" if words else ""}"]')
    for one in recording.resources:
        if one.parent:
            lines.append(f"  {one.parent} -.-> {one.name}")
        lines += [f"  {before} --> {one.name}" for before in one.depends_on]
    return "\n".join(lines)


def test_the_page_shows_what_is_made(run: Any) -> None:
    given = arguments("capacity-block", {"provisioner": "managed"})
    drawn = graph(run(lambda: EksGpuNodeGroup("training", given)))
    block = f"{MARK}```mermaid\n{drawn}\n```"
    text = PAGE.read_text()
    if os.environ.get("UPDATE_GOLDEN") == "1":
        text = re.sub(re.escape(MARK) + r"```mermaid\n.*?```", lambda _: block, text, flags=re.S)
        PAGE.write_text(text)
    assert block in text, "draw it again, see the top of this file"
    assert "training-efa --> training-template" in drawn
    assert "training-template --> training-group" in drawn
    assert "capacity-block" in drawn
    assert "1 + 32 efa-only" in drawn
