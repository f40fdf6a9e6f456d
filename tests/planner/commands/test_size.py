import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet_planner.commands.size import command

QUESTION = ["--model", "Llama-3.1-8B", "--workload", "inference", "--context", "8192"]


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, list(arguments), input=stdin)


def test_json_is_one_document_with_the_ledger_in_bytes() -> None:
    result = run(*QUESTION, "--batch", "4", "--format", "json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    ledger = document["ledger"]
    assert ledger["weights"] == 16_060_522_496
    assert ledger["kvCache"] == 4 * 8192 * 131_072
    assert ledger["total"] == sum(size for item, size in ledger.items() if item != "total")
    assert document["choices"][0]["why"] == "cheapest that meets the target"
    assert document["findings"] == []


def test_text_shows_items_how_they_are_known_and_the_verdict() -> None:
    result = run(*QUESTION, "--gpu", "L40S", "--weights", "fp8")
    assert result.exit_code == 0
    for words in ("kv cache", "modelled", "assumed", "L40S: 44.39 GiB usable, fits", "binds"):
        assert words in result.stdout


def test_a_file_is_a_question_and_options_replace_its_entries() -> None:
    text = "model: Qwen3-4B\nworkload: qlora\ncontext: 2048\nparallelism: {data: 2}\n"
    plain = json.loads(run("-", "--format", "json", stdin=text).stdout)
    assert plain["gpus"] == 2
    assert plain["ledger"]["dequantisedMatrix"] > 0
    longer = json.loads(
        run("-", "--context", "4096", "--sharding", "zero3", "--format", "json", stdin=text).stdout
    )
    assert longer["gpus"] == 2
    assert longer["ledger"]["activations"] == 2 * plain["ledger"]["activations"]
    assert longer["ledger"]["weights"] < plain["ledger"]["weights"]


def test_a_gpu_with_the_memory_of_its_host_is_an_answer_without_choices() -> None:
    result = run(*QUESTION, "--gpu", "GB10", "--format", "json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["fits"] is None
    assert document["choices"] == []
    assert "whether it fits GB10 is not known" in document["findings"][0]["message"]


def test_unknown_names_exit_1_with_all_findings() -> None:
    result = run("--model", "Lama-3.1-8B", "--context", "1", "--gpu", "H1000", "--format", "json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["ledger"] is None
    assert {finding["code"] for finding in document["findings"]} == {"model-unknown", "gpu-unknown"}


def test_not_fitting_is_a_warning() -> None:
    result = run("--model", "Llama-3.1-70B", "--context", "1024", "--gpu", "L4")
    assert result.exit_code == 0
    assert "does not fit" in result.stdout
    assert "does-not-fit" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "missing --model and --context, such as --model Llama-3.1-8B --context 8192"),
        (["--model", "8B"], "missing --context"),
        ([*QUESTION, "--batch", "0"], "0 is not in the range x>=1"),
        ([*QUESTION, "--engine", "tgi"], "'tgi' is not one of"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_model_configuration_is_no_question(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "llama"}', encoding="utf-8")
    result = run(str(file))
    assert isinstance(result.exception, UnreadableInputError)
    assert f"write `--model {file}`" in str(result.exception)
    assert isinstance(run(str(tmp_path / "no")).exception, UnreadableInputError)
    assert isinstance(run("-", stdin="a: [").exception, UnreadableInputError)


def test_precision_of_serving_is_the_format_of_its_weights() -> None:
    result = run(*QUESTION, "--precision", "fp8", "--format", "json")
    assert json.loads(result.stdout)["ledger"]["weights"] < 10_000_000_000
    training = run(
        *("--model", "1B", "--workload", "full-fine-tuning", "--context", "8192"),
        *("--precision", "bf16", "--format", "json"),
    )
    assert json.loads(training.stdout)["ledger"]["optimizer"] == 4_000_000_000


def test_without_graphs_no_gpu_is_chosen_and_memory_is_still_answered() -> None:
    result = run(*QUESTION, "--engine", "vllm", "--no-graphs")
    assert result.exit_code == 1
    assert "runs without CUDA graphs, whose speed is not known: no GPU is chosen" in result.output
    assert "L4: 22.03 GiB usable, fits" in run(*QUESTION, "--no-graphs", "--gpu", "L4").stdout


def test_an_engine_that_captures_no_graphs_has_a_speed_without_them() -> None:
    asked = [*QUESTION, "--engine", "transformers", "--format", "json"]
    assert json.loads(run(*asked, "--no-graphs").stdout) == json.loads(run(*asked).stdout)
