"""Installs programs where the engine and the shell look for them: one folder, one plugin folder."""

import filecmp
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from gpufleet_sandbox.cloud import installation as cloud_stand_ins
from gpufleet_sandbox.layout import SandboxLayout
from gpufleet_sandbox.programs import ProviderPlugin
from gpufleet_sandbox.state import write_atomically

_PROVIDER = "pulumi-resource-kubernetes"
_LANGUAGE_HOST = "pulumi-language-python"
_DYNAMIC_PROVIDER = "pulumi-resource-pulumi-python"


def install(layout: SandboxLayout, programs: Mapping[str, Path], plugin: ProviderPlugin) -> None:
    """Make `bin/` and the plugin folder name exactly these programs.

    Args:
        layout: The sandbox.
        programs: Program name -> executable, in the program cache or on PATH.
        plugin: The provider as the engine will request it.
    """
    layout.bin.mkdir(parents=True, exist_ok=True)
    for name, program in programs.items():
        if name == _PROVIDER:
            folder = layout.pulumi_home / "plugins" / plugin.folder
            folder.mkdir(parents=True, exist_ok=True)
            place(program, folder / name)
        elif name == "pulumi" and _has_real_host(program):
            # The engine looks for language hosts next to its own file, links followed: a link keeps
            # the vendor's installation together.
            _link(program, layout.bin / name)
        else:
            place(program, layout.bin / name)
    if "pulumi" in programs:
        _install_language_host(layout, programs["pulumi"])
        cloud_stand_ins.install(layout.pulumi_home)


def install_command(layout: SandboxLayout) -> None:
    """Make `gpufleet` itself callable from `bin/`: its environment need not be activated.

    Only the command: the environment's whole folder on PATH would bring its `python` along.
    """
    command = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m gpufleet.cli "$@"\n'
    write_atomically(layout.bin / "gpufleet", command, 0o755)


def _has_real_host(engine: Path) -> bool:
    return (engine.resolve().parent / _LANGUAGE_HOST).is_file()


def _install_language_host(layout: SandboxLayout, engine: Path) -> None:
    if _has_real_host(engine):
        # An earlier `up` may have placed ours, which would now win over the real one.
        for name in (_LANGUAGE_HOST, _DYNAMIC_PROVIDER):
            (layout.bin / name).unlink(missing_ok=True)
        return
    if find_spec("gpufleet_sandbox.language_host") is None:
        return  # Python programs then need the vendor's host; the engine reports it
    from gpufleet_sandbox import language_host

    language_host.install(layout.bin, sys.executable)


def place(program: Path, target: Path) -> None:
    """Make `target` the same file as `program`: a hard link, else a copy.

    Not a symbolic link: the engine follows it and then misses the language host next to its name.
    The target is replaced in one step, so a running program keeps the file it started from.
    """
    program = program.resolve()
    if target.is_file() and not target.is_symlink() and _is_same(program, target):
        return
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        fresh.hardlink_to(program)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(program, fresh)
    fresh.replace(target)


def _is_same(program: Path, target: Path) -> bool:
    if program.samefile(target):
        return True
    ours, theirs = program.stat(), target.stat()
    if (ours.st_size, ours.st_mtime_ns) != (theirs.st_size, theirs.st_mtime_ns):
        return False
    return filecmp.cmp(program, target, shallow=True)


def _link(program: Path, target: Path) -> None:
    if target.is_symlink() and target.resolve() == program.resolve():
        return
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(program.resolve())
    fresh.replace(target)


PASSPHRASE = "gpufleet-sandbox"  # noqa: S105 - public, see below
"""Passphrase of every stack in a sandbox. It protects nothing and is public on purpose: the engine
writes a salt that fits it into the stack's file, and a committed stack file must fit the sandbox of
everyone who clones the project. Sandbox stacks hold no secrets."""


def write_passphrase(path: Path) -> None:
    """Write the passphrase file that the sandbox's environment names."""
    if not path.is_file() or path.read_text(encoding="utf-8") != f"{PASSPHRASE}\n":
        write_atomically(path, f"{PASSPHRASE}\n")
