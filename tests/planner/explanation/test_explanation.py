"""`--explain`: no number without formula, basis and source, and the formulas give the numbers."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_planner.commands.size import command as size_command
from gpufleet_planner.explanation.explain import (
    ExplanationLine,
    explain_option,
    explain_setting,
    lines_as_text,
)
from gpufleet_planner.planning.plan import plan
from gpufleet_planner.sizing.request import ParallelRequest, SizeRequest
from gpufleet_planner.sizing.sized import size
from tests.reading import yaml_data

EXAMPLES = Path(__file__).parents[3] / "examples" / "plan"
REQUESTS = (
    SizeRequest(model="Llama-3.1-8B", context=8192, batch=8, gpu="L40S"),
    SizeRequest(model="DeepSeek-V2-Lite", context=4096, gpu="A100-80GB", weights="nf4"),
    SizeRequest(model="Qwen3-0.6B", workload="embedding", context=512, batch=16, gpu="L4"),
    SizeRequest(model="Llama-3.2-1B", context=2048, gpu="A100-80GB", mig="1g.10gb"),
    SizeRequest(model="Llama-3.2-1B", context=2048, gpu="L4", mps=4),
    SizeRequest(model="Llama-3.2-1B", context=2048, gpu="L4", time_slicing=4),
    SizeRequest(model="Llama-3.2-1B", context=2048, gpu="L4", engine="transformers"),
    SizeRequest(model="Llama-3.1-8B", workload="full-fine-tuning", context=2048, gpu="H200"),
    SizeRequest(model="Llama-3.1-8B", workload="lora", context=2048, gpu="L40S"),
    SizeRequest(model="Llama-3.1-8B", workload="qlora", context=2048, gpu="L4"),
    SizeRequest(
        model="Llama-3.1-70B",
        workload="pre-training",
        context=8192,
        gpu="H100",
        parallelism=ParallelRequest(tensor=8, pipeline=2, data=8, sharding="zero1"),
    ),
    SizeRequest(model="7B", context=2048, gpu="L4"),
)


def lines_of(request: SizeRequest) -> tuple[ExplanationLine, ...]:
    answer = size(request, load())
    assert answer.model is not None
    assert answer.work is not None, answer.findings
    return tuple(
        explain_setting(answer.model, answer.work, answer.parallel, answer.device, answer.link)
    )


def find(lines: tuple[ExplanationLine, ...], figure: str) -> ExplanationLine:
    return next(line for line in lines if line.figure == figure)


def numbers(text: str) -> list[float]:
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", text)]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: f"{r.model}-{r.workload}-{r.gpu}")
def test_every_number_has_formula_basis_and_source(request_: SizeRequest) -> None:
    lines = lines_of(request_)
    assert {"model", "memory", "device", "speed"} <= {line.topic for line in lines}
    for line in lines:
        assert line.value
        assert line.formula
        assert line.source
        assert line.basis.value in ("measured", "modelled", "assumed")


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: f"{r.model}-{r.workload}-{r.gpu}")
def test_sums_are_the_sums_of_their_formulas(request_: SizeRequest) -> None:
    lines = lines_of(request_)
    for figure, tolerance in (("parameters", 0.5), ("total", 0.06)):
        line = find(lines, figure)
        assert sum(numbers(line.formula)) == pytest.approx(numbers(line.value)[0], abs=tolerance)


def test_times_are_the_quotients_of_their_formulas() -> None:
    lines = lines_of(SizeRequest(model="Llama-3.1-8B", context=8192, batch=8, gpu="L40S"))
    work, _, gpus, peak, mfu, moved = numbers(find(lines, "first token").formula)
    value = numbers(find(lines, "first token").value)[0]
    assert value == pytest.approx(1000 * work / (gpus * peak * mfu) + moved, rel=0.01)
    read, bandwidth, mbu, *_ = numbers(find(lines, "token").formula)
    assert numbers(find(lines, "token").value)[0] == pytest.approx(
        1000 * read / (bandwidth * mbu), rel=0.01
    )
    job = lines_of(REQUESTS[7])
    tokens, each, group, peak, mfu, seconds, *_ = numbers(find(job, "step").formula)
    assert seconds == pytest.approx(tokens * each / 1000 / (group * peak * mfu), rel=0.01)


@pytest.mark.parametrize("name", ["team", "slices", "sandbox-training"])
def test_a_plan_explains_each_workload_down_to_the_price(name: str) -> None:
    answer = plan(yaml_data((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")))
    for work in answer.workloads:
        lines = explain_option(work.need, work.option)
        assert {"memory", "device", "choice", "cost"} <= {line.topic for line in lines}
        planned = numbers(find(lines, "to plan with").value)[0]
        assert planned == pytest.approx(work.option.reached.need_bytes / (1 << 30), abs=0.006)
        count, price = numbers(find(lines, "billed").formula)[:2]
        assert count * price == pytest.approx(numbers(find(lines, "billed").value)[0], abs=1e-3)
        assert re.search(r"\d{4}-\d\d-\d\d", find(lines, "machine").source)


def test_text_shows_number_formula_and_source_in_this_order() -> None:
    text = lines_as_text(lines_of(REQUESTS[0]))
    assert text.index("weights: 14.96 GiB (modelled)") < text.index("= 8030261248 parameters")
    assert "  from catalogue, " in text


def test_the_commands_explain(tmp_path: Path) -> None:
    question = ["--model", "Llama-3.1-8B", "--context", "8192", "--gpu", "L40S", "--explain"]
    result = CliRunner().invoke(size_command, question)
    assert result.exit_code == 0, result.output
    assert "As requested" in result.output
    assert "Cheapest: 1 x L40S on 1 x g6e.xlarge" in result.output
    result = CliRunner().invoke(size_command, [*question, "--format", "json"])
    explained = json.loads(result.stdout)["explain"]
    assert {line["figure"] for line in explained["asked"]} >= {"weights", "first token"}
    assert {line["figure"] for line in explained["cheapest"]} >= {"billed", "million tokens"}
    source = str(EXAMPLES / "sandbox-shared.yaml")
    result = CliRunner().invoke(plan_command, [source, "--explain"])
    assert result.exit_code == 0, result.output
    assert "# routers, every number:" in result.stdout
    assert yaml_data(result.stdout)["platform"] == "sandbox"
    result = CliRunner().invoke(plan_command, [source, "--explain", "--format", "json"])
    assert set(json.loads(result.stdout)["explain"]) == {"routers", "search", "labs"}
