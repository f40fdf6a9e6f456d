"""Refreshes that are killed, run out of disk or get half of a file: never half of an edition."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.catalogue import DEFAULT_EDITION, load
from tools.catalogue import fetch
from tools.catalogue.command import command
from tools.catalogue.fetch import Fetcher
from tools.catalogue.publication import CannotReachError, Stored
from tools.catalogue.sources import SOURCES, CollectedSource, Files

ROOT = Path(__file__).parents[3]
STORED = ROOT / "tests" / "data" / "collected"
WATCHED = ("open", "os.mkdir", "os.rename", "os.chmod", "os.remove", "os.rmdir")


def refresh(folder: Path, out: Path) -> int:
    return CliRunner().invoke(command, ["--from", str(folder), "--out", str(out)]).exit_code


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    folder = tmp_path / "stored"
    for key in ("capacity-blocks", "gpuhunt"):
        shutil.copytree(STORED / "newer" / key, folder / key)
    return folder


def killed_at(step: int, stored: Path, out: Path) -> bool:
    """Run a refresh in a child that is killed before its step-th access below `out`'s parent;
    whether it was."""
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if event in WATCHED and f".{out.name}-" in str(arguments):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        os._exit(refresh(stored, out))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def test_killed_at_any_step_it_leaves_a_complete_edition_or_none(
    stored: Path, tmp_path: Path
) -> None:
    assert refresh(stored, tmp_path / "whole") == 0
    whole = contents(tmp_path / "whole")
    assert set(whole) == {"capacity-blocks.json", "gpuhunt.json"}
    step, absent = 1, 0
    while killed_at(step, stored, out := tmp_path / f"out{step}"):
        if out.exists():
            assert contents(out) == whole
        else:
            absent += 1
        assert refresh(stored, tmp_path / f"again{step}") == 0
        step += 1
    assert contents(out) == whole
    # Made, two files written, read twice for validation, permissions, forced, renamed.
    assert absent >= 7


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("size", [100, 0, 1, 400])
def test_a_full_disk_leaves_nothing_and_says_so(size: int, stored: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    words = ["-m", "tools.catalogue", "--from", str(stored), "--out", str(out)]
    answer = subprocess.run(
        # -B: Python would write compiled files of the limited size, and read them later.
        [sys.executable, "-B", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        preexec_fn=limit,
        check=False,
    )
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert f"{out}: not written, nothing is there" in answer.stderr
    assert "File too large" in answer.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"stored"}


Answer = Callable[[BaseHTTPRequestHandler], None]


class _Server:
    """Responses of addresses, on this machine."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | bytes] = {}
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = owner.answers.get(self.path)
                if answer is None:
                    self.send_error(404)
                elif isinstance(answer, bytes):
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(answer)))
                    self.send_header("Last-Modified", "Fri, 13 Nov 2026 10:00:00 GMT")
                    self.end_headers()
                    self.wfile.write(answer)
                else:
                    answer(self)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[_Server]:
    made = _Server()
    yield made
    made.server.shutdown()
    made.server.server_close()


def half(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"x" * 400)


def forbidden(handler: BaseHTTPRequestHandler) -> None:
    handler.send_error(403)


def too_many(handler: BaseHTTPRequestHandler) -> None:
    handler.send_error(429)


def silent(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(2)


def dropped(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (half, "400 of 1000 bytes arrived"),
        (forbidden, "answered 403 Forbidden; a proxy, a filter or a limit of calls forbids it"),
        (too_many, "answered 429 Too Many Requests; too many calls, try again later"),
        (silent, "no connection: timed out"),
        (dropped, "no connection:"),
    ],
)
def test_what_does_not_arrive_whole_is_not_stored(
    answer: Answer, words: str, server: _Server, tmp_path: Path
) -> None:
    server.answers["/table.json"] = answer
    fetcher = Fetcher(lambda _: None, timeout=0.5)
    with pytest.raises(CannotReachError) as problem:
        fetcher.download(f"{server.address}/table.json", tmp_path / "table.json")
    assert words in str(problem.value)
    assert f"{server.address}/table.json" in str(problem.value)
    assert not (tmp_path / "table.json").exists()


def test_no_server_and_no_name(tmp_path: Path) -> None:
    fetcher = Fetcher(lambda _: None, timeout=0.5)
    for address in ("http://127.0.0.1:9/x", "http://prices.invalid/x"):
        with pytest.raises(CannotReachError, match="no connection"):
            fetcher.download(address, tmp_path / "x")


def test_a_proxy_that_wants_a_login_is_named_without_its_password(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def login(handler: BaseHTTPRequestHandler) -> None:
        handler.send_error(407)

    server.answers["http://prices.example/x"] = login
    monkeypatch.setenv("http_proxy", server.address.replace("//", "//me:hunter2@"))
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(CannotReachError) as problem:
        Fetcher(lambda _: None).download("http://prices.example/x", tmp_path / "x")
    assert "answered 407" in str(problem.value)
    assert "the proxy wants a login" in str(problem.value)
    assert "hunter2" not in str(problem.value)


def test_a_page_in_place_of_json_is_told_apart(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_GITHUB_API", server.address)
    server.answers["/aws/karpenter-provider-aws/releases/latest"] = b"<html>log in</html>"
    karpenter = next(one for one in SOURCES if one.key == "karpenter-aws")
    with pytest.raises(CannotReachError, match="not valid JSON: is it of a proxy"):
        Fetcher(lambda _: None).fetch(karpenter, tmp_path / "new", load(DEFAULT_EDITION))


@pytest.fixture
def published(server: _Server, monkeypatch: pytest.MonkeyPatch) -> _Server:
    """The stored files at the addresses of their sources, on this machine."""
    for name in ("_GITHUB_API", "_GITHUB_RAW", "_AWS", "_GPUHUNT", "_HUB"):
        monkeypatch.setattr(fetch, name, f"{server.address}/{name}")
    monkeypatch.setattr(fetch, "_AWS_INDEX", f"{server.address}/_AWS/region_index.json")
    newer = STORED / "newer"
    for source in SOURCES:
        files = source.files
        if not files.repository:
            continue
        commit = [{"sha": "abc123", "commit": {"committer": {"date": "2026-11-12T08:00:00Z"}}}]
        release = {"tag_name": "v1.15.1", "published_at": "2026-10-23T17:53:20Z"}
        server.answers[f"/_GITHUB_API/{files.repository}/releases/latest"] = _json(release)
        version = "v1.15.1" if files.release else "abc123"
        for name, path in files.paths.items():
            server.answers[f"/_GITHUB_API/{files.repository}/commits?per_page=1&path={path}"] = (
                _json(commit)
            )
            data = (newer / source.key / name).read_bytes()
            server.answers[f"/_GITHUB_RAW/{files.repository}/{version}/{path}"] = data
    regions = {
        name: {"regionCode": name, "currentVersionUrl": f"/offers/20261112/{name}/index.json"}
        for name in ("ap-northeast-1", "us-east-1", "us-east-1-wl1-chi1")
    }
    index = {"publicationDate": "2026-11-12T10:00:00Z", "regions": regions}
    server.answers["/_AWS/region_index.json"] = _json(index)
    prices = (newer / "aws-price-files" / "ap-northeast-1.csv").read_bytes()
    server.answers["/_AWS/offers/20261112/ap-northeast-1/index.csv"] = prices
    return server


def _json(document: object) -> bytes:
    return json.dumps(document).encode()


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(command, [*arguments, "--format", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_download_gives_what_the_stored_copy_gives(published: _Server) -> None:
    """Repositories at their newest release or commit, and the price file of one region."""
    names = ["aws-price-files", "karpenter-aws", "karpenter-gcp", "skypilot", "gcp-calculator"]
    chosen = [word for name in names for word in ("--source", name)]
    found = run(*chosen, "--region", "ap-northeast-1")
    assert not found["unreached"]
    assert {(one["key"], one["version"], one["date"]) for one in found["sources"]} == {
        ("aws-price-files", "2026-11-12", "2026-11-12"),
        ("karpenter-aws", "v1.15.1", "2026-10-23"),
        ("karpenter-gcp", "abc123", "2026-11-12"),
        ("skypilot", "abc123", "2026-11-12"),
        ("gcp-calculator", "abc123", "2026-11-12"),
    }
    stored = run(*chosen, "--from", str(STORED / "newer"))
    assert found["changes"] == stored["changes"]


def test_what_cannot_be_reached_is_listed_and_the_rest_goes_on(
    published: _Server, tmp_path: Path
) -> None:
    """All regions: the file of us-east-1 is missing. gpuhunt returns nothing."""
    out = tmp_path / "facts"
    names = ["aws-price-files", "skypilot", "gpuhunt", "capacity-blocks"]
    chosen = [word for name in names for word in ("--source", name)]
    found = run(*chosen, "--out", str(out))
    reasons = {one["source"]: one["why"] for one in found["unreached"]}
    assert set(reasons) == {"aws-price-files", "gpuhunt", "capacity-blocks"}
    assert "us-east-1/index.csv: answered 404" in reasons["aws-price-files"]
    assert "describe-capacity-block-offerings" in reasons["capacity-blocks"]
    assert [one["key"] for one in found["sources"]] == ["skypilot"]
    assert [path.name for path in out.iterdir()] == ["skypilot.json"]


def test_half_a_file_leaves_its_source_out(published: _Server, tmp_path: Path) -> None:
    repository = "/_GITHUB_RAW/skypilot-org/skypilot-catalog/abc123"
    published.answers[f"{repository}/catalogs/v9/aws/vms.csv"] = half
    found = run("--source", "skypilot", "--source", "karpenter-aws", "--out", str(tmp_path / "x"))
    (missed,) = found["unreached"]
    assert missed["source"] == "skypilot"
    assert "400 of 1000 bytes arrived" in missed["why"]
    assert found["written"] is None


def test_single_files_that_are_missing_leave_the_others(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_HUB", server.address)
    name = "meta-llama--Llama-3.3-70B-Instruct_config.json"
    server.answers["/meta-llama/Llama-3.3-70B-Instruct/resolve/main/config.json"] = (
        STORED / "newer" / "models" / name
    ).read_bytes()
    models = next(one for one in SOURCES if one.key == "models")
    missed = Fetcher(lambda _: None).fetch(models, tmp_path / "models", load(DEFAULT_EDITION))
    assert len(missed) > 50
    assert all("404" in one for one in missed)
    assert {path.name for path in (tmp_path / "models").iterdir()} == {name, "origin.json"}


def test_progress_is_said(server: _Server, tmp_path: Path) -> None:
    said: list[str] = []
    server.answers["/big"] = b"x" * (130 << 20)
    source = CollectedSource(
        "big", "Something big", _nothing, Files(paths={"big": f"{server.address}/big"})
    )
    Fetcher(said.append).fetch(source, tmp_path / "big", load(DEFAULT_EDITION))
    assert said[0] == "big: Something big"
    assert [line.split()[0] for line in said[1:]] == ["64", "128"]
    origin = json.loads((tmp_path / "big" / "origin.json").read_text(encoding="utf-8"))
    assert origin["date"] == "2026-11-13"


def _nothing(stored: Stored, catalogue: object) -> Any:
    raise AssertionError((stored, catalogue))
