"""What is said about the artefacts: changelog of the version, checksums, origin, components."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from release.reproducible import ROOT, date_of_sources, git, sha256
from tests.wheel.environments import install

SUMS = "SHA256SUMS"
BUILD_TYPE = "https://gpufleet.dev/release/v1"
"""What `externalParameters` and `resolvedDependencies` mean: docs/releasing.md."""


def changelog(version: str) -> str:
    """The section of CHANGELOG.md about a version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)}\b.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit(f"make release: CHANGELOG.md has no section `## {version}`")
    return found.group().rstrip() + "\n"


def statement(artefacts: list[Path], addresses: dict[str, str]) -> dict[str, Any]:
    """Where the artefacts come from, as an in-toto statement with SLSA's provenance.

    It is not signed: whoever publishes the release signs it with the identity of the publisher.
    """
    commit = git("rev-parse", "HEAD")
    source = {
        "uri": f"git+{addresses['repository']}" if addresses.get("repository") else "git+local",
        "digest": {"gitCommit": commit},
    }
    locks = sorted((ROOT / "requirements").glob("*.txt")) + sorted(
        (ROOT / "tools").glob("*/go.sum")
    )
    started = datetime.fromtimestamp(date_of_sources(), UTC).isoformat()
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": one.name, "digest": {"sha256": sha256(one)}} for one in artefacts],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"source": source, "target": "make release"},
                "internalParameters": {"uncommittedChanges": bool(git("status", "--porcelain"))},
                "resolvedDependencies": [
                    source,
                    *(
                        {"name": str(one.relative_to(ROOT)), "digest": {"sha256": sha256(one)}}
                        for one in locks
                    ),
                ],
            },
            "runDetails": {
                "builder": {"id": f"{BUILD_TYPE}/local"},
                "metadata": {"startedOn": started},
            },
        },
    }


def write_checksums(folder: Path) -> None:
    """SHA256SUMS of every file of a folder, as `sha256sum --check` reads it."""
    files = sorted(one for one in folder.iterdir() if one.is_file() and one.name != SUMS)
    lines = [f"{sha256(one)}  {one.name}\n" for one in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def write_components(wheel: Path, tools: Path, scratch: Path, target: Path) -> None:
    """The bill of materials of the wheel with every extra, in the versions of this environment,
    which are those of the lock.

    Args:
        wheel: Wheel of pulumi-gpufleet.
        tools: Folder of the program `cyclonedx-py`.
        scratch: An empty folder.
        target: The file to write, CycloneDX as JSON.
    """
    installed = install(scratch, [wheel], extras=["all"])
    command = [str(tools / "cyclonedx-py"), "environment", "--output-reproducible"]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library"]
    command += ["--output-file", str(target), str(installed.python)]
    subprocess.run(command, check=True)
    _without_places(target)


def _without_places(file: Path) -> None:
    """Leave out where on this machine the wheel was installed from."""
    document = json.loads(file.read_text(encoding="utf-8"))
    for one in document["components"]:
        kept = [r for r in one.get("externalReferences", []) if not r["url"].startswith("file:")]
        if "externalReferences" in one:
            one["externalReferences"] = kept
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
