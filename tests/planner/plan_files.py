"""Files of workloads that the planner's tests plan."""

from collections import Counter
from pathlib import Path
from typing import Any

from gpufleet.catalogue import load
from gpufleet.spec.base import Platform
from gpufleet_planner.planning.entries import own_machine
from gpufleet_planner.planning.layouts import NodeLayout
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.planning.workloads import OwnHardware
from tests.reading import yaml_data

EXAMPLES = Path(__file__).parents[2] / "examples" / "plan"


NAMES = ("team", "slices", "sandbox-slices", "sandbox-shared", "sandbox-training",
         "sandbox-serving", "sandbox-lora", "sandbox-notebooks", "sandbox-pretraining")  # fmt: skip


def example(name: str) -> dict[str, Any]:
    return yaml_data((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))


def service(name: str = "chat", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "workload": "inference",
        "model": "Llama-3.1-8B",
        "context": 4096,
        **fields,
    }


def file(*workloads: dict[str, Any], **head: Any) -> dict[str, Any]:
    return {
        "platform": "eks",
        "cluster": {"name": "test", "region": "us-east-1"},
        "workloads": list(workloads),
        **head,
    }


def offered(layout: NodeLayout) -> Counter[str]:
    """Slices that the nodes of a layout have together."""
    found: Counter[str] = Counter()
    for devices, gpus in layout.gpus:
        found.update({name: layout.nodes * gpus * count for name, count in devices.items()})
    return found


def errors(answer: PlannedFleet) -> list[str]:
    return [f.code for f in answer.findings if f.severity.value == "error"]


def owned(gpu: str, gpus: int, nodes: int, **more: Any) -> OfferedMachine:
    row = OwnHardware(gpu=gpu, gpus_per_node=gpus, nodes=nodes, **more)
    return own_machine(row, load().gpu(gpu), 0, Platform.VSPHERE)
