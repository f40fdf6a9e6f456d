"""GpuAcceptance: tests of nodes before they run work, and their results."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pulumi
from pulumi_kubernetes import _utilities as kubernetes_sdk

from gpufleet.arguments import GpuAcceptanceArgs
from gpufleet.components_base.cloud_object import ready_output
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import FleetPlan, GpuComponent, Options
from gpufleet.components_base.inputs import refuse
from gpufleet.findings import findings_in
from gpufleet.fleet import Fleet
from gpufleet.fleet.model import Pool
from gpufleet.platforms.declarations import declared_fleet
from gpufleet.render.acceptance import common_objects, key_of, pool_objects, tested, verdicts
from gpufleet.spec.base import Ownership

_finding = findings_in(__file__)

Figures = dict[str, dict[str, dict[str, str]]]
"""Node -> test -> `figure`, `expected`, `verdict`."""
_MARGIN_MINUTES = 10
"""Platform of the images of the Job that waits."""


class _Verdicts(pulumi.CustomResource):
    """The ConfigMap of a pool's results, read from the cluster and not managed."""

    data: pulumi.Output[dict[str, str] | None]

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        props = {"apiVersion": None, "kind": None, "metadata": None, "data": None}
        merged = pulumi.ResourceOptions.merge(kubernetes_sdk.get_resource_opts_defaults(), opts)
        super().__init__("kubernetes:core/v1:ConfigMap", name, props, merged)


class GpuAcceptance(GpuComponent[FleetPlan]):
    """Namespace, rights, a DaemonSet of tests for each pool, and a Job that waits for the results.

    A node keeps the taint `gpufleet.dev/not-accepted` until it has passed. Nodes must exist:
    `depends_on` the pools. `GpuFleet` creates it when a pool has `acceptance`. With `strict` an
    update ends with an error that contains the figures of every refused node.
    """

    accepted: pulumi.Output[dict[str, list[str]]]
    """Pool -> nodes that have passed the present tests, by name. It depends on the tests, so
    resources that use it are created after them."""
    refused: pulumi.Output[dict[str, dict[str, dict[str, str]]]]
    """Pool -> node -> test -> actual and expected value, of failed tests. A node without a result
    has the test `verdict`, and two nodes together have the name `_between-nodes`."""
    figures: pulumi.Output[dict[str, Any]]
    """Pool -> node -> test -> `figure`, `expected`, `verdict` (`passed`, `refused`, `reported`)."""

    def __init__(self, name: str, args: GpuAcceptanceArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: FleetPlan) -> Mapping[str, object]:
        fleet, label = plan.fleet, self.label(name)
        before: list[pulumi.Resource] = []
        for document in common_objects():
            after = pulumi.ResourceOptions(parent=self, depends_on=list(before[:2]))
            called = f"{name}-{document['kind'].lower()}"
            before.append(ManifestObject(called, document, after))
        found: dict[str, pulumi.Output[Any]] = {}
        for pool, tests in tested(fleet):
            if pool.ownership is Ownership.GITOPS:
                continue
            key = key_of(fleet, tests)
            data = self._pool(f"{name}-{pool.name}", fleet, pool, before)
            found[pool.name] = data.apply(
                lambda data, pool=pool, key=key, strict=tests.policy.strict: verdict(
                    label, pool.name, key, data, strict=strict
                )
            )
        whole = pulumi.Output.all(**found)
        return {
            "accepted": whole.apply(lambda all_: {k: v["accepted"] for k, v in all_.items()}),
            "refused": whole.apply(lambda all_: {k: v["refused"] for k, v in all_.items()}),
            "figures": whole.apply(lambda all_: {k: v["figures"] for k, v in all_.items()}),
        }

    def _pool(
        self, name: str, fleet: Fleet, pool: Pool, before: Sequence[pulumi.Resource]
    ) -> pulumi.Output[dict[str, str] | None]:
        """The objects of one pool, and the results of its tests."""
        (tests,) = [tests for one, tests in tested(fleet) if one.name == pool.name]
        # The tests write into it.
        own = pulumi.ResourceOptions(parent=self, depends_on=list(before), ignore_changes=["data"])
        made: list[pulumi.CustomResource] = [
            ManifestObject(f"{name}-verdicts", verdicts(pool), own)
        ]
        minutes = f"{tests.policy.wait_minutes + _MARGIN_MINUTES}m"
        for document in pool_objects(fleet, pool, tests):
            opts = pulumi.ResourceOptions(
                parent=self,
                depends_on=[*before, *made],
                custom_timeouts=pulumi.CustomTimeouts(create=minutes, update=minutes),
                delete_before_replace=True,
            )
            words = (document["kind"].lower(), document["metadata"]["name"].split("-")[0])
            made.append(ManifestObject("-".join([name, *words]), document, opts))
        read = pulumi.ResourceOptions(parent=self, id=ready_output(made[0].id, *made[1:]))
        return _Verdicts(f"{name}-read", read).data


def verdict(
    component: str, pool: str, key: str, data: Mapping[str, str] | None, *, strict: bool
) -> dict[str, Any]:
    """The results of a pool under the key of its present tests.

    Raises InvalidArgumentsError when `strict` and a node has not passed.
    """
    accepted: list[str] = []
    refused: dict[str, dict[str, str]] = {}
    figures: Figures = {}
    for node, text in sorted((data or {}).items()):
        entry = _entry(text) if node != "_waiting" else {}
        if entry.get("key") != key:
            continue
        figures[node] = entry.get("figures", {})
        if entry.get("verdict") == "accepted":
            if not node.startswith("_"):
                accepted.append(node)
            continue
        refused[node] = {
            test: f"{one['figure']}, expected {one['expected']}"
            for test, one in figures[node].items()
            if one["verdict"] == "refused"
        }
    for node in (data or {}).get("_waiting", "").split():
        if node not in figures:
            refused[node] = {"verdict": "none yet, expected one"}
    if strict and refused:
        failed = (
            _finding("node-not-accepted", f"pools.{pool}.{node}", test=test, result=text)
            for node, tests in refused.items()
            for test, text in tests.items()
        )
        refuse(component, failed)
    return {"accepted": accepted, "refused": refused, "figures": figures}


def _entry(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _planned(component: str, args: GpuAcceptanceArgs) -> FleetPlan:
    plan = declared_fleet(component, GpuAcceptanceArgs, args)
    if not tested(plan.fleet):
        refuse(component, [_finding("acceptance-missing")])
    return plan
