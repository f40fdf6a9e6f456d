"""One partition, many artefacts: for any legal pool all of them state the same amounts."""

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import AWS, GCP, InstanceType, load
from gpufleet.fleet import Fleet
from gpufleet.fleet.model import Pool
from gpufleet.partition.placement import MigPlacement, place
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.autoscaler_tags import TEMPLATE, autoscaler_tags, modelled_gpus
from gpufleet.platforms.eks.karpenter_objects import node_overlay
from gpufleet.platforms.gke.node_pool_arguments import gke_accelerator
from gpufleet.render.artefact import ArtefactKind
from gpufleet.render.artefacts import artefacts
from gpufleet.render.kueue_queues import cluster_queues
from gpufleet.render.pod_request import pod_spec
from tests.examples import examples
from tests.reading import yaml_data, yaml_documents

UNHURRIED = settings(
    deadline=None,
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
CATALOGUE = load()


def machines(cloud: str) -> list[InstanceType]:
    return [
        row
        for row in CATALOGUE.instances.values()
        if row.cloud == cloud
        and row.accelerator.count
        and not row.attachable
        and CATALOGUE.gpu(row.accelerator.gpu).vendor == "nvidia"
        and row.architecture == "amd64"
    ]


AWS, GCP = machines(AWS), machines(GCP)
SLICEABLE = [row for row in AWS if CATALOGUE.gpu(row.accelerator.gpu).mig is not None]
TURNS = st.fixed_dictionaries({"replicas": st.integers(2, 9), "rename": st.booleans()})


@st.composite
def mig(draw: st.DrawFn, row: InstanceType) -> dict[str, Any]:
    """A legal layout for some or all GPUs of the machine."""
    geometry = CATALOGUE.gpu(row.accelerator.gpu).mig
    assert geometry is not None
    assert row.accelerator.count is not None
    names = st.sampled_from(list(geometry.profiles))
    wanted: dict[str, int] = {}
    for name in draw(st.lists(names, min_size=1, max_size=6)):
        more = {**wanted, name: wanted.get(name, 0) + 1}
        if isinstance(place(geometry, more), MigPlacement):
            wanted = more
    cut: dict[str, Any] = {"layouts": [{"devices": wanted}]}
    if draw(st.booleans()):
        cut["layouts"][0]["gpus"] = draw(st.integers(1, row.accelerator.count))
    elif len(wanted) == 1 and draw(st.booleans()):
        cut["strategy"] = "single"
    if draw(st.booleans()):
        cut["timeSlicing"] = draw(TURNS)
    return {"mig": cut}


@st.composite
def gke_partitions(draw: st.DrawFn, row: InstanceType) -> dict[str, Any]:
    """One of the sizes GKE fills every GPU with."""
    size = draw(st.sampled_from(sorted(row.gke_partition_sizes)))
    cut: dict[str, Any] = {"layouts": [{"devices": {size: row.gke_partition_sizes[size]}}]}
    if draw(st.booleans()):
        cut["timeSlicing"] = draw(TURNS)
    return {"mig": cut}


@st.composite
def eks_pools(draw: st.DrawFn, name: str) -> dict[str, Any]:
    row = draw(st.sampled_from(AWS) | st.sampled_from(SLICEABLE))
    pool: dict[str, Any] = {
        "name": name,
        "instanceTypes": [row.name],
        "nodes": {"min": 0, "max": draw(st.integers(1, 50))},
        "provisioner": draw(st.sampled_from(["managed", "karpenter", "clusterAutoscaler"])),
    }
    ways: list[st.SearchStrategy[dict[str, Any]]] = [
        st.just({"exclusive": {}}),
        TURNS.map(lambda turns: {"timeSlicing": turns}),
    ]
    if row in SLICEABLE and not row.fractional:
        ways.append(mig(row))
    pool["sharing"] = draw(st.one_of(ways))
    if row.efa_interfaces and draw(st.booleans()):
        pool["fabric"] = "efa"
    return pool


@st.composite
def gke_pools(draw: st.DrawFn, name: str) -> dict[str, Any]:
    row = draw(st.sampled_from(GCP))
    pool: dict[str, Any] = {
        "name": name,
        "instanceTypes": [row.name],
        "nodes": {"min": 0, "max": draw(st.integers(1, 50))},
    }
    ways: list[st.SearchStrategy[dict[str, Any]]] = [
        st.just({"exclusive": {}}),
        TURNS.map(lambda turns: {"timeSlicing": turns}),
    ]
    if row.gke_partition_sizes:
        ways.append(gke_partitions(row))
    if not row.fractional:
        ways.append(TURNS.map(lambda turns: {"mps": turns}))
    pool["sharing"] = draw(st.one_of(ways))
    return pool


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Any]:
    platform = draw(st.sampled_from(["eks", "gke"]))
    pools = eks_pools if platform == "eks" else gke_pools
    parts = draw(st.lists(st.integers(1, 20), min_size=1, max_size=4))
    whole = sum(parts) + draw(st.integers(0, 10))
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": [draw(pools(f"p{i}")) for i in range(draw(st.integers(1, 4)))],
        "queues": {
            "teams": [{"name": f"t{i}", "share": part / whole} for i, part in enumerate(parts)]
        },
    }


def compiled(document: dict[str, Any]) -> Fleet:
    """The fleet; declarations that contradict themselves (two MIG strategies, ...) are dropped."""
    result = compile_data(document)
    assume(result.deployable)
    assert result.fleet is not None
    return result.fleet


def nonzero(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def from_layouts(pool: Pool) -> int:
    """Shares on a node counted again: devices of each GPU, times replicas."""
    partition = pool.partition
    if not partition.mig_enabled:
        return len(partition.gpus) * partition.replicas
    cut = sum(sum(gpu.devices.values()) for gpu in partition.gpus)
    return cut * partition.replicas + sum(not gpu.devices for gpu in partition.gpus)


def from_operands(fleet: Fleet, pool: Pool) -> dict[str, int] | None:
    """Result of the two NVIDIA files together; None if neither applies to the node."""
    files = {file.path: file for file in artefacts(fleet)}
    label = pool.labels.get("nvidia.com/mig.config")
    chosen = pool.labels.get("nvidia.com/device-plugin.config")
    if chosen is None or "manifests/gpu-operator/mig-parted.yaml" not in files:
        return None
    mig = yaml_data(files["manifests/gpu-operator/mig-parted.yaml"].text)["data"]
    plugin = yaml_data(files["manifests/gpu-operator/device-plugin.yaml"].text)["data"]
    strategy = yaml_data(files["values/gpu-operator.yaml"].text)["mig"]["strategy"]
    entries: list[dict[str, Any]] = [{"devices": "all", "mig-enabled": False}]
    if label is not None:
        entries = yaml_data(mig["config.yaml"])["mig-configs"][label]
    amounts: dict[str, int] = {}
    for entry in entries:
        gpus = pool.gpus_per_node if entry["devices"] == "all" else len(entry["devices"])
        devices = entry["mig-devices"] if entry["mig-enabled"] else {None: 1}
        for profile, count in devices.items():
            name = "nvidia.com/gpu"
            if profile is not None and strategy == "mixed":
                name = "nvidia.com/mig-" + profile.replace("+", ".")
            amounts[name] = amounts.get(name, 0) + gpus * count
    for block in yaml_data(plugin[chosen]).get("sharing", {}).values():
        for resource in block["resources"]:
            amount = amounts.pop(resource["name"]) * resource["replicas"]
            suffix = ".shared" if block["renameByDefault"] else ""
            amounts[resource["name"] + suffix] = amount
    return amounts


@UNHURRIED
@given(fleets())
def test_every_artefact_states_the_same_amounts(document: dict[str, Any]) -> None:
    fleet = compiled(document)
    queues = cluster_queues(fleet)
    shares = sum(team.share for team in fleet.spec.queues.teams) if fleet.spec.queues else 0
    for pool in fleet.pools:
        node = dict(pool.advertised)
        assert sum(node.values()) == from_layouts(pool)

        overlay = node_overlay(pool)
        if overlay is not None:
            capacity = {
                k: int(v) for k, v in overlay["spec"]["capacity"].items() if "hugepages" not in k
            }
            assert nonzero(capacity) == node or (pool.fabric.value == "efa" and not capacity)
        elif pool.provisioner.value == "karpenter":
            assert node == {"nvidia.com/gpu": modelled_gpus(pool)}

        tags = autoscaler_tags(pool)
        assert (tags is not None) == (pool.provisioner.value == "clusterAutoscaler")
        if tags is not None:
            start = f"{TEMPLATE}resources/nvidia.com/"
            told = {
                key.removeprefix(f"{TEMPLATE}resources/"): int(value)
                for key, value in tags.items()
                if key.startswith(start)
            }
            assert nonzero(told) == node

        accelerator = gke_accelerator(pool)
        if accelerator is not None:
            assert node == {"nvidia.com/gpu": accelerator.slots}

        operands = from_operands(fleet, pool)
        if operands is not None:
            assert operands == node

        given_out: dict[str, int] = {}
        for queue in queues:
            for group in queue["spec"]["resourceGroups"]:
                for flavor in group["flavors"]:
                    if flavor["name"] == pool.name:
                        for entry in flavor["resources"]:
                            amount = given_out.get(entry["name"], 0) + int(entry["nominalQuota"])
                            given_out[entry["name"]] = amount
        assert set(nonzero(given_out)) <= set(node)
        for resource, amount in node.items():
            whole = amount * pool.nodes.maximum
            assert given_out[resource] <= whole
            # Jobs over several nodes take whole nodes: so does each team's quota.
            grain = (
                amount if pool.fabric.value != "none" and pool.partition.mode == "exclusive" else 1
            )
            assert given_out[resource] % grain == 0
            assert given_out[resource] == pytest.approx(whole * shares, abs=grain + 0.001)
            if shares > 1 - 1e-9:
                assert given_out[resource] == whole

        for share in pool.partition.shares:
            limits = pod_spec(pool, share)["containers"][0]["resources"]["limits"]
            asked = {k: int(v) for k, v in limits.items() if k.startswith("nvidia.com/")}
            assert set(asked) == {share.resource}
            assert 1 <= asked[share.resource] <= node[share.resource]


@UNHURRIED
@given(fleets())
def test_files_are_distinct_readable_and_the_same_again(document: dict[str, Any]) -> None:
    files = artefacts(compiled(document))
    assert files == artefacts(compiled(document))
    paths = [file.path for file in files]
    assert paths == sorted(set(paths))
    names: list[tuple[str, str, str]] = []
    for file in files:
        for part in yaml_documents(file.text):
            assert isinstance(part, dict), file.path
            if file.kind is ArtefactKind.MANIFEST:
                where = part["metadata"].get("namespace", "")
                names.append((part["kind"], where, part["metadata"]["name"]))
    assert len(names) == len(set(names))
