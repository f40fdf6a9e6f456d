"""Report of `make release` on the artefacts; `make release` itself compiles and takes minutes."""

import hashlib
import json
import re
import tarfile
from pathlib import Path

import pytest

from release import reproducible, statements
from release.__main__ import build_distributions
from release.go_components import write_go_components
from release.licences import UNKNOWN, write_licences
from release.locked import requirements_of
from release.sdks import write_plugin
from tests.wheel.environments import build

ROOT = Path(__file__).parents[2]
GO_MOD = (ROOT / "tools" / "pulumi" / "go.mod").read_text()
ADDRESSES = {"repository": "https://example.com/gpufleet"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


def test_an_archive_depends_on_its_files_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(reproducible.EPOCH, "1700000000")
    first, second = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"
    reproducible.write_archive(first, {"b/x": b"1", "a": b"2"})
    reproducible.write_archive(second, {"a": b"2", "b/x": b"1"})
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as archive:
        assert [(one.name, one.mtime, one.uid) for one in archive] == [
            ("a", 1700000000, 0),
            ("b/x", 1700000000, 0),
        ]


@pytest.mark.nightly
def test_two_builds_have_the_same_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wheels, source distributions and component archives, as `make release` builds them."""
    monkeypatch.setenv(reproducible.EPOCH, "1700000000")
    found: list[dict[str, str]] = []
    for name in ("first", "second"):
        dist = tmp_path / name
        write_plugin(build_distributions(dist), "0.1.0", ADDRESSES, dist)
        found.append({file.name: reproducible.sha256(file) for file in dist.iterdir()})
    assert len(found[0]) == 8
    assert found[0] == found[1]


def test_the_program_is_locked_with_checksums_and_without_pulumi(wheel: Path) -> None:
    lines = requirements_of(wheel).splitlines()
    names = {line.partition("==")[0].partition("[")[0] for line in lines if "==" in line}
    assert {"pydantic", "pydantic-core", "pyyaml", "jsonschema-rs", "click", "rich"} <= names
    assert not names & {"pulumi", "pulumi-kubernetes", "grpcio"}
    assert sum("--hash=sha256:" in line for line in lines) >= len(names)


def test_the_component_package_brings_its_wheel(wheel: Path, tmp_path: Path) -> None:
    write_plugin(wheel, "0.1.0", ADDRESSES, tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    with tarfile.open(tmp_path / "pulumi-resource-gpufleet-v0.1.0-linux-amd64.tar.gz") as archive:
        texts = {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]
    assert texts["requirements.txt"] == f"./{wheel.name}[pulumi,eks,gke,vsphere]\n".encode()
    assert texts[wheel.name] == wheel.read_bytes()
    assert json.loads(texts["addresses.json"]) == ADDRESSES
    assert {"PulumiPlugin.yaml", "__main__.py"} <= texts.keys()


def test_the_statement_names_each_file_the_commit_and_the_locks(tmp_path: Path) -> None:
    try:
        commit = reproducible.git("rev-parse", "HEAD")
    except Exception:  # noqa: BLE001  for any error of git there is no commit to name
        pytest.skip("not a git checkout")
    artefact = tmp_path / "artefact"
    artefact.write_bytes(b"x")
    made = statements.statement([artefact], ADDRESSES)
    digest = hashlib.sha256(b"x").hexdigest()
    assert made["subject"] == [{"name": "artefact", "digest": {"sha256": digest}}]
    definition = made["predicate"]["buildDefinition"]
    source, *locks = definition["resolvedDependencies"]
    assert source == {
        "uri": "git+https://example.com/gpufleet",
        "digest": {"gitCommit": commit},
    }
    assert {"requirements/dev.txt", "tools/sdks/go.sum"} <= {one["name"] for one in locks}


def test_the_checksums_are_those_that_sha256sum_reads(tmp_path: Path) -> None:
    (tmp_path / "artefact").write_bytes(b"x")
    statements.write_checksums(tmp_path)
    digest = hashlib.sha256(b"x").hexdigest()
    assert (tmp_path / statements.SUMS).read_text() == f"{digest}  artefact\n"


def test_the_changelog_of_a_version_is_its_section() -> None:
    text = statements.changelog("0.1.0")
    assert text.startswith("## 0.1.0")
    assert text.count("\n## ") == 0
    with pytest.raises(SystemExit, match="has no section"):
        statements.changelog("9.9.9")


def test_a_source_distribution_of_the_sandbox_gives_the_same_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies in a folder of the repository and takes version and pins from the others."""
    monkeypatch.setenv(reproducible.EPOCH, "1700000000")
    direct = build(ROOT / "sandbox", tmp_path / "direct")
    source = build(ROOT / "sandbox", tmp_path / "source", kind="sdist")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()
    assert build(folder, tmp_path / "again").read_bytes() == direct.read_bytes()


def test_the_go_programs_have_a_bill_of_materials(tmp_path: Path) -> None:
    target = tmp_path / "sandbox.cdx.json"
    write_go_components(target, "0.1.0")
    components = json.loads(target.read_text())["components"]
    by_name = {one["name"]: one for one in components}
    pinned = re.search(r"\tgoogle.golang.org/grpc (\S+)", GO_MOD)
    assert pinned is not None
    grpc = by_name["google.golang.org/grpc"]
    assert grpc["version"] == pinned[1]
    assert grpc["properties"][0]["value"].startswith("h1:")
    assert {"pulumi", "kube-apiserver", "etcd", "kwok"} <= by_name.keys()
    # Kubernetes requires its own modules as v0.0.0 and replaces them.
    assert by_name["k8s.io/kubectl"]["version"] == "v0.36.3"
    libraries = [one for one in components if one["type"] == "library"]
    assert "v0.0.0" not in {one["version"] for one in libraries}
    assert all("licenses" in one or one["properties"][-1]["value"] == "not looked at"
               for one in libraries)  # fmt: skip


def test_each_licence_is_listed_with_its_parts(tmp_path: Path) -> None:
    """Forms of CycloneDX 1.6: identifier, expression, name; a classifier of Python is a name."""
    licences: dict[str, list[dict[str, object]]] = {
        "one": [{"license": {"id": "MIT"}}],
        "two": [{"expression": "MIT"}],
        "three": [
            {"license": {"id": "MPL-2.0"}},
            {"license": {"name": "License :: OSI Approved :: Mozilla Public License 2.0"}},
        ],
        "four": [{"license": {"name": "License :: OSI Approved :: BSD License"}}],
        "five": [],
    }
    bill, target = tmp_path / "bill.cdx.json", tmp_path / "LICENCES.md"
    parts = [
        {"type": "library", "name": name, "version": "1", "licenses": found}
        for name, found in licences.items()
    ]
    program = {"type": "application", "name": "program"}
    bill.write_text(json.dumps({"components": [*parts, program]}))
    write_licences([bill], target)
    text = target.read_text()
    assert "program" not in text
    assert [block.split("\n\n") for block in text.strip().split("## ")[1:]] == [
        ["MIT (2)", "- one 1\n- two 1", ""],
        ["BSD License (1)", "- four 1", ""],
        ["MPL-2.0 (1)", "- three 1", ""],
        ["not known (1)", "- five 1"],
    ]


def test_no_part_of_the_programs_has_a_licence_that_forbids_use(tmp_path: Path) -> None:
    bill, target = tmp_path / "sandbox.cdx.json", tmp_path / "LICENCES.md"
    write_go_components(bill, "0.1.0")
    write_licences([bill], target)
    listed = set(re.findall(r"^## (\S+(?: known)?) \(", target.read_text(), re.M))
    permissive = {"Apache-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "MPL-2.0"}
    assert listed <= permissive | {UNKNOWN}
