"""Texts that people read: no credentials, and no character that shows something else."""

import json
import sys
import time
import unicodedata
from pathlib import Path

import pytest

import gpufleet.catalogue
from gpufleet.catalogue import UnknownKeyError, load
from gpufleet.findings import error
from gpufleet.messages import json_text, message, one_line, visible
from gpufleet.secret_text import masked, masked_data, secret_in

# Parts, so that no scanner takes this file for a leak.
KEY = "abcdefghij" + "klmnopqrstuvwxyz" + "0123456789"
SECRETS = {
    f"the catalogue has no GPU 'ghp_{KEY}'": "the catalogue has no GPU 'ghp_***'",
    f"token github_pat_{KEY} ends": "token gith*** ends",
    f"hf_{KEY}": "hf_a***",
    "AKIA" + "ABCDEFGHIJKLMNOP": "AKIA***",
    f"nvapi-{KEY}": "nvap***",
    f"glpat-{KEY}": "glpa***",
    f"pul-{'0123456789' * 4}": "pul-***",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.abc": "eyJh***",
    "abc12f." + "0123456789abcdef": "abc1***",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIabc": "***",
    "http://user:pa55@proxy:3128": "http://user:***@proxy:3128",
    "https://:pa55@proxy": "https://:***@proxy",
    "runs `serve --token=abc --port=1`": "runs `serve --token=*** --port=1`",
    "--password hunter22x": "--password ***",
    "-Dstore.password='x y'": "-Dstore.password='*** y'",
    "HF_TOKEN=abc,NAME=x": "HF_TOKEN=***,NAME=x",
    f"Authorization: Bearer {KEY}": "Authorization: Bearer ***",
    "k3JdX9sLm2QpR7tV8wYzA1bC4dE6fG0hI5jN": "***",
    "0123456789abcdef" * 2: "***",
}


@pytest.mark.parametrize("text", SECRETS)
def test_what_may_be_a_secret_is_masked(text: str):
    assert masked(text) == SECRETS[text]
    assert masked(masked(text)) == masked(text)


PLAIN = (
    "the option --api-key is missing; --token sets it",
    "meta-llama/Meta-Llama-3.1-70B-Instruct-AWQ-INT4",
    "DeepSeek-R1-Distill-Qwen-32B-GGUF-Q4-K-M",
    "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb",
    "nvcr.io/nvidia/cuda@sha256:" + "0123456789abcdef" * 4,
    "GPU-8f6e1c2a-1234-5678-9abc-def012345678",
    "arn:aws:eks:us-east-1:123456789012:nodegroup/cluster/ng/9ac1",
    "--max-num-batched-tokens=8192 --tokenizer=x",
    "HTTPS_PROXY=http://user:$PASSWORD@proxy token=<token> --token=$(TOKEN) secret={{ .Values.s }}",
    "http://proxy:3128/path and http://[::1]:80/x@y",
    "gpufleet.dev/ignore-gpu-job-without-deadline",
    "spec.template.spec.containers[0].resources.limits",
    "Basic authentication is not supported by this version",
)


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str):
    assert masked(text) == text


def test_no_name_of_the_catalogue_looks_like_a_secret():
    folder = Path(gpufleet.catalogue.__path__[0])
    for file in folder.rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            assert masked_data(row) == row


def test_kinds_are_named_and_values_are_not_repeated():
    assert secret_in(f"ghp_{KEY}") == "a GitHub token"
    assert secret_in("https://u:p@proxy") == "an address with a password"
    assert secret_in("--token=abc") == "an option with a credential"
    assert secret_in("--token=$TOKEN") is None


def test_findings_and_errors_of_the_catalogue_are_masked():
    finding = error("x", f"path --token={KEY}", f"ghp_{KEY}\x1b[31m", None, found=[f"hf_{KEY}"])
    assert KEY not in str(finding)
    assert KEY not in json.dumps(finding.as_dict())
    assert "\x1b" not in finding.message
    with pytest.raises(UnknownKeyError) as caught:
        load().find_gpu(f"ghp_{KEY}")
    assert KEY not in str(caught.value)


HOSTILE = ("a-", "a.", "eyJ-", "--", "token", "http://", "a", "-----BEGIN ", "--a", "token=a-")


@pytest.mark.parametrize("part", HOSTILE)
def test_long_texts_take_no_long_time(part: str):
    started = time.process_time()
    masked(part * (100_000 // len(part)))
    assert time.process_time() - started < 3


def test_every_character_that_does_not_show_is_escaped_or_a_space():
    for number in range(sys.maxunicode + 1):
        letter = chr(number)
        category = unicodedata.category(letter)
        if category == "Cf":
            escaped = letter.encode("unicode_escape").decode()
            assert one_line(f"a{letter}b") == f"a{escaped}b", number
        elif category in ("Cc", "Zl", "Zp"):
            assert one_line(f"a{letter}b") == "a b", number
    assert visible("a\n\tb\u202ec\x1b") == "a\n\tb\\u202ec "
    assert message(f"\u202eghp_{KEY}") == "\\u202eghp_***"
    assert one_line("größe: 8 H100, 日本") == "größe: 8 H100, 日本"


def test_json_holds_every_character_and_shows_none_of_these():
    text = "a\u202eb\x7f\x9b\u2028\U000e0041\ufeffc\nö"
    written = json_text({"name": text})
    assert json.loads(written) == {"name": text}
    assert not [c for c in written if unicodedata.category(c) in ("Cf", "Zl", "Zp")]
    assert "\x7f" not in written
    assert "ö" in written
