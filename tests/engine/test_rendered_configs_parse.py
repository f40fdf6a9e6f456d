"""NVIDIA's own parsers accept every rendered node configuration, and read the declared values.

Thousands of legal sharing declarations over every GPU of the catalogue, drawn from a fixed seed,
are partitioned, rendered and given to the parsers of NVIDIA mig-parted and k8s-device-plugin in one
batch. All classes of profiles are included: mig-parted reads `+me`, `+me.all`, `+gfx` and `-me`
as attributes of any name (go-nvlib pkg/nvlib/device/mig_profile.go, the same file in the v0.8.1 of
mig-parted v0.13.1 and in the newer version that go.mod selects).
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from gpufleet.catalogue import Gpu, load
from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DEFAULT_PLUGIN_CONFIG,
    device_plugin_config_name,
    mig_config_name,
)
from gpufleet.partition.partition import Partition, cut
from gpufleet.partition.placement import MigPlacement, place
from gpufleet.render.gpu_operator_values import (
    device_plugin_files,
    mig_parted_config,
    mig_parted_file,
)
from gpufleet.spec.sharing import Sharing
from gpufleet_sandbox.tools_folder import tools_folder
from tests.engine.nvidia_parsers import DEVICE_PLUGIN, MIG_PARTED, ask

pytestmark = pytest.mark.sandbox

COUNT = 5000
SEED = 20261121
GPUS_PER_NODE = (1, 2, 3, 4, 8, 16)
POOLS_PER_CLUSTER = 25


@dataclass(frozen=True)
class Declared:
    """One legal declaration and its layouts."""

    gpu: Gpu
    count: int
    sharing: dict[str, Any]
    partition: Partition

    def __str__(self) -> str:
        return f"{self.count} x {self.gpu.key}, sharing: {json.dumps(self.sharing)}"


@dataclass(frozen=True)
class Document:
    """One rendered document, the pools it serves by configuration name, and the request."""

    pools: dict[str, Declared]
    request: dict[str, Any]


# -- drawing --------------------------------------------------------------------------------------


def _devices(chance: Random, gpu: Gpu) -> dict[str, int]:
    """A layout of one GPU: one instance and a way to fill up the rest, thinned at random."""
    assert gpu.mig is not None
    first = chance.choice(tuple(gpu.mig.profiles))
    proof = place(gpu.mig, {first: 1})
    assert isinstance(proof, MigPlacement), (gpu.key, first)
    devices = Counter({first: 1})
    if proof.completions:
        for profile, count in chance.choice(proof.completions).items():
            devices[profile] += count if chance.random() < 0.6 else chance.randint(0, count)
    return {profile: count for profile, count in devices.items() if count}


def _one_profile(chance: Random, gpu: Gpu) -> dict[str, int]:
    """Some instances of one profile; now and then compute instances within them, which only the
    single strategy can advertise."""
    assert gpu.mig is not None
    profile = chance.choice(tuple(gpu.mig.profiles.values()))
    count, slices = chance.randint(1, profile.max_instances), profile.compute_slices
    if slices > 1 and chance.random() < 0.3:
        size = chance.randint(1, slices - 1)
        return {f"{size}c.{profile.name}": chance.randint(1, count * (slices // size))}
    return {profile.name: count}


def _turns(chance: Random) -> dict[str, Any]:
    return {
        "replicas": chance.randint(2, 64),
        "rename": chance.random() < 0.7,
        "failRequestsGreaterThanOne": chance.random() < 0.7,
    }


def _mig(chance: Random, gpu: Gpu, count: int) -> dict[str, Any]:
    """One layout for all GPUs, or several for some of them each; perhaps time-sliced further."""
    strategy = chance.choice(("single", "mixed", "mixed"))
    if strategy == "single":
        layouts: list[dict[str, Any]] = [{"devices": _one_profile(chance, gpu)}]
    elif chance.random() < 0.3:
        layouts = [{"devices": _devices(chance, gpu)}]
    else:
        layouts, left = [], count
        while left and (not layouts or chance.random() < 0.8):
            some = chance.randint(1, left)
            whole = chance.random() < 0.15
            layouts.append({"gpus": some, "devices": {} if whole else _devices(chance, gpu)})
            left -= some
    mig: dict[str, Any] = {"strategy": strategy, "layouts": layouts}
    if chance.random() < 0.4:
        mig["timeSlicing"] = _turns(chance)
    return mig


def _sharing(chance: Random, gpu: Gpu, count: int) -> dict[str, Any]:
    modes = ("exclusive", "timeSlicing", "mps", *(("mig",) * 12 if gpu.mig is not None else ()))
    match chance.choice(modes):
        case "timeSlicing":
            return {"timeSlicing": _turns(chance)}
        case "mps":
            return {"mps": {"replicas": chance.randint(2, 48), "rename": chance.random() < 0.7}}
        case "mig":
            return {"mig": _mig(chance, gpu, count)}
        case _:
            return {"exclusive": {}}


def _draw(seed: int) -> Iterator[Declared]:
    """An endless series of different legal declarations."""
    chance = Random(seed)
    gpus = tuple(load().gpus.values())
    # Most alternative spellings concern MIG.
    with_mig = tuple(gpu for gpu in gpus if gpu.mig is not None)
    seen: set[tuple[str, int, str]] = set()
    while True:
        gpu = chance.choice(with_mig if chance.random() < 0.6 else gpus)
        count = chance.choice(GPUS_PER_NODE)
        sharing = _sharing(chance, gpu, count)
        key = (gpu.key, count, json.dumps(sharing, sort_keys=True))
        if key in seen:
            continue
        seen.add(key)
        try:
            model = Sharing.model_validate(sharing)
        except ValidationError as problem:
            pytest.fail(f"the test drew what the specification cannot say: {key}\n{problem}")
        partition, _ = cut(gpu, count, model, "pools[0].sharing")
        if partition is not None:
            yield Declared(gpu, count, sharing, partition)


@cache
def declarations() -> tuple[Declared, ...]:
    drawn = _draw(SEED)
    return tuple(next(drawn) for _ in range(COUNT))


# -- rendering ------------------------------------------------------------------------------------


def _mig_parted(declared: tuple[Declared, ...]) -> list[Document]:
    """mig-manager's file for a cluster of these pools, and the object it is written from."""
    pools = {mig_config_name(f"pool{i}", d.partition): d for i, d in enumerate(declared)}
    entries = {name: (d.gpu, d.partition) for name, d in pools.items()}
    texts = (mig_parted_file(entries), json.dumps(mig_parted_config(entries)))
    # A node of a cluster with one pool selects that pool's config by its label.
    args = {"select": next(iter(pools))} if len(pools) == 1 else {}
    return [Document(pools, {"kind": "mig-parted", "text": t, "args": args}) for t in texts]


def _device_plugin(declared: tuple[Declared, ...]) -> list[Document]:
    """Every document of the ConfigMap, under the strategy the operator's variable would give."""
    pools = {device_plugin_config_name(f"pool{i}", d.partition): d for i, d in enumerate(declared)}
    files = device_plugin_files({name: d.partition for name, d in pools.items()})
    assert DEFAULT_PLUGIN_CONFIG in files
    made: list[Document] = []
    for name, text in files.items():
        of = {name: pools[name]} if name in pools else {}
        args = {"MIG_STRATEGY": of[name].partition.strategy} if of else {}
        made.append(Document(of, {"kind": "device-plugin", "text": text, "args": args}))
    return made


@cache
def documents() -> tuple[Document, ...]:
    """Every declaration as a separate cluster, then many pools to a cluster."""
    drawn = declarations()
    clusters = [(declared,) for declared in drawn]
    clusters += [drawn[i : i + POOLS_PER_CLUSTER] for i in range(0, COUNT, POOLS_PER_CLUSTER)]
    return tuple(d for c in clusters for d in (*_mig_parted(c), *_device_plugin(c)))


@cache
def answers() -> tuple[dict[str, Any], ...]:
    return ask([document.request for document in documents()])


# -- validating
# --------------------------------------------------------------------------------------


def _told(document: Document, answer: dict[str, Any]) -> str:
    pools = "\n".join(f"{name}: {declared}" for name, declared in document.pools.items())
    return f"{answer['verdict']}: {answer.get('error')}\n{pools}\n{document.request['text']}"


def test_the_declarations_reach_every_gpu_profile_and_way_of_sharing() -> None:
    drawn = declarations()
    assert len(drawn) == COUNT
    gpus = load().gpus.values()
    assert {d.gpu.key for d in drawn} >= {g.key for g in gpus if g.vendor == "nvidia"}
    ways = Counter(_way(d) for d in drawn)
    assert set(ways) == {
        "exclusive",
        "timeSlicing",
        "mps",
        "mig single",
        "mig mixed",
        "mig single + timeSlicing",
        "mig mixed + timeSlicing",
    }
    assert min(ways.values()) >= COUNT // 25, ways
    wanted = {(g.key, p) for g in gpus if g.mig is not None for p in g.mig.profiles}
    cut_into = {
        (d.gpu.key, p) for d in drawn for layout in d.partition.gpus for p in layout.devices
    }
    assert wanted <= cut_into, wanted - cut_into
    assert any("c." in profile for _, profile in cut_into)
    assert any(len({tuple(g.devices.items()) for g in d.partition.gpus}) > 2 for d in drawn)


def _way(declared: Declared) -> str:
    mode = declared.partition.mode
    if mode != "mig":
        return mode
    mig = declared.sharing["mig"]
    return f"mig {mig['strategy']}" + (" + timeSlicing" if "timeSlicing" in mig else "")


def test_nvidia_accepts_every_document() -> None:
    asked, answered = documents(), answers()
    assert len(answered) == len(asked) >= 3 * COUNT
    refused = [
        _told(document, answer)
        for document, answer in zip(asked, answered, strict=True)
        if answer["verdict"] != "accept"
    ]
    assert not refused, f"{len(refused)} of {len(asked)} refused; the first:\n{refused[0]}"


def test_mig_parted_reads_the_layout_of_every_gpu() -> None:
    read = 0
    for document, answer in zip(documents(), answers(), strict=True):
        if document.request["kind"] != "mig-parted":
            continue
        for name, declared in document.pools.items():
            if name == ALL_DISABLED:
                continue
            whole_file = not document.request["args"]
            entries = answer["read"]["mig-configs"][name] if whole_file else answer["read"]
            theirs = [(i, e["mig-devices"] or {}) for e in entries for i in e["devices"]]
            ours = [(g.index, dict(g.devices)) for g in declared.partition.gpus]
            assert sorted(theirs, key=lambda pair: pair[0]) == ours, _told(document, answer)
            assert all(e["mig-enabled"] == bool(e["mig-devices"]) for e in entries)
            read += 1
    assert read > COUNT


def test_the_device_plugin_reads_what_is_advertised() -> None:
    read = 0
    for document, answer in zip(documents(), answers(), strict=True):
        if document.request["kind"] != "device-plugin":
            continue
        theirs = {
            r.get("rename") or r["name"]: r["replicas"] for r in answer["read"]["resources"] or []
        }
        ours = {
            share.resource: share.replicas
            for declared in document.pools.values()
            for share in declared.partition.shares
            if share.replicas > 1
        }
        assert theirs == ours, _told(document, answer)
        read += bool(ours)
    assert read > COUNT // 4


# -- that a refusal would be seen ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("mig-parted", "mig-enabled: true", "mig-enabled: false"),
        ("mig-parted", "mig-devices:", "mig-device:"),
        ("mig-parted", 'g.', 'g-'),
        ("device-plugin", "replicas: ", "replicas: -"),
        ("device-plugin", "version: v1", "version: v2"),
    ],
)  # fmt: skip
def test_a_broken_document_is_refused(kind: str, good: str, bad: str) -> None:
    document = next(
        d for d in documents() if d.request["kind"] == kind and good in d.request["text"]
    )
    broken = document.request | {"text": document.request["text"].replace(good, bad)}
    fine, refused = ask([document.request, broken])
    assert fine["verdict"] == "accept"
    assert refused["verdict"] == "reject", broken["text"]
    assert refused["error"]


def test_the_pinned_releases_are_the_ones_named() -> None:
    pins = (tools_folder() / "nvidia-parsers" / "go.mod").read_text(encoding="utf-8")
    assert f"github.com/NVIDIA/mig-parted {MIG_PARTED}\n" in pins
    assert f"github.com/NVIDIA/k8s-device-plugin {DEVICE_PLUGIN}\n" in pins
