"""Foreign configurations, mutated: the same ones in every run.

Mutations keep most documents near the border between accepted and refused: one or two changes to a
document that works, written out as YAML in one of several styles.
"""

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MIG_PARTED: list[dict[str, Any]] = [
    {"version": "v1", "mig-configs": {"all-disabled": [{"devices": "all", "mig-enabled": False}]}},
    {
        "version": "v1",
        "mig-configs": {
            "balanced": [
                {
                    "device-filter": ["0x20B210DE", "0x20B510DE"],
                    "devices": "all",
                    "mig-enabled": True,
                    "mig-devices": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1},
                }
            ],
            "half": [
                {"devices": [0, 1, 2, 3], "mig-enabled": False, "mig-devices": {}},
                {
                    "devices": [4, 5, 6, 7],
                    "mig-enabled": True,
                    "mig-devices": {"1g.10gb+me": 1, "1g.10gb": 6},
                },
            ],
            "parts": [
                {"devices": "all", "mig-enabled": True, "mig-devices": {"1c.3g.40gb": 3}},
            ],
        },
    },
    {
        "version": "v1",
        "mig-configs": {
            "enabled": [{"devices": [0], "mig-enabled": True, "mig-devices": {}}],
        },
    },
]

DEVICE_PLUGIN: list[dict[str, Any]] = [
    {
        "version": "v1",
        "sharing": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}},
    },
    {
        "version": "v1",
        "flags": {
            "migStrategy": "mixed",
            "failOnInitError": True,
            "plugin": {"deviceListStrategy": ["envvar", "cdi-cri"], "deviceIDStrategy": "uuid"},
            "gfd": {"sleepInterval": "60s", "oneshot": False},
        },
        "sharing": {
            "timeSlicing": {
                "renameByDefault": True,
                "failRequestsGreaterThanOne": True,
                "resources": [
                    {"name": "nvidia.com/mig-1g.10gb", "replicas": 2, "devices": "all"},
                    {"name": "gpu", "replicas": 3, "rename": "gpu.shared"},
                ],
            }
        },
        "imex": {"channelIDs": [0], "required": False},
    },
    {
        "version": "v1",
        "flags": {"migStrategy": "none", "mpsRoot": "/run/nvidia/mps"},
        "resources": {"gpus": [{"pattern": "*", "name": "gpu"}], "mig": []},
        "sharing": {"mps": {"resources": [{"name": "gpu", "replicas": 10, "devices": [0, "0:1"]}]}},
    },
]

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 49, 2.0, 2.5, 1e21, "", "v1", "v2", "all", "none", "1", "yes",
    "mixed", "single", "gpu", "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "example.com/gpu", "GPU",
    "H100", "0x20B210DE", "0x233010DE:0x16C110DE", [], {}, [0], [0, 0], [-1], [1.5], [None], ["0"],
    ["GPU-b1028956-cfa2-0990-bf4a-5da9abb51763"], ["MIG-GPU-x"], {"1g.10gb": 7}, {"1g.10gb": 0},
    {"1g.10gb": 8}, {"1g.10gb": 0, "2g.20gb": 1}, {"1g.5gb": "7"}, {"1G.5GB": 1}, "60s", "1h30", 60,
    "envvar", ["envvar", "bogus"], "cdi-annotations", "uuid", "index", "packed", "tegra",
    "a" * 60, "mig-1g.10gb.me", "mig-1g.10gb+me", [{"name": "gpu", "replicas": 2}],
)  # fmt: skip
_KEYS = (
    "version", "Version", "bogus", "sharing", "Sharing", "timeSlice", "timeSlicing", "mps", "MPS",
    "resources", "Resources", "replicas", "name", "interval", "devices", "mig-enabled", "flags",
    "mig-devices", "device-filter", "migStrategy", "MIGSTRATEGY", "sharedDevicesAllocationPolicy",
    "plugin", "mpsRoot", "deviceDiscoveryStrategy", "rename", "renameByDefault", "imex",
)  # fmt: skip
_PROFILES = (
    "1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb", "1g.5gb", "1g.5", "1g.10gb.me", "1g.10gb+me",
    "1g.10gb+me,me", "1g.10gb+me-me", "1c.3g.40gb", "3c.3g.40gb", "01g.10gb", "0g.0gb", " 1g.10gb",
    "1g.10gb+1me", "1g.10gb-me", "1g.10gb+", "x", "-1g.10gb", "1g.+10gb", "9g.990gb",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One document with the circumstances under which it is validated."""

    kind: str
    text: str
    select: str | None = None
    args: dict[str, str] = field(default_factory=dict)
    gpu: str | None = None
    context: dict[str, Any] = field(default_factory=dict)


def cases(seed: int, count: int) -> Iterator[Case]:
    """The first `count` cases of a seed."""
    chance = random.Random(seed)
    for _ in range(count):
        yield _case(chance)


def _case(chance: random.Random) -> Case:
    kind = chance.choice(("mig-parted", "device-plugin"))
    document = copy.deepcopy(chance.choice(MIG_PARTED if kind == "mig-parted" else DEVICE_PLUGIN))
    changes = chance.choice((0, 1, 1, 1, 1, 2))
    for _ in range(changes):
        document = _mutate(chance, document)
    text = _mutate_text(chance, _written(chance, document))
    gpu = chance.choice((None, "A100-80GB", "A100-80GB", "H100-80GB", "L4"))
    context: dict[str, Any] = {}
    if chance.random() < 0.5:
        context["gpusPerNode"] = chance.choice((1, 4, 8))
    if kind == "mig-parted":
        configs = document.get("mig-configs") if isinstance(document, dict) else None
        names = list(configs) if isinstance(configs, dict) else []
        select = chance.choice((*names, *names, *names, None, "missing"))
        args = {} if select is None else {"select": select}
        return Case(kind, text, select, args, gpu, context)
    env: dict[str, str] = {}
    if chance.random() < 0.3:
        env["MIG_STRATEGY"] = chance.choice(("none", "single", "mixed", "bogus"))
    if chance.random() < 0.3:
        env["MPS_ROOT"] = chance.choice(("/run/nvidia/mps", ""))
    if env:
        context["env"] = env
    return Case(kind, text, None, env, gpu, context)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, (*path, index))


def _mutate(chance: random.Random, document: Any) -> Any:
    document = copy.deepcopy(document)
    path = chance.choice(list(_places(document)))
    if not path:
        return chance.choice(_VALUES) if chance.random() < 0.1 else document
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    last = path[-1]
    what = chance.choice(("value", "value", "value", "remove", "rename", "add", "swap"))
    if what == "value":
        parent[last] = copy.deepcopy(chance.choice(_VALUES))
    elif what == "remove":
        del parent[last]
    elif isinstance(parent, list):
        parent.insert(last, copy.deepcopy(chance.choice((parent[last], *_VALUES))))
    elif what == "add":
        parent[chance.choice(_KEYS)] = copy.deepcopy(chance.choice(_VALUES))
    else:
        names = _PROFILES if path[-2:-1] == ("mig-devices",) else _KEYS
        parent[chance.choice((*names, last.upper(), last.title(), last[:-1]))] = parent.pop(last)
    return document


def _written(chance: random.Random, document: Any) -> str:
    style = chance.choice(("json", "block", "block", "bare"))
    if style == "json":
        return json.dumps(document)
    return _block(document, "", bare=style == "bare")


def _block(value: Any, indent: str, *, bare: bool) -> str:
    """Block YAML; `bare` omits quotes where the text allows it, so that `yes` is a boolean."""
    if isinstance(value, dict) and value:
        lines = []
        for key, inner in value.items():
            nested = isinstance(inner, dict | list) and inner
            below = "\n" + _block(inner, indent + "  ", bare=bare) if nested else None
            head = f"{indent}{_scalar(key, bare=bare)}:"
            lines.append(head + (below or f" {_scalar(inner, bare=bare)}"))
        return "\n".join(lines)
    if isinstance(value, list) and value:
        return "\n".join(f"{indent}- {json.dumps(inner)}" for inner in value)
    return indent + _scalar(value, bare=bare)


def _scalar(value: Any, *, bare: bool) -> str:
    if isinstance(value, str) and bare and value and value[0].isalnum() and ": " not in value:
        return value
    return json.dumps(value)


def _mutate_text(chance: random.Random, text: str) -> str:
    """Rarely, something only text can do."""
    if chance.random() > 0.08:
        return text
    what = chance.choice(("repeat", "document", "tail", "tag", "comment", "number"))
    lines = text.splitlines()
    if what == "repeat":
        return "\n".join([*lines, lines[0]]) if not text.startswith("{") else text
    if what == "document":
        return text + "\n---\nversion: v2\n"
    if what == "tail":
        return text[: chance.randrange(len(text) + 1)]
    if what == "tag":
        return text.replace(": ", ": !!str ", 1)
    if what == "number":
        return text.replace("2", chance.choice(("0x2", "0b10", "2_0", "02", "+2", "2e0", "0o2")), 1)
    return "# nothing but a comment\n" if chance.random() < 0.3 else "# first\n" + text
