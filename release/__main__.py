"""`make release`: build everything that a release consists of into dist/, and verify it.

    python -m release PROGRAMS TOOLS

PROGRAMS is what `gpufleet sandbox programs ... --format json` printed, TOOLS the folder of
`cyclonedx-py`. Nothing is uploaded. docs/releasing.md says what each file is.
"""

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gpufleet.hosting import ComponentHost
from release import sdks, statements
from release.go_components import write_go_components
from release.licences import write_licences
from release.locked import requirements_of
from release.reproducible import EPOCH, ROOT, date_of_sources

CONTAINER = ROOT / "release" / "Containerfile"


def main() -> None:
    """Build into a scratch folder, which then takes the place of dist/."""
    programs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    tools = Path(sys.argv[2])
    os.environ[EPOCH] = str(date_of_sources())
    package = runpy.run_path(str(ROOT / "components"))
    version, addresses = package["VERSION"], package["ADDRESSES"]
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        dist = scratch / "dist"
        wheel = build_distributions(dist)
        print("==> schema", flush=True)
        host = ComponentHost(package["COMPONENTS"], package["NAME"], version, addresses)
        schema = dist / f"gpufleet-schema-{version}.json"
        schema.write_text(json.dumps(json.loads(host.schema or ""), indent=1, sort_keys=True))
        check_schema(programs["pulumi"], schema, scratch)
        sdks.generate(schema, programs, scratch / "sdk")
        not_compiled = sdks.write_archives(scratch / "sdk", version, dist)
        sdks.write_plugin(wheel, version, addresses, dist)
        print("==> statements", flush=True)
        shutil.copy(CONTAINER, dist / CONTAINER.name)
        (dist / "requirements-cli.txt").write_text(requirements_of(wheel))
        (dist / f"CHANGELOG-{version}.md").write_text(statements.changelog(version))
        bill = dist / f"pulumi-gpufleet-{version}.cdx.json"
        statements.write_components(wheel, tools, scratch, bill)
        go_bill = dist / f"gpufleet-sandbox-{version}.cdx.json"
        write_go_components(go_bill, version)
        write_licences([bill, go_bill], dist / f"LICENCES-{version}.md")
        artefacts = sorted(dist.iterdir())
        origin = statements.statement(artefacts, addresses)
        text = json.dumps(origin, indent=2) + "\n"
        (dist / f"gpufleet-{version}.intoto.json").write_text(text)
        statements.write_checksums(dist)
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        shutil.copytree(dist, ROOT / "dist")
    report(addresses, not_compiled, origin)


def build_distributions(dist: Path) -> Path:
    """Wheel and sdist of both distributions, each wheel from its sdist. Returns the product's."""
    for source in (ROOT, ROOT / "sandbox"):
        print(f"==> wheel and sdist of {source.name}", flush=True)
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist)]
        done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"make release: {done.stdout}{done.stderr}")
    (wheel,) = dist.glob("pulumi_gpufleet-*.whl")
    return wheel


def check_schema(engine: str, schema: Path, scratch: Path) -> None:
    """What the engine requires of a schema. Raises CalledProcessError."""
    environment = {**os.environ, "PULUMI_HOME": str(scratch / "home")}
    subprocess.run([engine, "schema", "check", str(schema)], env=environment, check=True)


def report(addresses: dict[str, str], not_compiled: dict[str, str], origin: object) -> None:
    """What a person has to do before an upload."""
    files = sorted((ROOT / "dist").iterdir())
    print(f"{len(files)} files in dist/")
    for language, reason in not_compiled.items():
        print(f"not compiled: the SDK for {language}: {reason}")
    if missing := [key for key, address in addresses.items() if not address]:
        print(f"not set in components/addresses.json: {', '.join(missing)}")
    if '"uncommittedChanges": true' in json.dumps(origin):
        print("made from uncommitted changes: not for an upload")


if __name__ == "__main__":
    main()
