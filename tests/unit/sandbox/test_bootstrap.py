"""All ways to a program, with a Go client and vendors that are small simulators."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from gpufleet_sandbox import bootstrap, go_build, installed_programs, program_cache
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.programs import PROGRAMS
from gpufleet_sandbox.tools_folder import tools_folder
from tests.engine.waiting import until

FAKE_GO = """#!/bin/sh
# Writes a program that prints its version, slowly when told so.
echo "$@" >> "$FAKE_GO_LOG"
echo "GOFLAGS=$GOFLAGS GOWORK=$GOWORK" >> "$FAKE_GO_LOG"
case "$*" in *"$FAKE_GO_FAILS_FOR"*) ;; *) FAKE_GO_FAILS= ;; esac
if [ -n "$FAKE_GO_FAILS" ]; then echo "go: $FAKE_GO_FAILS" >&2; exit 1; fi
case "$*" in "list -m -f {{.Dir}} "*) echo "$FAKE_GO_MODULES/$5"; exit ;; esac
echo "example.org/some/package" >&2
if [ -n "$FAKE_GO_SLEEPS" ]; then sleep "$FAKE_GO_SLEEPS" & wait; fi
while [ $# -gt 0 ]; do
  if [ "$1" = "-o" ]; then printf '#!/bin/sh\\necho 9.9.9\\n' > "$2"; fi
  shift
done
"""


class Recorder:
    """Progress that keeps its reports."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)

    def task(self, name: str, seconds: float) -> "Recorder":
        return self

    def detail(self, text: str) -> None:
        self.lines.append(text)

    done = failed = detail


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with only a Go client, and a separate cache."""
    folder = tmp_path / "path"
    folder.mkdir()
    go = folder / "go"
    go.write_text(FAKE_GO)
    go.chmod(0o755)
    for name in ("sh", "sleep"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("GPUFLEET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GPUFLEET_NO_DOWNLOAD", "1")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "no-pulumi"))
    monkeypatch.setenv("FAKE_GO_LOG", str(tmp_path / "go.log"))
    monkeypatch.setenv("FAKE_GO_MODULES", str(tmp_path / "modules"))
    shutil.copytree(tools_folder() / "pulumi" / "replaced", tmp_path / "modules")
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    return tmp_path


def calls(machine: Path) -> list[str]:
    log = machine / "go.log"
    return log.read_text().splitlines() if log.exists() else []


def entry_of(name: str) -> program_cache.CachedProgram:
    key = program_cache.key(PROGRAMS[name], tools_folder(), program_cache.go_platform())
    return program_cache.CachedProgram(PROGRAMS[name], program_cache.cache_folder(), key)


def test_a_missing_program_is_built_once(machine: Path) -> None:
    first = bootstrap.prepare(["etcd"], Recorder())
    again = bootstrap.prepare(["etcd"], Recorder())
    assert first == again
    assert os.access(first["etcd"], os.X_OK)
    assert len([line for line in calls(machine) if line.startswith("build")]) == 1
    assert entry_of("etcd").source() == "build"


def test_pins_cannot_be_rewritten(machine: Path) -> None:
    before = {f.name: f.read_bytes() for f in (tools_folder() / "control-plane").iterdir()}
    bootstrap.prepare(["kwok"], Recorder())
    assert "GOFLAGS=-mod=readonly GOWORK=off" in calls(machine)
    assert {f.name: f.read_bytes() for f in (tools_folder() / "control-plane").iterdir()} == before


def test_a_module_with_folders_is_built_and_all_of_it_is_in_the_key(
    machine: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    shutil.copytree(tools_folder(), tools)
    inner = tools / "kubernetes-provider" / "sdk" / "go.mod"
    inner.chmod(0o444)  # as in an installed wheel
    program, target = PROGRAMS["pulumi-resource-kubernetes"], ("linux", "amd64")
    before = program_cache.key(program, tools, target)
    inner.chmod(0o644)
    inner.write_text(inner.read_text() + "// another\n")
    assert before != program_cache.key(program, tools, target)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    plain = dataclasses.replace(program, schema_of=None)
    build = go_build.GoBuild(plain, tools, scratch, threading.Event(), lambda _text: None)
    assert (build.run() / program.name).is_file()
    copied = scratch / "module" / "sdk" / "go.mod"
    assert copied.read_text().endswith("// another\n")
    assert os.access(copied.parent, os.X_OK)


def test_files_of_ours_take_the_place_of_those_of_a_module(machine: Path, tmp_path: Path) -> None:
    module = machine / "modules" / "example.com" / "mod"
    module.mkdir(parents=True)
    (module / "a.go").write_text("package mod // theirs\n")
    (module / "b.go").write_text("package mod // kept\n")
    (module / "a_test.go").write_text("package mod\n")
    for file in (*module.iterdir(), module):
        file.chmod(0o555)  # as in Go's cache
    tools = tmp_path / "tools"
    ours = tools / "x" / "replaced" / "example.com" / "mod"
    ours.mkdir(parents=True)
    (ours / "a.go").write_text("package mod // ours\n")
    (tools / "x" / "go.mod").write_text("module x\n\nrequire (\n\texample.com/mod v1.0.0\n)\n")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = dataclasses.replace(PROGRAMS["etcd"], module="x")
    build = go_build.GoBuild(program, tools, scratch, threading.Event(), lambda _text: None)
    assert (build.run() / program.name).is_file()
    copy = scratch / "modules" / "example.com" / "mod"
    assert sorted(file.name for file in copy.iterdir()) == ["a.go", "b.go"]
    assert (copy / "a.go").read_text() == "package mod // ours\n"
    assert f"mod edit -replace=example.com/mod={copy}" in calls(machine)

    (ours / "a.go").rename(ours / "gone.go")
    shutil.rmtree(scratch)
    scratch.mkdir()
    with pytest.raises(SandboxError, match=r"example.com/mod has no gone.go any more"):
        build.run()


def test_kubernetes_knows_its_version_and_uses_no_profile(machine: Path) -> None:
    bootstrap.prepare(["kube-scheduler"], Recorder())
    build = calls(machine)[0]
    assert "-pgo=off" in build
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in build
    assert "-X k8s.io/component-base/version.gitMinor=36" in build


@pytest.mark.parametrize("damage", ["truncated", "overwritten", "missing", "digest"])
def test_a_damaged_program_is_made_again(machine: Path, damage: str) -> None:
    path = bootstrap.prepare(["etcd"], Recorder())["etcd"]
    good = path.read_bytes()
    if damage == "truncated":
        os.truncate(path, 3)
    elif damage == "overwritten":
        path.write_bytes(b"X" * len(good))
        os.utime(path, ns=(1, 1))
    elif damage == "missing":
        path.unlink()
    else:
        (path.parent / "digest.json").write_text("{")
    assert not entry_of("etcd").is_valid()
    assert bootstrap.prepare(["etcd"], Recorder())["etcd"].read_bytes() == good
    assert entry_of("etcd").is_valid()


def test_a_touched_program_is_still_good(machine: Path) -> None:
    path = bootstrap.prepare(["etcd"], Recorder())["etcd"]
    os.utime(path, ns=(1, 1))
    assert entry_of("etcd").is_valid()


def test_other_pins_are_another_entry(machine: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    shutil.copytree(tools_folder(), tools)
    target = ("linux", "amd64")
    before = program_cache.key(PROGRAMS["etcd"], tools, target)
    assert before == program_cache.key(PROGRAMS["etcd"], tools_folder(), target)
    assert before != program_cache.key(PROGRAMS["etcd"], tools, ("linux", "arm64"))
    with (tools / "control-plane" / "go.sum").open("a") as sums:
        sums.write("\n")
    assert before != program_cache.key(PROGRAMS["etcd"], tools, target)


def test_without_go_one_message_names_every_program_and_way(machine: Path) -> None:
    (machine / "path" / "go").unlink()
    with pytest.raises(SandboxError) as caught:
        bootstrap.prepare(["etcd", "kwok", "pulumi"], Recorder())
    text = str(caught.value)
    for name in ("etcd >=3.5.0, <4", "kwok >=0.7.0, <1", "pulumi >=3.237.0, <4"):
        assert name in text
    for way in ("put it on PATH", "GPUFLEET_NO_DOWNLOAD", "install Go"):
        assert way in text
    left = [file.name for file in program_cache.cache_folder().iterdir()]
    assert all(name.endswith(".lock") for name in left)


def test_what_go_says_is_in_the_message(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "dial tcp: lookup proxy: no such host")
    with pytest.raises(SandboxError, match="dial tcp: lookup proxy: no such host"):
        bootstrap.prepare(["etcd"], Recorder())
    assert not entry_of("etcd").scratch.exists()
    assert not entry_of("etcd").folder.exists()


def test_one_failure_does_not_cost_the_others(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "no")
    monkeypatch.setenv("FAKE_GO_FAILS_FOR", "go.etcd.io")
    with pytest.raises(SandboxError, match="etcd") as caught:
        bootstrap.prepare(["etcd", "kwok"], Recorder())
    assert "kwok:" not in str(caught.value)
    assert entry_of("kwok").is_valid()


def test_an_unknown_program_is_refused() -> None:
    with pytest.raises(SandboxError, match="no such program: minikube; there are pulumi"):
        bootstrap.prepare(["minikube"], Recorder())


SCRIPT = """
from gpufleet_sandbox import bootstrap
from gpufleet_sandbox.progress import SilentProgress
bootstrap.prepare(["etcd"], SilentProgress())
"""


def run_prepare() -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", SCRIPT], stderr=subprocess.PIPE, text=True)


def go_processes(machine: Path) -> list[int]:
    go = str(machine / "path" / "go")
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if go in (process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def noted(entry: program_cache.CachedProgram) -> bool:
    """Whether the run has written down which process builds; a moment after it was started."""
    try:
        return bool(json.loads((entry.scratch / "go.json").read_text()))
    except (OSError, ValueError):
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interruption_leaves_nothing_that_hurts(
    machine: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("FAKE_GO_SLEEPS", "60")
    run = run_prepare()
    until(lambda: go_processes(machine) and noted(entry_of("etcd")), "the build runs")
    run.send_signal(number)
    run.communicate(timeout=60)
    if number == signal.SIGINT:
        assert not go_processes(machine)
        assert not entry_of("etcd").scratch.exists()
    assert not entry_of("etcd").folder.exists()
    monkeypatch.delenv("FAKE_GO_SLEEPS")
    assert bootstrap.prepare(["etcd"], Recorder())["etcd"].is_file()
    assert not go_processes(machine), "the orphan of the killed run is ended"
    assert not entry_of("etcd").scratch.exists()


def test_two_runs_share_one_build(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GO_SLEEPS", "1")
    runs = [run_prepare(), run_prepare()]
    assert [run.communicate()[1] for run in runs] == ["", ""]
    assert [run.returncode for run in runs] == [0, 0]
    assert len([line for line in calls(machine) if line.startswith("build")]) == 1


def test_a_reused_process_id_is_no_orphan(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        (tmp_path / "go.json").write_text(f'{{"pid": {child.pid}, "started": 1.0}}')
        go_build.end_orphan(tmp_path)
        assert child.poll() is None
        child.kill()


def installed(machine: Path, name: str, prints: str) -> Path:
    path = machine / "path" / name
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("name", "prints"),
    [
        ("pulumi", "v3.250.1"),
        ("etcd", "etcd Version: 3.5.9"),
        ("kube-apiserver", "Kubernetes v1.36.0"),
        ("kwok", "kwok version v0.7.0 go1.25.0 (linux/amd64)"),
    ],
)
def test_an_installed_program_of_a_fitting_version_is_taken(
    machine: Path, name: str, prints: str
) -> None:
    path = installed(machine, name, prints)
    assert bootstrap.prepare([name], Recorder()) == {name: path}
    assert calls(machine) == []


@pytest.mark.parametrize(
    ("name", "prints", "reason"),
    [
        ("pulumi", "v3.236.0", "is 3.236.0, needed is >=3.237.0, <4"),
        ("kube-apiserver", "Kubernetes v1.37.0", "is 1.37.0, needed is >=1.36.0, <1.37.0"),
        ("etcd", "who knows", "does not say its version"),
    ],
)
def test_another_version_is_left_and_said_so(
    machine: Path, name: str, prints: str, reason: str
) -> None:
    installed(machine, name, prints)
    recorder = Recorder()
    path = bootstrap.prepare([name], recorder)[name]
    assert path.is_relative_to(program_cache.cache_folder())
    assert any(reason in line for line in recorder.lines)


def test_programs_of_a_sandbox_on_path_are_not_installed_ones(
    machine: Path, tmp_path: Path
) -> None:
    sandbox = tmp_path / "sandbox"
    (sandbox / "bin").mkdir(parents=True)
    (sandbox / ".lock").touch()
    program = sandbox / "bin" / "etcd"
    program.write_text("#!/bin/sh\necho 3.6.0\n")
    program.chmod(0o755)
    environment = {"PATH": f"{sandbox / 'bin'}:{machine / 'path'}"}
    assert installed_programs.find(PROGRAMS["etcd"], environment).path is None


def test_the_provider_is_taken_from_the_plugin_folder(machine: Path, tmp_path: Path) -> None:
    from gpufleet_sandbox.programs import ProviderPlugin

    folder = tmp_path / "home" / "plugins" / ProviderPlugin().folder
    folder.mkdir(parents=True)
    plugin = folder / "pulumi-resource-kubernetes"
    plugin.touch(mode=0o755)
    found = installed_programs.find(
        PROGRAMS["pulumi-resource-kubernetes"], {"PULUMI_HOME": str(tmp_path / "home")}
    )
    assert found.path == plugin


def test_versions_named_in_the_table_are_the_pins() -> None:
    for program in PROGRAMS.values():
        pins = (tools_folder() / program.module / "go.mod").read_text()
        module = {
            "pulumi-resource-kubernetes": "github.com/pulumi/pulumi-kubernetes/provider/v4",
            "pulumi": "github.com/pulumi/pulumi/pkg/v3",
            "kwok": "sigs.k8s.io/kwok",
            "etcd": "go.etcd.io/etcd/server/v3",
            "pulumi-language-yaml": "github.com/pulumi/pulumi-yaml",
            "nvidia-parsers": "github.com/NVIDIA/k8s-device-plugin",
            "kueue": "sigs.k8s.io/kueue",
            "keda": "github.com/kedacore/keda/v2",
            "kube-state-metrics": "k8s.io/kube-state-metrics/v2",
            "helm": "helm.sh/helm/v3",
            "conftest": "github.com/open-policy-agent/conftest",
            "kube-score": "github.com/zegl/kube-score",
            "karpenter": "sigs.k8s.io/karpenter",
            "nfd-master": "sigs.k8s.io/node-feature-discovery",
            "promtool": "github.com/prometheus/prometheus",
            "prometheus": "github.com/prometheus/prometheus",
            "pulumi-sdks": "github.com/pulumi/pulumi/pkg/v3",
            "pulumi-sdks-java-dotnet": "github.com/pulumi/pulumi-java/pkg",
            "vcsim": "github.com/vmware/govmomi",
        }.get(program.name, "k8s.io/kubernetes")
        pinned = next(line.split() for line in pins.splitlines() if f"{module} v" in line)
        version = next(word for word in pinned if word.startswith("v"))
        if program.schema_of is None:
            assert version == f"v{program.version}", program.name
        else:
            # A commit of the module: the tag belongs to the repository, not to the Go module.
            assert version == "v4.0.0-20260115033456-f47bc2d6f199"
