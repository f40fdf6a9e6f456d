"""Query the advisory databases about the locked dependencies, and report unqueried ones.

    python tools/vulnerabilities.py --pip-audit PROGRAM --go PROGRAM [--release]

Python: PyPI's advisories through pip-audit, for each file of `requirements` with hashes. Go: the Go
database through govulncheck, for each module of `tools`; `GOVULNDB=file:///path` names a copy.
Exits 0 when all were queried and no vulnerability is known, 1 when one is known, 2 when some were
not queried: a run without answers never passes. With `--release` (`make release`) unqueried ones
are named and do not stop it; a known vulnerability does.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

GOVULNCHECK = "golang.org/x/vuln/cmd/govulncheck@latest"
_GO_FOUND = 3
"""Exit status of govulncheck when it found a vulnerability."""
_NO_DATABASE = "fetching vulnerabilities"
"""Message of govulncheck where it does not reach its database."""
_UNKNOWN = 2
"""Exit status of a run that did not query everything, and found nothing."""
_UNASKED = re.compile(r"(?m)^(?:\S*:)?(\S+): Dependency not found on PyPI and could not be audited")
_NOT_LOOKED_AT = ("package.json", "package-lock.json", "pom.xml", "build.gradle", "Cargo.toml")
"""Files that name packages of ecosystems whose databases are not queried."""


@dataclass(frozen=True)
class Answer:
    """Known vulnerabilities of one lock file or module."""

    what: str
    vulnerable: bool = False
    reason: str = ""
    """Why it was not looked at; empty: it was."""


def python_answer(file: Path, program: str) -> Answer:
    """Known vulnerabilities of the packages of a file, from PyPI."""
    done = _run([program, "--strict", "--require-hashes", "--disable-pip", "-r", str(file)], Path())
    if done.returncode == 0:
        return Answer(str(file))
    if re.search(r"Found \d+ known vulnerabilit", done.stdout + done.stderr):
        return Answer(str(file), vulnerable=True)
    unasked = _UNASKED.search(done.stderr)
    if unasked is not None:
        return Answer(str(file), reason=f"the index has no advisories of {unasked[1]}")
    return Answer(str(file), reason=_last_line(done.stderr) or f"exit status {done.returncode}")


def go_answer(module: Path, program: str) -> Answer:
    """Known vulnerabilities of the code that a module's packages call, from the Go database."""
    database = os.environ.get("GOVULNDB")
    options = ["-db", database] if database else []
    done = _run([program, "run", GOVULNCHECK, *options, *_packages(module)], module)
    if done.returncode == 0:
        return Answer(str(module))
    if done.returncode == _GO_FOUND or "Your code is affected by" in done.stdout:
        return Answer(str(module), vulnerable=True)
    return Answer(str(module), reason=_last_line(done.stderr) or f"exit status {done.returncode}")


def go_answers(modules: Iterable[Path], program: str) -> Iterator[Answer]:
    """Known vulnerabilities of each module; after a failed connection no further query is made."""
    unreachable = ""
    for module in modules:
        if unreachable:
            yield Answer(str(module), reason=unreachable)
            continue
        print(f"==> {module}", flush=True)
        answer = go_answer(module, program)
        unreachable = answer.reason if _NO_DATABASE in answer.reason else ""
        yield answer


def _packages(module: Path) -> tuple[str, ...]:
    """The programs that a module builds: its own packages, and those it names as tools."""
    own = ("./...",) if next(module.rglob("*.go"), None) else ()
    tools = re.search(r"(?m)^tool[ (]", (module / "go.mod").read_text(encoding="utf-8"))
    return (*own, *(("tool",) if tools else ())) or ("./...",)


def others(root: Path) -> tuple[Answer, ...]:
    """Files of the repository whose packages no database here covers."""
    listed = subprocess.run(
        ["git", "ls-files"],  # noqa: S607 - the caller's git
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split("\n")
    known = {str(file) for file in _requirements(root)}
    return tuple(
        Answer(name, reason=f"no database is asked about {Path(name).name}")
        for name in listed
        if Path(name).name in _NOT_LOOKED_AT
        or (Path(name).name == "go.mod" and not name.startswith("tools/"))
        or (Path(name).suffix == ".txt" and "requirements" in name and name not in known)
    )


def report(answers: Sequence[Answer], left: Sequence[Answer], say: Callable[[str], None]) -> int:
    """Report known and unqueried ones. Returns the exit status."""
    looked = [one for one in answers if not one.reason]
    found = [one for one in answers if one.vulnerable]
    missed = [one for one in answers if one.reason]
    say(f"\nlooked at: {len(looked)} of {len(answers)} lock files and modules")
    for one in looked:
        say(f"  {one.what}: {'VULNERABLE, see above' if one.vulnerable else 'nothing is known'}")
    if missed:
        say(f"NOT looked at: {len(missed)}; this run says nothing about them")
        for one in missed:
            say(f"  {one.what}: {one.reason}")
    if left:
        say("never looked at by this target:")
        for one in left:
            say(f"  {one.what}: {one.reason}")
    return 1 if found else _UNKNOWN if missed or not answers else 0


def _requirements(root: Path) -> tuple[Path, ...]:
    files = sorted((root / "requirements").glob("*.txt"))
    return tuple(one.relative_to(root) for one in files if "--hash=" in one.read_text("utf-8"))


def _run(command: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as problem:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]}: {problem.strerror}")
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done


def _last_line(text: str) -> str:
    """The last line with a message; `go run` adds the exit status of its program."""
    lines = [line.strip() for line in reversed(text.splitlines())]
    return next((one for one in lines if one and not one.startswith("exit status")), "")


def main() -> int:
    """Look at everything."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pip-audit", default="pip-audit")
    arguments.add_argument("--go", default="go")
    arguments.add_argument("--release", action="store_true")
    options = arguments.parse_args()
    root = Path()
    answers: list[Answer] = []
    for file in _requirements(root):
        print(f"==> {file}", flush=True)
        answers.append(python_answer(file, options.pip_audit))
    modules = [file.parent for file in sorted(root.glob("tools/*/go.mod"))]
    answers += go_answers(modules, options.go)
    status = report(answers, others(root), print)
    if options.release and status == _UNKNOWN:
        print("vulnerabilities: NOT ASKED of what is named above; the release goes on without it")
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
