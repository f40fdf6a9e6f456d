"""Nineteen secrets in a pod, a dump and a state: no command prints one, in no format.

They are in usual places: variables, arguments, addresses, annotations, messages of events, data of
Secrets. The formats are those of their issuers; the values are invented.
"""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from gpufleet.cli import commands

KEYS = "a1B2c3D4e5F6g7H8i9J0"
SECRETS = {
    "aws": "AKIAIOSFODNN7EXAMPLQ",
    "github": f"ghp_{KEYS}{KEYS}",
    "gitlab": f"glpat-{KEYS}",
    "huggingface": f"hf_{KEYS}AbCdEfGh",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{KEYS}",
    "ngc": f"nvapi-{KEYS}Zx9Yw8",
    "slack": f"xoxb-123456789012-{KEYS}",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "google-access": f"ya29.{KEYS}{KEYS}",
    "pulumi": "pul-" + "0123456789abcdef0123456789abcdef01234567",
    "npm": "npm_" + f"{KEYS}{KEYS}"[:36],
    "vault": f"hvs.{KEYS}{KEYS}",
    "databricks": "dapi" + "0123456789abcdef0123456789abcdef",
    "docker": f"dckr_pat_{KEYS}",
    "bootstrap": "a1b2c3.0123456789abcdef",
    "openai": f"sk-proj-{KEYS}{KEYS}",
    "password": "correct-horse-battery",
    "random": "q7Xz9Lw2Rt5Vb8Nm3Kp6Yd1Fg4Hj0Sc",
    "url": "s3cr3tPassw0rd",
}
CONTAINER: dict[str, Any] = {
    "name": "c",
    "image": "ubuntu:24.04",
    "command": ["sleep", "infinity"],
    "args": [
        *(f"--{name}-token={value}" for name, value in SECRETS.items()),
        f"http://user:{SECRETS['url']}@host/x",
    ],
    "env": [{"name": f"{name.upper()}_TOKEN", "value": value} for name, value in SECRETS.items()],
    "resources": {"limits": {"nvidia.com/gpu": "1"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "x", "annotations": {f"a/{key}": v for key, v in SECRETS.items()}},
    "spec": {"containers": [CONTAINER]},
    "status": {
        "phase": "Pending",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": f"refused: token={SECRETS['random']}",
            }
        ],
    },
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "n",
        "annotations": SECRETS,
        "labels": {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-L4"},
    },
    "status": {"allocatable": {"nvidia.com/gpu": "0"}},
}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": SECRETS}
RESOURCE = {
    "urn": "urn:pulumi:dev::p::kubernetes:core/v1:Pod::x",
    "type": "kubernetes:core/v1:Pod",
    "custom": True,
    "inputs": POD,
}
FILES = {
    "pod.json": POD,
    "dump.json": {"apiVersion": "v1", "kind": "List", "items": [POD, NODE, SECRET]},
    "state.json": {"version": 3, "deployment": {"resources": [RESOURCE]}},
}
FLEET: dict[str, Any] = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1", **SECRETS},
    "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}, "labels": SECRETS}],
    **{f"{key}Token": value for key, value in SECRETS.items()},
}
SAMPLES = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [{"metric": {"__name__": "gpu:node:pool", **SECRETS}, "values": [[0, "1"]]}],
    },
}
FILES |= {"fleet.json": FLEET, "samples.json": SAMPLES, "list.json": list(SECRETS.values())}
RIGHT = "right.json"
"""A declaration without secrets, for commands that read another file as well."""
REPORTS = ("text", "json", "sarif", "junit", "github", "html")
CALLS = [
    *(("audit", ["--format", name]) for name in REPORTS),
    ("audit", ["--verbose"]),
    ("audit", ["--patch"]),
    ("check", []),
    ("check", ["--format", "json"]),
    ("doctor", ["--all"]),
    ("doctor", ["--format", "json"]),
    ("doctor", ["--mask"]),
    ("adopt", []),
    ("adopt", ["--format", "json"]),
    *((name, []) for name in ("compile", "explain", "mirror", "preflight", "calendar")),
    *((name, ["--format", "json"]) for name in ("compile", "explain", "mirror", "calendar")),
    *((name, []) for name in ("plan", "size", "pack")),
    *((name, ["--format", "json"]) for name in ("plan", "size", "pack")),
    ("plan", ["--regions", "us-east-1,eu-west-1"]),
    ("audit", ["--fix", "--diff"]),
    ("render", ["--out", "out", "--dry-run"]),
    ("change", [RIGHT]),
    ("change", [RIGHT, "--format", "json"]),
    ("cost", ["--spec", RIGHT]),
    ("rightsize", ["--spec", RIGHT]),
    ("own", [RIGHT]),
    ("policies init", []),
    ("policies admission", ["--config"]),
    ("vsphere orphans", ["--server", "vc.example", "--datacenter", "DC1"]),
    ("vsphere inventory", ["--server", "v", "--datacenter", "DC1", "--cluster", "gpu"]),
]  # fmt: skip
READS_NO_FILE = {"catalogue", "partition", "policies explain", "policies rules", "schema"}


def leaves() -> Iterator[str]:
    """Every command and subcommand but those of the sandbox, another distribution."""
    for name, row in commands().items():
        command = importlib.import_module(row.module).command
        inner = command.commands if isinstance(command, click.Group) else None
        if name != "sandbox":
            yield from [name] if inner is None else (f"{name} {one}" for one in inner)


def test_every_command_is_asked() -> None:
    assert {name for name, _ in CALLS} | READS_NO_FILE == set(leaves())


@pytest.mark.parametrize(("name", "options"), CALLS, ids=lambda one: str(one))
@pytest.mark.parametrize("file", FILES)
def test_no_secret_is_printed(
    file: str, name: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(json.dumps(FILES[file]), encoding="utf-8")
    right = {**FLEET, "cluster": {"name": "ml", "region": "us-east-1"}}
    right["pools"] = [{"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}}]
    names = ("catalogue", "platform", "cluster", "pools")
    Path(RIGHT).write_text(json.dumps({key: right[key] for key in names}), encoding="utf-8")
    first, *inner = name.split()
    command = importlib.import_module(commands()[first].module).command
    arguments = [*options, file] if "--config" in options else [file, *options]
    done = CliRunner().invoke(command, [*inner, *arguments])
    said = f"{done.output}{done.exception or ''}"
    assert said.strip()
    assert [key for key, value in SECRETS.items() if value in said] == []
