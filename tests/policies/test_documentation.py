"""The reference of all rules equals the rules and their tested examples; its anchors exist."""

from pathlib import Path

import pytest

from gpufleet.cluster.intent import WorkloadIntent
from gpufleet_policies.configurations.codes import code_space, group_of
from gpufleet_policies.rule_examples import FILE, rule_examples
from gpufleet_policies.rules.checked import CONFIG_RULES
from gpufleet_policies.rules.registry import EXCEPTION_INVALID, RULES
from gpufleet_policies.rules.settings import THRESHOLDS, read_settings, settings_schema
from tests.policies.write_examples import examples_text
from tests.reading import yaml_data
from tools.rule_pages import pages, written

DOCS = Path(__file__).parents[2] / "docs" / "policies.md"


WRITE = "run make generate"


def test_the_reference_is_up_to_date():
    text = DOCS.read_text()
    assert written(text) == text, WRITE


def test_the_pages_of_the_families_are_up_to_date():
    folder = DOCS.with_suffix("")
    assert {path.name: path.read_text() for path in folder.glob("*.md")} == pages(), WRITE


def test_every_link_of_a_message_leads_to_its_page():
    text = DOCS.read_text()
    headings = {line.lstrip("# ") for line in text.splitlines() if line.startswith("#")}
    assert {EXCEPTION_INVALID, "Settings"} <= headings
    for rule in RULES:
        assert rule.docs == f"docs/policies.md#{rule.id}"
        assert f'<a id="{rule.id}"></a>[{rule.id}](policies/{rule.family}.md#{rule.id})' in text
        assert f"## {rule.id}\n" in (DOCS.with_suffix("") / f"{rule.family}.md").read_text()


def test_the_examples_are_the_cases_that_the_tests_run():
    assert FILE.read_text() == examples_text(), WRITE


WITHOUT_EXAMPLE = {
    "configmap-key-absent",
    "configmap-value-invalid",
    "context-key-unknown",
    "context-value-invalid",
    "document-unreadable",
    "gpu-unknown",
}
"""About the call of `gpufleet check` and texts that are no document of the kind."""


def test_every_rule_names_its_source_and_shows_a_bad_and_a_good_example():
    made = pages()
    for rule in RULES:
        assert rule.sentence.strip()
        assert rule.source.strip()
        text = made[f"{rule.family}.md"].partition(f"## {rule.id}\n")[2].partition("\n## ")[0]
        assert f"* Source: {rule.source}" in text
        if rule.id not in WITHOUT_EXAMPLE:
            assert "\n> " in text, rule.id
            assert "\nGood:" in text or "\nBad (`-`) and good (`+`):" in text, rule.id
    assert not {rule.id for rule in RULES} - set(rule_examples())
    assert {rule.id for rule in CONFIG_RULES} - set(rule_examples()) == WITHOUT_EXAMPLE


def test_a_person_can_read_the_list():
    assert len(RULES) <= 150


def test_rules_are_explained_without_the_tests():
    """An installed program explains rules too."""
    package = Path(FILE).parent
    files = (package / "explanation.py", package / "rule_examples.py")
    assert not [
        file
        for file in files
        if "import tests" in (text := file.read_text()) or "from tests" in text
    ]


def test_links_to_the_page_of_check_still_lead_to_each_rule():
    text = DOCS.with_name("check.md").read_text()
    for code, found in code_space().items():
        assert text.count(f'<a id="{code}"></a>') == 1
        assert f"[`{code}`](policies/{group_of(found)}.md#{code})" in text


def test_the_settings_of_the_page_are_readable_and_complete():

    text = DOCS.read_text()
    block = text.split("```yaml\n", 1)[1].split("```", 1)[0]
    shown = yaml_data(block)
    assert set(shown) == set(settings_schema())
    assert set(shown["thresholds"]) == set(THRESHOLDS)
    read_settings(shown)


def test_every_annotation_we_read_is_documented():
    text = DOCS.read_text()
    inferred_only = {"parallel_replicas", "model", "offloads", "context_tokens", "step_tokens"}
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
