"""Public model configurations: each is right within 3 % of its size, or refused by name.

`model_sizes.jsonl` holds configurations as they are published, in the short form of
`short_configs` (quantised layers of mixed formats cut to three where they are thousands), and the
parameters that huggingface/transformers 5.23.0 gives them: its own class, made from the
configuration on the meta device, counted on 2026-11-23 before this reader saw them (the last 15
releases after it had; of these one was refused, which is read now: LFM2.5).
Layers for drafting (`num_nextn_predict_layers`, MTP) are not loaded and not counted by either.
`null`: that release has no class for the configuration.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpufleet.findings import has_errors
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.config_quantisation import stored_format
from gpufleet.models.parameters import count_parameters
from tests.data.short_configs import whole

LINES = Path(__file__).with_name("model_sizes.jsonl").read_text("utf-8").splitlines()
ROWS: list[dict[str, Any]] = [
    {**row, "config": whole(row["config"])} for row in map(json.loads, LINES)
]
CONFIGS: dict[str, Any] = {row["model"]: row["config"] for row in ROWS}
RELEASES = [row for row in ROWS if "/" in row["model"]]
TOLERANCE = 0.03
REFUSED = {
    "mistralai/Voxtral-Mini-3B-2507": "audio_config",
    "moonshotai/Kimi-K3": "routed_expert_hidden_size",
    "stepfun-ai/Step-3.7-Flash": "model_type",
    "stepfun-ai/Step-3.7-Flash-FP8": "model_type",
}
"""Releases without a formula, and the key that shows it."""


def named(row: dict[str, Any]) -> str:
    return row["model"]


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_configuration_is_right_or_refused(row: dict[str, Any]) -> None:
    model, fields = architecture_from_config(row["config"], row["model"], "test")
    if model is not None:
        stored_format(fields)
    if model is None or has_errors(fields.findings):
        for finding in fields.findings:
            if finding.severity == "error":
                assert finding.path
                assert finding.fix or finding.code == "config-layers-disagree"
        return
    if row["parameters"] is not None:
        assert count_parameters(model).total == pytest.approx(row["parameters"], rel=TOLERANCE)


@pytest.mark.parametrize("row", RELEASES, ids=named)
def test_releases_of_the_year_are_read(row: dict[str, Any]) -> None:
    """Refusals are the exception, and name the key that is not understood."""
    model, fields = architecture_from_config(row["config"], row["model"], "test")
    key = REFUSED.get(row["model"])
    assert (model is None) == (key is not None), fields.findings
    if key is not None:
        assert any(key in (finding.path or "") for finding in fields.findings)


def test_there_are_enough_of_them() -> None:
    assert len(RELEASES) >= 104
