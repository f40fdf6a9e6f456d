"""docs/policies.md is what the rules say, and its anchors exist."""

from pathlib import Path

import pytest

from gpufleet_policies.documentation import pages, written
from gpufleet_policies.facts.intent import WorkloadIntent
from gpufleet_policies.rules.registry import EXCEPTION_INVALID, PACK_RULES
from gpufleet_policies.rules.settings import KEYS, THRESHOLDS, read_settings
from tests.policies.cases import CASES

DOCS = Path(__file__).parents[2] / "docs" / "policies.md"


WRITE = "run python -m gpufleet_policies.documentation docs/policies.md"


def test_the_reference_is_up_to_date():
    text = DOCS.read_text()
    assert written(text) == text, WRITE


def test_the_pages_of_the_families_are_up_to_date():
    folder = DOCS.with_suffix("")
    assert {path.name: path.read_text() for path in folder.glob("*.md")} == pages(CASES), WRITE


def test_every_link_of_a_message_leads_to_its_page():
    text = DOCS.read_text()
    headings = {line.lstrip("# ") for line in text.splitlines() if line.startswith("#")}
    assert {EXCEPTION_INVALID, "Settings"} <= headings
    for rule in PACK_RULES:
        assert rule.docs == f"docs/policies.md#{rule.id}"
        assert f'<a id="{rule.id}"></a>[{rule.id}](policies/{rule.family}.md#{rule.id})' in text
        assert f"## {rule.id}\n" in (DOCS.with_suffix("") / f"{rule.family}.md").read_text()


def test_the_settings_of_the_page_are_readable_and_complete():
    import yaml

    text = DOCS.read_text()
    block = text.split("```yaml\n", 1)[1].split("```", 1)[0]
    shown = yaml.safe_load(block)
    assert set(shown) == set(KEYS)
    assert set(shown["thresholds"]) == set(THRESHOLDS)
    read_settings(shown)


def test_every_annotation_we_read_is_documented():
    text = DOCS.read_text()
    inferred_only = {"parallel_replicas", "model", "offloads", "context_tokens"}
    names = {
        "model_parameters_billion": "model-params-b",
        "min_gpu_memory_bytes": "min-gpu-memory-gib",
        "latency_slo": "latency-slo-ms",
        "culled_after": "culled-after-seconds",
    }
    for field in WorkloadIntent.__dataclass_fields__:
        if field not in inferred_only:
            assert f"gpufleet.dev/{names.get(field, field.replace('_', '-'))}`" in text


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="lacks the markers"):
        written("# nothing")
