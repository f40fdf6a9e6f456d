import hashlib
import http.server
import io
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from gpufleet_sandbox import download
from gpufleet_sandbox.programs import PROGRAMS, SandboxProgram, Vendor

SYSTEMS = ("linux", "darwin")
BINARY = b"#!/bin/sh\necho 3.6.14\n"


def archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as content:
        entry = tarfile.TarInfo("etcd-v1/etcd")
        entry.size, entry.mode = len(BINARY), 0o755
        content.addfile(entry, io.BytesIO(BINARY))
    return buffer.getvalue()


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[str] = []
        site = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args: object) -> None:
                super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

            def log_message(self, format: str, *args: object) -> None:
                site.requests.append(self.path)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def site(tmp_path: Path):
    folder = tmp_path / "site"
    folder.mkdir()
    site = Site(folder)
    yield site
    site.close()


def offered(site: Site, member: str | None = "etcd-v1", name: str = "etcd.tgz") -> SandboxProgram:
    vendor = Vendor(f"{site.url}/{name}", f"{site.url}/SUMS", member=member, systems=SYSTEMS)
    return replace(PROGRAMS["etcd"], vendor=vendor)


def fetch(
    program: SandboxProgram, folder: Path, downloads: download.Downloads | None = None
) -> Path:
    folder.mkdir(exist_ok=True)
    downloads = downloads or download.Downloads(enabled=True)
    return downloads.fetch(program, folder, threading.Event())


def test_an_archive_is_verified_and_unpacked(site: Site, tmp_path: Path) -> None:
    content = archive()
    (site.folder / "etcd.tgz").write_bytes(content)
    sums = f"{'0' * 64}  other.tgz\n{hashlib.sha256(content).hexdigest()}  etcd.tgz\n"
    (site.folder / "SUMS").write_text(sums)
    made = fetch(offered(site), tmp_path / "scratch")
    assert (made / "etcd").read_bytes() == BINARY


def test_a_bare_binary_with_a_bare_sum(site: Site, tmp_path: Path) -> None:
    (site.folder / "etcd-linux").write_bytes(BINARY)
    (site.folder / "SUMS").write_text(hashlib.sha256(BINARY).hexdigest() + "\n")
    made = fetch(offered(site, None, "etcd-linux"), tmp_path / "scratch")
    assert (made / "etcd").read_bytes() == BINARY


def test_a_wrong_checksum_is_refused(site: Site, tmp_path: Path) -> None:
    (site.folder / "etcd.tgz").write_bytes(archive())
    (site.folder / "SUMS").write_text(f"{'0' * 64}  etcd.tgz\n")
    with pytest.raises(download.DownloadError, match="does not match its published checksum"):
        fetch(offered(site), tmp_path / "scratch")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_file_without_a_sum_is_refused(site: Site, tmp_path: Path) -> None:
    (site.folder / "SUMS").write_text(f"{'0' * 64}  other.tgz\n{'1' * 64}  third.tgz\n")
    with pytest.raises(download.DownloadError, match=r"publishes no checksum of etcd\.tgz"):
        fetch(offered(site), tmp_path / "scratch")


def test_a_release_that_is_not_there(site: Site, tmp_path: Path) -> None:
    with pytest.raises(download.DownloadError, match="answers 404"):
        fetch(offered(site), tmp_path / "scratch")


def test_an_unreachable_vendor_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(url: str, timeout: float) -> None:
        asked.append(url)
        raise OSError("no route to host")

    monkeypatch.setattr(download.urllib.request, "urlopen", refuse)
    downloads = download.Downloads(enabled=True)
    vendor = Vendor("http://vendor.example/a", "http://vendor.example/b", systems=SYSTEMS)
    program = replace(PROGRAMS["etcd"], vendor=vendor)
    for number in range(3):
        with pytest.raises(download.DownloadError, match=r"vendor\.example is not reachable"):
            fetch(program, tmp_path / str(number), downloads)
    assert len(asked) == 1


def test_turned_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUFLEET_NO_DOWNLOAD", "1")
    with pytest.raises(download.DownloadError, match="turned off by GPUFLEET_NO_DOWNLOAD"):
        fetch(PROGRAMS["etcd"], tmp_path, download.Downloads())


def test_a_system_the_vendor_does_not_serve(tmp_path: Path) -> None:
    vendor = Vendor("http://v/a", "http://v/b", systems=("plan9",))
    with pytest.raises(download.DownloadError, match="offers nothing for"):
        fetch(replace(PROGRAMS["etcd"], vendor=vendor), tmp_path)
