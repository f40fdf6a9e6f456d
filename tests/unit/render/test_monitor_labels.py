"""A Prometheus that selects monitors by labels sees all of them: GPUs, Kueue and KEDA."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.fleet import Fleet
from gpufleet.render.artefacts import artefacts
from gpufleet.render.kueue_configuration import kueue_values
from gpufleet.render.scrape_objects import scrape_objects
from tests.reading import yaml_data
from tests.unit.render.fleets import TEAMS, eks

LABELS = {"release": "kube-prometheus-stack"}
KEDA = Path(__file__).parents[4] / "shared/reference/charts/keda-2.20.2.values.yaml"


def fleet(addons: dict[str, Any] | None = None, **monitoring: Any) -> Fleet:
    return eks(queues={"teams": TEAMS}, monitoring=monitoring, addons=addons or {})


def scrapes(made: Fleet) -> dict[str, dict[str, Any]]:
    assert made.spec.monitoring is not None
    return {one["metadata"]["name"]: one for one in scrape_objects(made, made.spec.monitoring)}


def test_kueue_is_scraped_once_and_by_the_labels() -> None:
    labelled = fleet(labels=LABELS)
    monitor = scrapes(labelled)["gpufleet-kueue"]
    assert monitor["kind"] == "ServiceMonitor"
    assert LABELS.items() <= monitor["metadata"]["labels"].items()
    assert monitor["spec"]["namespaceSelector"] == {"matchNames": ["kueue-system"]}
    # The chart's own takes no labels; both would scrape twice where all are selected.
    assert kueue_values(labelled)["enablePrometheus"] is False
    plain = fleet()
    assert "gpufleet-kueue" not in scrapes(plain)
    assert kueue_values(plain)["enablePrometheus"] is True


@pytest.mark.parametrize("backend", ["prometheus", "victoriaMetrics"])
def test_every_scrape_has_them(backend: str) -> None:
    for one in scrapes(fleet(labels=LABELS, backend=backend)).values():
        assert LABELS.items() <= one["metadata"]["labels"].items()


def test_kedas_monitors_have_them() -> None:
    made = fleet(
        {"keda": {"enabled": True, "values": {"logging": {"level": "debug"}}}}, labels=LABELS
    )
    (text,) = [one.text for one in artefacts(made) if one.path == "values/keda.yaml"]
    values = yaml_data(text)
    for part in ("operator", "metricServer"):
        monitor = values["prometheus"][part]["serviceMonitor"]
        assert monitor == {"enabled": True, "additionalLabels": LABELS}
    assert values["logging"] == {"level": "debug"}
    if KEDA.is_file():
        known = yaml_data(KEDA.read_text())["prometheus"]
        for part in ("operator", "metricServer"):
            assert known[part]["serviceMonitor"]["additionalLabels"] == {}
