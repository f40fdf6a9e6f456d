"""`gpufleet rightsize`: files, a server, and what is written."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet_planner.commands.rightsize import command
from gpufleet_planner.rightsize.usage import QUERY
from tests.planner.rightsize.samples import Truth, answer

TRUTHS = (
    Truth("chat", "NVIDIA A100-SXM4-80GB", 8, 0.1, 0.05, pods=3),
    Truth("nb", "NVIDIA A100-SXM4-80GB", 0.4, 0.0, 0.0),
    Truth("etl", "NVIDIA A100-SXM4-80GB", 8, 0.1, 0.05, kind="none"),
)
SPEC = """\
catalogue: "2026.11"
platform: eks
environment: dev
cluster: {name: c, region: us-east-1, kubernetesVersion: "1.34"}
pools:
- {name: big, instanceTypes: [p4de.24xlarge], nodes: {min: 0, max: 2}}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


@pytest.fixture
def dump(tmp_path: Path) -> str:
    file = tmp_path / "use.json"
    file.write_text(answer(TRUTHS), encoding="utf-8")
    return str(file)


@pytest.fixture
def spec(tmp_path: Path) -> str:
    file = tmp_path / "spec.yaml"
    file.write_text(SPEC, encoding="utf-8")
    return str(file)


def test_json_adds_up(dump: str) -> None:
    result = run(dump, "--platform", "eks", "--region", "us-east-1", "--format", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    rows = {row["name"]: row for row in document["workloads"]}
    assert rows["chat"]["verdict"] == "smaller"
    assert rows["nb"]["verdict"] == "idle"
    assert document["savingMicroUsdPerHour"] == pytest.approx(
        sum(row["savingMicroUsdPerHour"] for row in rows.values()), abs=3
    )


def test_the_text_names_each_workload_and_the_condition_of_the_saving(dump: str) -> None:
    result = run(dump, "--platform", "eks", "--region", "us-east-1")
    assert result.exit_code == 0, result.output
    assert "once other pods use the free part" in result.stdout
    assert "work between two samples is not seen" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name FILE or --prometheus"),
        (("FILE",), "name --spec, or --platform"),
        (("FILE", "--spec", "s", "--region", "r"), "remove --platform and --region"),
    ],
)
def test_contradicting_options_are_named(arguments: tuple[str, ...], words: str, dump: str) -> None:
    result = run(*(dump if one == "FILE" else one for one in arguments))
    assert result.exit_code == 2
    assert words in result.output


def test_the_query_names_every_series_that_is_read() -> None:
    result = run("--query")
    assert result.stdout == QUERY + "\n"
    for name in ("DCGM_FI_DEV_FB_USED", "DCGM_FI_PROF_SM_ACTIVE", "kube_pod_owner"):
        assert name in QUERY


class _Server(BaseHTTPRequestHandler):
    asked: dict[str, list[str]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        type(self).asked = {**parse_qs(body), "token": [self.headers.get("Authorization", "")]}
        self.send_response(200 if self.path == "/api/v1/query_range" else 404)
        self.end_headers()
        self.wfile.write(answer(TRUTHS).encode())

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def server() -> Iterator[str]:
    made = HTTPServer(("127.0.0.1", 0), _Server)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()
    thread.join()


def test_a_server_is_asked_for_the_days(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUFLEET_PROMETHEUS_TOKEN", "abc")
    result = run("--prometheus", server, "--days", "7", "--platform", "eks", "--format", "json")
    assert result.exit_code == 0, result.output
    asked = _Server.asked
    assert asked["query"] == [QUERY]
    assert int(asked["end"][0]) - int(asked["start"][0]) == 7 * 86_400
    assert asked["token"] == ["Bearer abc"]


def test_an_error_of_the_server_ends_with_its_code(server: str) -> None:
    result = run("--prometheus", f"{server}/wrong", "--platform", "eks")
    assert "HTTP 404" in str(result.exception)


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    result = run("--prometheus", "http://bob:hunter22@host:9090", "--platform", "eks")
    assert "GPUFLEET_PROMETHEUS_TOKEN" in str(result.exception)
    assert "hunter22" not in str(result.exception)


@pytest.mark.parametrize(
    "address",
    [
        "http://hunter22secret@host:9090",
        "http://host:9090/?token=hunter22secret",
        "http://host:hunter22secret",
        "http://[hunter22secret",
    ],
)
def test_no_part_of_a_refused_address_that_may_be_a_secret_is_repeated(address: str) -> None:
    result = run("--prometheus", address, "--platform", "eks")
    assert isinstance(result.exception, UnreadableInputError)
    assert "hunter22secret" not in str(result.exception)


def test_a_token_that_no_header_can_have_is_not_repeated(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUFLEET_PROMETHEUS_TOKEN", "hunter22\nx")
    result = run("--prometheus", server, "--platform", "eks")
    assert isinstance(result.exception, UnreadableInputError)
    assert "hunter22" not in str(result.exception)


def test_a_redirection_does_not_get_the_token(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    class _Other(_Server):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer(TRUTHS).encode())

    other = HTTPServer(("127.0.0.1", 0), _Other)
    threading.Thread(target=other.serve_forever, daemon=True).start()

    def redirect(self: _Server) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(302)
        self.send_header("Location", f"http://127.0.0.1:{other.server_port}/")
        self.end_headers()

    monkeypatch.setattr(_Server, "do_POST", redirect)
    monkeypatch.setenv("GPUFLEET_PROMETHEUS_TOKEN", "abc")
    result = run("--prometheus", server, "--platform", "eks")
    other.shutdown()
    other.server_close()
    assert result.exit_code == 0, result.output
    assert seen == [None]


@pytest.mark.parametrize(
    "text",
    [
        '{"data": {"result": [5]}}',
        '{"data": {"result": [{"metric": {}, "values": [["inf", "1"]]}]}}',
        '{"data": {"result": [' + "9" * 5000 + "]}}",
        """{"data": {"result": [{"metric": {"__name__": "DCGM_FI_DEV_FB_USED"},
        "values": [[1, "4000"]]}]}}""",  # of no pod
    ],
)
def test_an_answer_that_tells_nothing_ends_with_one_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "use.json"
    file.write_text(text, encoding="utf-8")
    assert isinstance(run(str(file), "--platform", "eks").exception, UnreadableInputError)


def test_a_byte_order_mark_is_no_problem(dump: str) -> None:
    text = Path(dump).read_text(encoding="utf-8")
    Path(dump).write_text("\ufeff" + text, encoding="utf-8")
    assert run(dump, "--platform", "eks", "--region", "us-east-1").exit_code == 0


def test_a_region_that_nobody_knows_is_named(dump: str) -> None:
    result = run(dump, "--platform", "eks", "--region", "us-esat-1", "--format", "json")
    document = json.loads(result.stdout)
    assert [one["code"] for one in document["findings"]] == ["region-unknown"]
    proposed = next(one for one in document["workloads"] if one["proposal"] is not None)
    assert any("estimated" in risk for risk in proposed["risks"])


def measured(memory: object, compute: object, seconds: int) -> str:
    """One pod on one GPU, eight days of memory and this number of seconds of compute."""
    labels = {"UUID": "G", "modelName": "NVIDIA A100-SXM4-80GB", "namespace": "ml", "pod": "p"}
    result = [
        {
            "metric": {"__name__": name, **labels},
            "values": [[at, str(value)] for at in range(0, until, 600)],
        }
        for name, value, until in (
            ("DCGM_FI_DEV_FB_USED", memory, 8 * 86_400),
            ("DCGM_FI_PROF_SM_ACTIVE", compute, seconds),
        )
    ]
    return json.dumps({"status": "success", "data": {"result": result}})


@pytest.mark.parametrize(
    ("memory", "compute", "verdict"),
    [
        (4000, 0.05, "smaller"),
        (4000, 50, "unknown"),  # percent
        (4000 * 2**20, 0.05, "unknown"),  # bytes
        (1e308, 0.05, "unknown"),
        (4000, -1, "unknown"),
        (4000, "NaN", "unknown"),
    ],
)
def test_samples_that_cannot_be_give_no_certain_answer(
    memory: object, compute: object, verdict: str, tmp_path: Path
) -> None:
    file = tmp_path / "use.json"
    file.write_text(measured(memory, compute, 8 * 86_400), encoding="utf-8")
    document = json.loads(run(str(file), "--platform", "eks", "--format", "json").stdout)
    assert [one["verdict"] for one in document["workloads"]] == [verdict]


def test_compute_that_was_measured_for_a_moment_gives_no_confidence(tmp_path: Path) -> None:
    file = tmp_path / "use.json"
    file.write_text(measured(4000, 0, 600), encoding="utf-8")
    document = json.loads(run(str(file), "--platform", "eks", "--format", "json").stdout)
    (work,) = document["workloads"]
    assert (work["verdict"], work["confidence"]) == ("idle", "low")
    assert "0% of 192 hours" in work["risks"][0]
