"""Getting every program the sandbox runs: installed, else cached, else downloaded, else built.

Interrupted at any point (Ctrl-C, SIGKILL, power) it leaves either a complete program in the cache
or scratch that the next run sweeps away.
"""

import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from gpufleet_sandbox import installed_programs
from gpufleet_sandbox.download import DownloadError, Downloads
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.go_build import BuildStoppedError, GoBuild, end_orphan, go_client
from gpufleet_sandbox.program_cache import (
    SCRATCH_PREFIX,
    CachedProgram,
    cache_folder,
    go_platform,
    key,
)
from gpufleet_sandbox.programs import SandboxProgram, named
from gpufleet_sandbox.progress import Progress, ProgressTask, SilentProgress, duration
from gpufleet_sandbox.tools_folder import tools_folder

_AT_ONCE = 2
"""Modules at a time: each build uses every core, a second one fills the gaps while one links.
Programs of one module are built one after another, because they share packages: 2,030 of the API
server's 2,038 are the controller manager's too, and builds side by side compile them twice."""

_MEASURED_CORES = 2


def prepare(names: Iterable[str], progress: Progress) -> dict[str, Path]:
    """Program name -> executable. Whatever is missing is downloaded or built.

    Raises:
        SandboxError: Some cannot be had; the text names every one and the ways to get it.
    """
    ready, missing = _found(names, progress)
    if missing:
        _announce(missing, progress)
        _Making(tools_folder(), progress).run(missing)
        ready |= {entry.program.name: entry.executable for entry in missing}
    return ready


def are_ready(names: Iterable[str]) -> bool:
    """Whether `prepare` would have nothing to download or build."""
    return not _found(names, SilentProgress())[1]


def _found(names: Iterable[str], progress: Progress) -> tuple[dict[str, Path], list[CachedProgram]]:
    """Programs that are installed or cached, and those that are missing."""
    programs = named([*names])
    tools, target, cache = tools_folder(), go_platform(), cache_folder()
    with ThreadPoolExecutor(max_workers=4) as pool:  # reads the version of each
        installed = list(pool.map(lambda p: installed_programs.find(p, os.environ), programs))
    ready: dict[str, Path] = {}
    missing: list[CachedProgram] = []
    for program, found in zip(programs, installed, strict=True):
        if found.reason:
            progress.note(f"{program.name}: not using the installed one: {found.reason}")
        entry = CachedProgram(program, cache, key(program, tools, target))
        if found.path is not None:
            ready[program.name] = found.path
        elif entry.is_valid():
            ready[program.name] = entry.executable
        else:
            missing.append(entry)
    return ready, missing


def _announce(missing: list[CachedProgram], progress: Progress) -> None:
    names = ", ".join(entry.program.name for entry in missing)
    total = sum(entry.program.seconds for entry in missing) * _slowness()
    progress.note(
        f"preparing {names}: once, into {missing[0].cache}; built from source this takes about "
        f"{duration(total)}, less with a warm Go cache"
    )


def _slowness() -> float:
    """Factor from the measured machine to this one, by its cores; linking does not scale."""
    return max(0.3, _MEASURED_CORES / (os.cpu_count() or _MEASURED_CORES))


@dataclass(slots=True)
class _Making:
    """One run that makes what is missing."""

    tools: Path
    progress: Progress
    downloads: Downloads = field(default_factory=Downloads)
    stopping: threading.Event = field(default_factory=threading.Event)
    _reported: set[str] = field(default_factory=set[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, missing: list[CachedProgram]) -> None:
        """Make every entry, two modules at a time, and collect every failure."""
        try:
            missing[0].cache.mkdir(parents=True, exist_ok=True, mode=0o755)
        except OSError as problem:
            raise SandboxError(
                f"cannot make the program cache {missing[0].cache}: {problem.strerror}; name "
                "another folder with GPUFLEET_CACHE"
            ) from problem
        _sweep_dead_runs(missing[0].cache)
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            futures = [pool.submit(self._make_all, one) for one in _by_module(missing)]
            try:
                pending = set(futures)
                while pending:  # in slices, so that Ctrl-C is seen at once
                    _, pending = wait(pending, timeout=0.2)
            except BaseException:
                self.stopping.set()
                for future in futures:
                    future.cancel()
                raise  # leaving the pool waits for the workers, which sweep their scratch
        failures = [failure for future in futures for failure in future.result()]
        if failures:
            raise SandboxError(_explain(failures))

    def _make_all(self, entries: list[CachedProgram]) -> list[str]:
        """Build the programs of one module, and report the ones that failed with the reason."""
        failures: list[str] = []
        for entry in entries:
            try:
                self._make(entry)
            except SandboxError as problem:
                failures.append(str(problem))
        return failures

    def _make(self, entry: CachedProgram) -> None:
        task = self.progress.task(entry.program.name, self._expected(entry.program))
        try:
            with self._exclusively(entry, task):
                if entry.is_valid():
                    task.done("made by another run")
                    return
                try:
                    self._sweep(entry)
                    entry.scratch.mkdir()
                    task.done(self._fill(entry, task))
                finally:
                    self._sweep(entry)
        except BuildStoppedError:
            task.failed("interrupted")
            raise
        except OSError as problem:
            task.failed(str(problem))
            raise SandboxError(f"{entry.program.name}: {problem}") from problem
        except SandboxError:
            task.failed("cannot be had; the reasons follow")
            raise

    def _expected(self, program: SandboxProgram) -> float:
        return program.seconds * _slowness() * _AT_ONCE

    @contextmanager
    def _exclusively(self, entry: CachedProgram, task: ProgressTask) -> Iterator[None]:
        """Hold the entry's lock; a wait for another run ends when this run is stopped."""
        lock = FileLock(entry.lock)
        while not lock.is_locked:
            if self.stopping.is_set():
                raise BuildStoppedError
            try:
                lock.acquire(timeout=0.5)
            except Timeout:
                task.detail("another run is making it; waiting")
        try:
            yield
        finally:
            lock.release()

    def _fill(self, entry: CachedProgram, task: ProgressTask) -> str:
        program = entry.program
        if program.vendor is not None and self.downloads.enabled:
            try:
                task.detail("asking the vendor")
                made = self.downloads.fetch(program, entry.scratch, self.stopping)
                entry.complete(made, "download")
            except DownloadError as reason:
                self._say_once(f"no download: {reason}")
            else:
                return f"{program.version} downloaded"
        if go_client() is None:
            raise SandboxError(
                f"{program.name} {program.accepted or program.version}: not installed, not "
                "downloaded, and no Go to build it with"
            )
        task.detail("building from source")
        build = GoBuild(program, self.tools, entry.scratch, self.stopping, task.detail)
        entry.complete(build.run(), "build")
        return f"{program.version} built"

    def _say_once(self, text: str) -> None:
        with self._lock:
            if text in self._reported:
                return
            self._reported.add(text)
        self.progress.note(text)

    def _sweep(self, entry: CachedProgram) -> None:
        if entry.scratch.exists():
            _remove_scratch(entry.scratch)


def _by_module(missing: list[CachedProgram]) -> list[list[CachedProgram]]:
    """The programs of each module, the longest work first."""
    modules: dict[str, list[CachedProgram]] = {}
    for entry in missing:
        modules.setdefault(entry.program.module, []).append(entry)
    return sorted(modules.values(), key=lambda one: -sum(e.program.seconds for e in one))


def _sweep_dead_runs(cache: Path) -> None:
    """Remove the scratch of killed runs, and end their builds; that of living runs is locked."""
    for scratch in cache.glob(f"{SCRATCH_PREFIX}*"):
        lock = FileLock(cache / f"{scratch.name.removeprefix(SCRATCH_PREFIX)}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        try:
            if scratch.exists():
                _remove_scratch(scratch)
        finally:
            lock.release()


def _remove_scratch(scratch: Path) -> None:
    end_orphan(scratch)
    shutil.rmtree(scratch)


def _explain(failures: list[str]) -> str:
    return "\n".join(
        [
            "these programs of the sandbox cannot be had:",
            *(f"  {failure}" for failure in failures),
            "Any one of these ways will do, for each of them:",
            "  1. install the program and put it on PATH;",
            "  2. let this machine reach the vendors' downloads (GPUFLEET_NO_DOWNLOAD unset);",
            "  3. install Go 1.26 or newer and let it reach a Go module proxy.",
            "Programs that are ready stay cached; the next run goes on from there.",
        ]
    )
