"""SDKs for other languages: generated from the schema, compiled where the compiler is at hand."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from release.reproducible import ROOT, files_of, write_archive

LOGO = ROOT / "docs" / "pictures" / "logo.png"
GO_MODULE = "gpufleet.dev/sdk/go/gpufleet"


class NotCompiledError(Exception):
    """The SDK is generated and could not be compiled here; the text says why."""


def generate(schema: Path, programs: dict[str, str], folder: Path) -> None:
    """Write the SDK of each language into a folder of its name."""
    subprocess.run([programs["pulumi-sdks"], str(schema), str(folder)], check=True)
    command = [programs["pulumi-sdks-java-dotnet"], str(schema), str(folder), str(LOGO)]
    subprocess.run(command, check=True)


def _nodejs(sdk: Path, version: str, dist: Path) -> None:
    """`npm pack` of what the TypeScript compiler wrote; the sources are not in the package."""
    sources = dist / f"gpufleet-sdk-nodejs-sources-{version}.tar.gz"
    write_archive(sources, _below(f"gpufleet-sdk-nodejs-{version}", files_of(sdk)))
    npm = _program("npm")
    _run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], sdk)
    _run([npm, "run", "--silent", "build"], sdk)
    for name in ("package.json", "README.md"):
        shutil.copy(sdk / name, sdk / "bin" / name)
    _run([npm, "pack", "--silent", "--pack-destination", str(dist), "./bin"], sdk)


def _go(sdk: Path, version: str, dist: Path) -> None:
    module = sdk / "gpufleet"
    engine = (ROOT / "tools" / "sdks" / "go.mod").read_text(encoding="utf-8")
    (needed,) = re.findall(r"/pulumi/sdk/v3 (v\S+)", engine)
    (module / "go.mod").write_text(
        f"module {GO_MODULE}\n\ngo 1.25\n\nrequire github.com/pulumi/pulumi/sdk/v3 {needed}\n"
    )
    go = _program("go")
    _run([go, "mod", "tidy"], module)
    _run([go, "build", "-trimpath", "./..."], module)
    name = f"gpufleet-sdk-go-{version}"
    write_archive(dist / f"{name}.tar.gz", _below(name, files_of(module)))


def _python(sdk: Path, version: str, dist: Path) -> None:
    name = f"gpufleet_sdk-{version}"
    archive = dist / f"{name}.tar.gz"
    write_archive(archive, _below(name, files_of(sdk)))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    installed = sdk.parent / "installed"
    _run([*pip, "--no-deps", "--target", str(installed), str(archive)], sdk)
    _run([sys.executable, "-c", "import gpufleet_sdk; gpufleet_sdk.GpuFleet"], installed)


def _java(sdk: Path, version: str, dist: Path) -> None:
    pom = (ROOT / "release" / "pom.xml").read_text(encoding="utf-8")
    (sdk / "pom.xml").write_text(pom.replace(">VERSION<", f">{version}<"), encoding="utf-8")
    name = f"gpufleet-sdk-java-{version}"
    write_archive(dist / f"{name}.tar.gz", _below(name, files_of(sdk)))
    _run([_program("mvn"), "--batch-mode", "--quiet", "compile"], sdk)


def _dotnet(sdk: Path, version: str, dist: Path) -> None:
    name = f"gpufleet-sdk-dotnet-{version}"
    write_archive(dist / f"{name}.tar.gz", _below(name, files_of(sdk)))
    _run([_program("dotnet"), "build"], sdk)


LANGUAGES: dict[str, Callable[[Path, str, Path], None]] = {
    "nodejs": _nodejs,
    "go": _go,
    "python": _python,
    "java": _java,
    "dotnet": _dotnet,
}
"""Language -> writes the archives of its SDK into `dist`, and compiles it."""


def write_archives(sdks: Path, version: str, dist: Path) -> dict[str, str]:
    """The archives of each SDK. Returns language -> why it was not compiled.

    Raises CalledProcessError where a compiler refuses an SDK.
    """
    not_compiled: dict[str, str] = {}
    for language, write in LANGUAGES.items():
        print(f"==> SDK for {language}", flush=True)
        try:
            write(sdks / language, version, dist)
        except NotCompiledError as reason:
            not_compiled[language] = str(reason)
    return not_compiled


def write_plugin(wheel: Path, version: str, addresses: dict[str, str], dist: Path) -> None:
    """The component package as the engine installs it: with its wheel, the same for each system."""
    source = ROOT / "components"
    names = ("PulumiPlugin.yaml", "__main__.py")
    requirement = (source / "requirements.txt").read_text(encoding="utf-8")
    files = {
        **{name: (source / name).read_bytes() for name in names},
        "addresses.json": (json.dumps(addresses, indent=2) + "\n").encode(),
        "requirements.txt": requirement.replace("..", f"./{wheel.name}", 1).encode(),
        wheel.name: wheel.read_bytes(),
    }
    for system in ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"):
        write_archive(dist / f"pulumi-resource-gpufleet-v{version}-{system}.tar.gz", files)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotCompiledError(f"{name} is not on PATH")
    return found


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True)


def _below(folder: str, files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}
