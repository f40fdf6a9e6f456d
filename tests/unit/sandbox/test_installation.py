import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpufleet_sandbox import installation
from gpufleet_sandbox.layout import SandboxLayout
from gpufleet_sandbox.programs import ProviderPlugin


def program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_programs_and_plugin_land_where_they_are_looked_for(tmp_path: Path) -> None:
    layout, cache = SandboxLayout(tmp_path / "s"), tmp_path / "cache"
    programs = {n: program(cache, n) for n in ("etcd", "pulumi-resource-kubernetes")}
    installation.install(layout, programs, ProviderPlugin("4.25.0"))
    plugin = layout.pulumi_home / "plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes"
    assert os.access(layout.bin / "etcd", os.X_OK)
    assert os.access(plugin, os.X_OK)
    assert not (layout.bin / "pulumi-resource-kubernetes").exists()


def test_the_engine_is_no_symbolic_link_and_our_host_lies_beside_it(tmp_path: Path) -> None:
    layout = SandboxLayout(tmp_path / "s")
    installation.install(layout, {"pulumi": program(tmp_path / "c", "pulumi")}, ProviderPlugin("1"))
    assert not (layout.bin / "pulumi").is_symlink()
    assert sys.executable in (layout.bin / "pulumi-language-python").read_text()


def test_the_vendors_installation_is_kept_together(tmp_path: Path) -> None:
    layout, vendor = SandboxLayout(tmp_path / "s"), tmp_path / "vendor"
    engine = program(tmp_path / "built", "pulumi")
    installation.install(layout, {"pulumi": engine}, ProviderPlugin("1"))
    program(vendor, "pulumi-language-python")
    installation.install(layout, {"pulumi": program(vendor, "pulumi")}, ProviderPlugin("1"))
    assert (layout.bin / "pulumi").resolve() == vendor / "pulumi"
    assert not (layout.bin / "pulumi-language-python").exists()


def test_another_version_replaces_the_file_in_one_step(tmp_path: Path) -> None:
    first, second = program(tmp_path / "1", "etcd", "one"), program(tmp_path / "2", "etcd", "two")
    target = tmp_path / "bin" / "etcd"
    target.parent.mkdir()
    installation.place(first, target)
    running = target.open()
    installation.place(second, target)
    assert target.read_text() == "two"
    assert running.read() == "one"
    running.close()
    assert [file.name for file in target.parent.iterdir()] == ["etcd"]


def test_another_file_system_gets_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError("cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    source, target = program(tmp_path / "c", "etcd"), tmp_path / "etcd"
    installation.place(source, target)
    before = target.stat()
    assert not target.samefile(source)
    installation.place(source, target)
    assert target.stat().st_ino == before.st_ino


def test_the_passphrase_file_is_always_whole(tmp_path: Path) -> None:
    path = tmp_path / "passphrase"
    for before in ("", "damaged", f"{installation.PASSPHRASE}\n"):
        path.write_text(before)
        installation.write_passphrase(path)
        assert path.read_text() == f"{installation.PASSPHRASE}\n"


def test_the_command_itself_is_found_without_its_environment(tmp_path: Path) -> None:
    layout = SandboxLayout(tmp_path / "a folder")
    installation.install_command(layout)
    # A file of that name in the current folder is not what the command imports.
    (tmp_path / "click.py").write_text("raise SystemExit('wrong module')")
    done = subprocess.run(
        ["gpufleet", "--version"],
        env={"PATH": f"{layout.bin}:/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gpufleet")
