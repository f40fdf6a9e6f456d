"""Every wrapper of a chart in the public files is opened, or named as not validated."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gpufleet.cluster.release_values import WrappedRelease
from gpufleet_policies.fronts.audit.inputs import Input, find_inputs
from gpufleet_policies.fronts.audit.reading import Reading, documents_of, read_input
from gpufleet_policies.fronts.audit.run import judged
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.wrappers.charts import known_chart
from gpufleet_policies.wrappers.registry import releases_of

CORPORA = Path(__file__).parents[2].parent / "shared" / "corpora"
LEAST_WRAPPERS = 2
"""Counts when the test was written: fewer means that they are not recognised."""

needs_corpora = pytest.mark.skipif(not CORPORA.is_dir(), reason=f"{CORPORA} is missing")


Readings = list[tuple[Input, Reading, list[Any]]]


@pytest.fixture(scope="module")
def readings() -> Readings:
    """All public files, what they hold, and their documents where they can be read."""
    found = ((one, read_input(one)) for one in find_inputs([str(CORPORA)]))
    return [(one, read, [] if read.problem else list(documents_of(one))) for one, read in found]


def _releases(readings: Readings) -> list[tuple[str, WrappedRelease]]:
    found: list[tuple[str, WrappedRelease]] = []
    for one, _, documents in readings:
        for document in documents:
            if isinstance(document.data, dict):
                found += [(one.name, release) for release in releases_of(document.data, one.name)]
    return found


@needs_corpora
def test_every_wrapper_is_opened_or_named(readings: Readings):
    all_of_them = [reading for _, reading, _ in readings]
    result = judged(all_of_them, read_settings({}), date(2026, 11, 23))
    named = {(one.file, one.reason.rpartition(" ")[2]) for one in result.not_judged}
    opened = {file.name for file in result.files if file.objects}
    releases = _releases(readings)
    assert len(releases) >= LEAST_WRAPPERS
    for file, release in releases:
        if release.chart is not None and known_chart(release.chart) is not None:
            assert file in opened, (file, release.chart)
        else:
            assert (file, release.chart) in named, (file, release.chart)


@needs_corpora
def test_the_wrapped_gpu_operator_is_judged_at_its_version():
    """johnzheng1975/kcd_beijing2025 flux_samples/gpu-operator_installation.yaml at 1d55ba5."""
    (file,) = (CORPORA / "nvidia-configs" / "wrapped").glob("*gpu-operator_installation.yaml")
    found = {
        (fact.name, fact.release.found)
        for one in find_inputs([str(file)])
        for fact in read_input(one).facts
        if type(fact).__name__ == "Program"
    }
    assert found == {("gpu-operator", "v24.9.2")}


@needs_corpora
def test_values_of_other_charts_are_not_taken_for_those_of_the_operator():
    (file,) = CORPORA.glob("NVIDIA__KAI-Scheduler/hack/fake-gpu-operator-values.yaml")
    (one,) = find_inputs([str(file)])
    reading = read_input(one)
    assert reading.facts == []
    assert [left.what for left in reading.not_judged] == ["chart"]


@needs_corpora
def test_nothing_of_the_public_files_is_passed_over_in_silence(
    readings: Readings,
):
    """An object gives facts, is named, or is of a kind that cannot concern a GPU."""
    from gpufleet_policies.readers.kubernetes_objects import (
        cannot_concern_gpus,
        group_of,
        is_validated_kind,
    )

    for one, reading, documents in readings:
        assert reading.not_judged or not reading.problem, one.name
        for document in documents:
            data = document.data
            if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
                continue
            group, kind = group_of(data.get("apiVersion")), data["kind"]
            if is_validated_kind(group, kind) or cannot_concern_gpus(group, kind):
                continue
            said = [*reading.not_judged, *(fact.locator for fact in reading.facts)]
            assert "apiVersion" not in data or any(left.line == document.line for left in said), (
                one.name,
                document.line,
                kind,
            )
