"""Reading documents: ConfigMaps, limits, Go's YAML, the context file."""

import pytest

from gpufleet.contract.foreign.context import read_context
from gpufleet.contract.foreign.go_json import integer
from gpufleet.contract.foreign.kinds import judge_text
from gpufleet.contract.foreign.network_names import (
    guid,
    is_domain,
    is_image_repository,
    is_ofed_version,
)
from gpufleet.documents.durations import is_duration, is_prometheus_duration
from gpufleet.documents.quantities import quantity
from gpufleet.documents.reading import UnreadableTextError, read_yaml
from tests.unit.contract.foreign.case_rows import FINE


def test_a_configmap_is_unwrapped() -> None:
    body = "apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n    "
    inner = FINE["mig-parted"].replace("\n", "\n    ")
    assert judge_text("mig-parted", body + inner, gpu="H100-80GB").verdict == "accept"
    broken = body + inner.replace("7", "8")
    (finding,) = judge_text("mig-parted", broken, gpu="H100-80GB").findings
    assert finding.path == "mig-configs.a[0].mig-devices"


def test_several_keys_need_a_selection() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\ndata: {a: 'version: v1', b: 'version: v2'}"
    assert [f.code for f in judge_text("device-plugin", text).findings] == ["configmap-key-absent"]
    assert judge_text("device-plugin", text, select="a").verdict == "accept"
    assert judge_text("device-plugin", text, select="b").verdict == "reject"
    absent = judge_text("device-plugin", text, select="c").findings[0]
    assert "config-manager sidecar fails" in absent.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe", "not UTF-8"),
        ("a: [", "line"),
        ("x" * ((1 << 20) + 1), "limit of"),
        ("[" * 50 + "]" * 50, "nested deeper than 40"),
        ("a: &a [*a]", "alias"),
        ("a: !!int x", "is no int"),
        ("? [a]\n: b", "cannot be a key"),
        ("null: a", "null cannot be a key"),
        ("<<: 3", "merged"),
    ],
)
def test_unreadable_text_says_why(text: str | bytes, words: str) -> None:
    with pytest.raises(UnreadableTextError, match=words):
        read_yaml(text)


def test_aliases_cannot_grow_without_limit() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [" + f"*{chr(97 + i)}, " * 9 + "]" for i in range(7)]
    with pytest.raises(UnreadableTextError, match="aliases stand for more than"):
        read_yaml("\n".join(lines))


def test_yaml_types_are_those_of_go() -> None:
    read = read_yaml("a: y\nb: off\nc: 0o17\nd: 12:30\ne: 1_000\n1: x\ntrue: y\n1.5: z")
    assert read.data == {
        "a": True,
        "b": False,
        "c": 15,
        "d": "12:30",
        "e": 1000,
        "1": "x",
        "true": True,
        "1.5": "z",
    }
    assert read_yaml("a: 1\nb: {c: 1, c: 2}\na: 2").repeated == ("b.c", "a")
    assert read_yaml("a: 1\n---\nb: [").more_documents
    endless = "9" * 5000  # beyond what Python turns into a number; for Go it is text
    assert read_yaml(f"a: {endless}\nb: -{endless}").data == {"a": endless, "b": f"-{endless}"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (3.0, 3), (3.5, None), (True, None), ("3", None), (1 << 63, None), (1e21, None)],
)
def test_go_integers(value: object, expected: int | None) -> None:
    assert integer(value) == expected


def test_wrong_contexts_are_reported_with_the_right_form() -> None:
    _, report = read_context(
        {
            "gpus": 3,
            "gpu": "H1000",
            "gpusPerNode": 0,
            "env": [1],
            "version": "new",
            "featureGates": "A=maybe",
            "chart": 3,
            "product": 5,
            "gpuPerNode": 2,
        },
        None,
    )
    paths = {finding.path for finding in report.findings}
    assert paths == {
        "gpu",
        *(
            f"context.{key}"
            for key in (
                "gpus",
                "gpusPerNode",
                "env",
                "version",
                "featureGates",
                "chart",
                "product",
                "gpuPerNode",
            )
        ),
    }
    assert all(finding.fix for finding in report.findings)


def test_context_forms() -> None:
    context, report = read_context(
        {
            "product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED",
            "env": [{"name": "MIG_STRATEGY", "value": "single"}],
            "featureGates": "A=true, B=false",
            "version": "v0.15.0",
            "chart": "nvidia/gpu-operator@v26.7.0",
        }
    )
    assert not report.findings
    assert context.gpu is not None
    assert context.gpu.key == "A100-80GB"
    assert context.bare_product == "NVIDIA-A100-SXM4-80GB"
    assert context.labelled_profile == "1g.10gb"
    assert context.env == {"MIG_STRATEGY": "single"}
    assert context.feature_gates == {"A": True, "B": False}
    assert context.version == (0, 15, 0)
    assert context.chart is not None
    assert (context.chart.name, context.chart.version) == ("gpu-operator", "v26.7.0")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1Gi", 1 << 30), ("1500m", 1.5), ("1e3", 1000), (".5", 0.5), ("1.", 1), ("-2", -2)],
)
def test_quantities(text: str, value: float) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "1GB", "Gi", "1 Gi", "1e", "--1", "1e99999", "9" * 60])
def test_no_quantities(text: str) -> None:
    assert quantity(text) is None


def test_durations() -> None:
    assert all(is_duration(text) for text in ("60s", "1h30m", "0", "-1.5h", ".5s"))
    assert not any(is_duration(text) for text in ("60", "1h30", "", "s", "1 h"))
    assert all(is_prometheus_duration(text) for text in ("0", "15s", "1m30s", "1d", "2w"))
    assert not any(is_prometheus_duration(text) for text in ("", "15", "15 s", "1.5s", "30s1m"))


def test_names_of_the_network_operator() -> None:
    assert is_domain("nvidia.com")
    assert not is_domain("nvidia")
    assert guid("00:00:00:00:00:00:00:0A") == 10
    assert guid("0:0") is None
    for fine in ("nvcr.io/nvidia/mellanox", "localhost:5000/x", "library", "a.b:80/c/d"):
        assert is_image_repository(fine), fine
    for wrong in ("", "nvcr.io/NVIDIA", "a b", "https://nvcr.io/x", "a" * 64):
        assert not is_image_repository(wrong), wrong
    for version in (
        "23.10-0.2.2.0",
        "24.01-0.3.3.1-0",
        "25.01-0.6.0.0-0-6.8.0-1019-oracle-ubuntu22.04-arm64",
        "doca3.4.1-26.04-1.1.0.0-1",
        "sha256:" + "9a" * 32,
    ):
        assert is_ofed_version(version, (26, 4, 1)), version
    for version in ("", "23-10-0.2.2.0", "doca3-26.04-1", "sha256:9a", "latest"):
        assert not is_ofed_version(version, (26, 4, 1)), version
    assert is_ofed_version("doca3.6.0-26.10-016000-ubuntu24.04-amd64", (26, 7, 0))
