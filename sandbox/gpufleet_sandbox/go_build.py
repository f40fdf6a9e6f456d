"""Building one program from its pinned module with the ordinary Go client."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import psutil

from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.programs import SandboxProgram

_CHILD = "go.json"
"""Next to the sources: which process builds them, so that the next run can end an orphan."""

_REPLACED = "replaced"
"""Folder of a module with files that take the place of those of other modules, by import path."""
_PINNED = re.compile(r"^\s*(\S+) v\S+(?: // indirect)?$", re.MULTILINE)

_FAST = ("-gcflags=all=-dwarf=false -l", "-gcflags=std=-dwarf=false")
"""Compiler flags of packages: without debug data, which the linker drops, and without inlining,
except for Go's own. All programs of `make up` take 15 min 2 s of processor time (17 min 40 s
before); twelve engine tests of admission took no longer. They do not change a program's behaviour,
so they are no part of the key in the cache."""

_WITHOUT_COLLECTION = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""The compiler collects garbage only when its heap reaches 1 GiB: etcd takes 68 s of processor time
(87 s with Go's default)."""
_ROOM = 3 * 2**30
"""Free memory for each core, in bytes, that this needs: two builds at a time, each with a compiler
on each core."""

_SCHEMA = Path("cmd/pulumi-resource-kubernetes/schema.json")
_TAIL_LINES = 15


class BuildStoppedError(Exception):
    """The build was stopped on request."""


def go_client() -> Path | None:
    """The Go client on PATH."""
    found = shutil.which("go")
    return Path(found) if found else None


class GoBuild:
    """One build in a private copy of the module folder, so that nothing rewrites the pins."""

    def __init__(
        self,
        program: SandboxProgram,
        tools: Path,
        scratch: Path,
        stopping: threading.Event,
        report: Callable[[str], None],
    ) -> None:
        self._program = program
        self._tools = tools
        self._scratch = scratch
        self._module = scratch / "module"
        self._temporary = scratch / "temporary"
        self._stopping = stopping
        self._report = report

    def run(self) -> Path:
        """Build. Returns the folder that holds the executable.

        Raises:
            SandboxError: Go refuses; the text ends with Go's output.
            BuildStoppedError: `stopping` was set.
        """
        shutil.copytree(self._tools / self._program.module, self._module)
        for file in self._module.rglob("*"):  # an installed wheel may be read-only
            file.chmod(0o755 if file.is_dir() else 0o644)
        self._temporary.mkdir()
        if self._program.schema_of is not None:
            self._copy_schema(self._program.schema_of)
        for module, files in self._replaced_files().items():
            self._replace(module, files)
        made = self._scratch / "made"
        made.mkdir()
        program = self._program
        # -v names each package as it is compiled: the only sign of progress Go gives.
        arguments = ["build", "-v", *program.flags, *_FAST, "-ldflags", program.linker]
        self._go(*arguments, "-o", str(made / program.name), program.package)
        return made

    def _replaced_files(self) -> dict[str, list[Path]]:
        """Module -> files of `replaced/`, which replace its files of the same names."""
        folder = self._module / _REPLACED
        pinned = _PINNED.findall((self._module / "go.mod").read_text(encoding="utf-8"))
        found: dict[str, list[Path]] = {}
        for file in sorted(folder.rglob("*.go")):
            name = file.relative_to(folder).as_posix()
            module = max((one for one in pinned if name.startswith(f"{one}/")), key=len)
            found.setdefault(module, []).append(file)
        return found

    def _replace(self, module: str, files: list[Path]) -> None:
        """Build with a copy of a module in which some files are ours. Its pin stays."""
        self._report(f"copying {module}")
        self._go("mod", "download", module)
        source = self._folder_of(module)
        copy = self._scratch / "modules" / module
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*_test.go", "testdata"))
        for file in copy.rglob("*"):  # Go's module cache is read-only
            file.chmod(0o755 if file.is_dir() else 0o644)
        copy.chmod(0o755)
        for file in files:
            target = copy / file.relative_to(self._module / _REPLACED / module)
            if not target.exists():
                raise SandboxError(f"{self._program.name}: {module} has no {target.name} any more")
            shutil.copyfile(file, target)
        self._go("mod", "edit", f"-replace={module}={copy}")

    def _folder_of(self, module: str) -> Path:
        folder = self._go("list", "-m", "-f", "{{.Dir}}", module).strip()
        if not folder:
            raise SandboxError(f"{self._program.name}: Go does not say where {module} is")
        return Path(folder)

    def _copy_schema(self, module: str) -> None:
        self._report("fetching the schema")
        self._go("mod", "download", module)
        folder = self._folder_of(module)
        schema = json.loads((folder / _SCHEMA).read_text(encoding="utf-8"))
        schema["version"] = self._program.version
        (self._module / "schema.json").write_text(
            json.dumps(schema, separators=(",", ":")), encoding="utf-8"
        )

    def _go(self, *arguments: str) -> str:
        client = go_client()
        if client is None:
            raise SandboxError(f"{self._program.name}: Go is not on PATH any more")
        if self._stopping.is_set():
            raise BuildStoppedError
        child = subprocess.Popen(
            [str(client), *arguments],
            cwd=self._module,
            env=build_environment(self._temporary),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches us alone, and we end the whole group
        )
        _remember(child.pid, self._scratch / _CHILD)
        watcher = threading.Thread(target=self._end_when_stopping, args=(child,), daemon=True)
        watcher.start()
        said: collections.deque[str] = collections.deque(maxlen=_TAIL_LINES)
        output: list[str] = []
        stdout, stderr = child.stdout, child.stderr
        assert stdout is not None, "requested a pipe"
        assert stderr is not None, "requested a pipe"
        # Both pipes are read at once: a full one would block Go.
        reader = threading.Thread(target=lambda: output.append(stdout.read()), daemon=True)
        reader.start()
        for line in stderr:
            self._follow(line.rstrip(), said)
        reader.join()
        status = child.wait()
        watcher.join()
        stdout.close()
        stderr.close()
        if self._stopping.is_set():
            raise BuildStoppedError
        if status != 0:
            tail = "\n".join(f"    {line}" for line in said) or "    (it said nothing)"
            command = " ".join(("go", *arguments[:2]))
            raise SandboxError(f"{self._program.name}: `{command}` ended with {status}:\n{tail}")
        return "".join(output)

    def _end_when_stopping(self, child: "subprocess.Popen[str]") -> None:
        while child.poll() is None:
            if self._stopping.wait(0.1):
                _end_group(child.pid)
                return

    def _follow(self, line: str, said: "collections.deque[str]") -> None:
        if line.startswith("go: downloading "):
            self._report(f"downloading {line.split()[2]}")
        elif line and " " not in line and "/" in line:
            self._report(f"compiling {line}")
        elif line:
            said.append(line)
            self._report(line)


def build_environment(temporary: Path) -> dict[str, str]:
    """The caller's environment, without what could change the pins or the module.

    Proxy, checksum database, caches, toolchain and a chosen GOGC stay as they are configured.
    Temporary files go into our scratch: a killed Go leaves hundreds of megabytes behind.
    """
    ours = {"GOFLAGS": "-mod=readonly", "GOWORK": "off", "GOTMPDIR": str(temporary)}
    has_room = psutil.virtual_memory().available >= _ROOM * (os.cpu_count() or 1)
    return {**(_WITHOUT_COLLECTION if has_room else {}), **os.environ, **ours}


def _remember(pid: int, file: Path) -> None:
    try:
        started = psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return
    file.write_text(json.dumps({"pid": pid, "started": started}), encoding="utf-8")


def end_orphan(scratch: Path) -> None:
    """End the build that a killed run left behind in this scratch folder, if it still runs."""
    try:
        record = json.loads((scratch / _CHILD).read_text(encoding="utf-8"))
        process = psutil.Process(int(record["pid"]))
        if abs(process.create_time() - float(record["started"])) < 2.0:
            _end_group(process.pid)
            process.wait(10)
    except (OSError, ValueError, KeyError, TypeError, psutil.Error):
        return  # no record, or no such process any more: nothing to end


def _end_group(pid: int) -> None:
    """SIGKILL: Go's cache is written by rename, so a build may be interrupted anywhere."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
