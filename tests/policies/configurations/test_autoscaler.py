"""`gpufleet check --as autoscaler`: what we render passes, nothing that is read stops it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet.render.scaled_object import scaled_object
from gpufleet.rules.rule import Verdict
from gpufleet.spec.scaling import KedaScaling
from gpufleet_policies.configurations.kinds import validate_text
from tests.policies.configurations.autoscaler_cases import SLICED, VLLM, hpa, scaled, text
from tests.reading import yaml_documents

ROOT = Path(__file__).parents[3]
TARGET = {"name": "web", "namespace": "ml"}
SIGNALS = [{"signal": "requestsRunning", "target": 12}, {"signal": "kvCache"}]
QUEUE = {"signal": "queueLength", "query": "sum(rabbitmq_queue_messages)", "target": 5}


@pytest.mark.parametrize("alongside", [VLLM, SLICED], ids=["whole", "slice"])
@pytest.mark.parametrize("least", [0, 1])
def test_what_we_render_is_accepted(alongside: dict[str, Any], least: int) -> None:
    given_ = {"target": TARGET, "min": 1, "max": 4, "on": SIGNALS}
    on = [QUEUE, *SIGNALS] if least == 0 else SIGNALS
    keda = KedaScaling.model_validate(
        {**given_, "min": least, "on": on, "server": "http://prometheus:9090"}
    )
    validated = validate_text("autoscaler", text(alongside, scaled_object(keda)))
    assert validated.verdict is Verdict.ACCEPT, validated.findings


def test_autoscalers_of_the_examples_are_accepted() -> None:
    found = [
        document
        for file in sorted((ROOT / "examples").rglob("*.yaml"))
        if "kind: ScaledObject" in file.read_text() or "HorizontalPodAutoscaler" in file.read_text()
        for document in yaml_documents(file.read_text())
        if document
    ]
    for document in found:
        if document.get("kind") in {"ScaledObject", "HorizontalPodAutoscaler"}:
            validated = validate_text("autoscaler", text(*found))
            assert validated.verdict is not Verdict.REJECT, validated.findings


def test_a_list_of_a_cluster_is_read() -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": [VLLM, scaled(), hpa()]}
    validated = validate_text("autoscaler", json.dumps(items))
    (both,) = [f for f in validated.findings if f.code == "autoscaler-two-of-one-target"]
    assert both.path == "items[2].spec.scaleTargetRef"


WORDS = st.text(alphabet="aN-:/9 ", max_size=8)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return found + [place for key, inner in entries for place in places(inner, (*path, key))]


@given(st.sampled_from([VLLM, scaled(), hpa()]), st.data())
def test_no_value_in_any_place_stops_it(document: dict[str, Any], data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(places(document)))
    broken = json.loads(json.dumps(document))
    inner = broken
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = data.draw(ANYTHING)
    documents = [broken, VLLM] if document is not VLLM else [broken, scaled(), hpa()]
    validate_text("autoscaler", text(*documents))
