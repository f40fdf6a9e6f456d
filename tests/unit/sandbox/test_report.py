"""The closing table: who landed where, at what price, and who waits."""

import io
from decimal import Decimal
from types import SimpleNamespace as Object
from typing import Any

import pytest
from rich.console import Console

from gpufleet_sandbox import report
from gpufleet_sandbox.report import WaitingPod, build


def node(name: str, *, pool: str = "chat", usd: str | None = "1.25", ready: bool = True) -> Any:
    annotations = {} if usd is None else {"gpufleet.dev/usd-per-hour": usd}
    return Object(
        metadata=Object(name=name, labels={"gpufleet.dev/pool": pool}, annotations=annotations),
        status=Object(
            conditions=[Object(type="Ready", status="True" if ready else "Unknown")],
            allocatable={"cpu": "64", "nvidia.com/gpu": "4"},
        ),
    )


def pod(
    name: str,
    *,
    at: str | None = None,
    owner: tuple[str, str] | None = None,
    phase: str = "Running",
    namespace: str = "default",
    why: str | None = None,
) -> Any:
    owners = [Object(kind=owner[0], name=owner[1])] if owner else None
    labels = {"pod-template-hash": "x"} if owner and owner[0] == "ReplicaSet" else None
    conditions = [Object(type="PodScheduled", status="False", message=why, reason="Unschedulable")]
    return Object(
        metadata=Object(name=name, namespace=namespace, owner_references=owners, labels=labels),
        spec=Object(node_name=at),
        status=Object(phase=phase, conditions=conditions if why else None),
    )


def test_replicas_are_counted_under_their_workload() -> None:
    replicas = [pod(f"chat-7f9c-{n}", at="n1", owner=("ReplicaSet", "chat-7f9c")) for n in range(3)]
    job = pod("train-x", at="n1", owner=("Job", "train"), phase="Succeeded")
    system = pod("dns", at="n1", namespace="kube-system")
    (row,) = build([node("n1")], [*replicas, job, system]).nodes
    assert row.pods == ("chat x 3", "train (succeeded)")
    assert row.advertised == {"nvidia.com/gpu": "4"}


def test_waiting_pods_are_grouped_by_reason() -> None:
    pods = [pod(f"w-{n}", owner=("Job", "w"), why="Insufficient nvidia.com/gpu") for n in range(2)]
    assert build([], [*pods, pod("new")]).waiting == (
        WaitingPod("new", "not looked at by the scheduler yet"),
        WaitingPod("w x 2", "Insufficient nvidia.com/gpu"),
    )


@pytest.mark.parametrize("usd", [None, "soon", "NaN", "Infinity"])
def test_a_node_without_a_price_is_left_out_of_the_sum_and_counted(usd: str | None) -> None:
    made = build([node("n1", usd=usd), node("n2", usd="0.10"), node("n3", usd="0.20")], [])
    assert made.usd_per_hour == Decimal("0.30")
    assert made.without_price == 1


def test_a_layout_that_was_not_applied_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = node("n1"), node("n2")
    bad.metadata.labels |= {"nvidia.com/mig.config": "a", "nvidia.com/mig.config.state": "failed"}
    good.metadata.labels |= {"nvidia.com/mig.config": "a", "nvidia.com/mig.config.state": "success"}
    monkeypatch.setattr(report, "read", lambda kubeconfig: build([bad, good], []))
    out = io.StringIO()
    sandbox: Any = Object(kubeconfig="k", layout=Object(environment="/s/env"))
    report.print_report(sandbox, Console(file=out, width=120))
    said = [line for line in out.getvalue().splitlines() if line.startswith("failed")]
    assert said == ["failed  n1: MIG layout a is not applied; `kubectl describe node n1` says why"]


def test_the_table_shows_the_sum_and_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made = build(
        [node("n2", pool="train", usd="98.32", ready=False), node("n1")],
        [pod("big", why="0/2 nodes are available: [bold]")],
    )
    monkeypatch.setattr(report, "read", lambda kubeconfig: made)
    out = io.StringIO()
    sandbox: Any = Object(kubeconfig="k", layout=Object(environment="/my s/env"))
    report.print_report(sandbox, Console(file=out, width=120))
    text = out.getvalue()
    assert text.index("chat") < text.index("train")
    assert "99.57" in text
    assert "n2 (not ready)" in text
    assert "waiting  big: 0/2 nodes are available: [bold]" in text
    assert "  . '/my s/env'    puts pulumi" in text
