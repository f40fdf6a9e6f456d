import json
from fractions import Fraction

import pytest

from gpufleet.catalogue import load
from gpufleet.fleet.config_names import registration_labels
from gpufleet.partition.partition import cut
from gpufleet.spec.sharing import Sharing
from tests.unit.render.golden_files import assert_golden
from tests.unit.render.pools import DECLARATIONS, pool
from tests.unit.render.published_labels import product, published_labels


def test_golden_file() -> None:
    labels = {
        name: {
            "birth": registration_labels(name, *pool(name)),
            "published": published_labels(*pool(name)),
        }
        for name in DECLARATIONS
    }
    assert_golden("node-labels.json", json.dumps(labels, indent=1, sort_keys=True) + "\n")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("training", "NVIDIA-H100-80GB-HBM3"),
        ("chat", "NVIDIA-L4"),
        ("visible", "NVIDIA-L4-SHARED"),
        ("notebooks", "NVIDIA-A100-SXM4-80GB"),
        ("small", "NVIDIA-A30-MIG-1g.6gb"),
    ],
)
def test_product(name: str, label: str) -> None:
    assert product(*pool(name)) == label
    assert published_labels(*pool(name))["nvidia.com/gpu.product"] == label


def test_single_counts_slices_and_mixed_counts_gpus() -> None:
    single, mixed = published_labels(*pool("small")), published_labels(*pool("notebooks"))
    assert single["nvidia.com/gpu.count"] == "8"
    assert "nvidia.com/gpu.memory" not in single  # of the slice, and sourced in GiB only
    assert mixed["nvidia.com/gpu.count"] == "8"
    assert mixed["nvidia.com/mig-1g.10gb.count"] == "28"
    assert mixed["nvidia.com/mig-1g.10gb.product"] == "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"
    assert mixed["nvidia.com/gpu.replicas"] == "1"


def test_replicas_are_per_device() -> None:
    assert published_labels(*pool("chat"))["nvidia.com/gpu.replicas"] == "4"
    labels = published_labels(*pool("turns"))
    assert labels["nvidia.com/mig-1g.10gb.replicas"] == "3"
    assert labels["nvidia.com/mig-1g.10gb.count"] == "4"
    assert labels["nvidia.com/gpu.replicas"] == "1"


def test_gpus_in_mig_mode_have_no_replicas_of_their_own() -> None:
    assert published_labels(*pool("graphics"))["nvidia.com/gpu.replicas"] == "0"


def test_the_cluster_strategy_shows_on_whole_nodes() -> None:
    assert "nvidia.com/mig.strategy" not in published_labels(*pool("training"))
    labels = published_labels(*pool("training"), cluster_strategy="mixed")
    assert labels["nvidia.com/mig.strategy"] == "mixed"


def test_mps() -> None:
    labels = published_labels(*pool("embed"))
    assert labels["nvidia.com/mps.capable"] == "true"
    assert labels["nvidia.com/gpu.sharing-strategy"] == "mps"


def test_a_fraction_is_not_mig_capable_and_its_memory_is_not_guessed() -> None:
    gpu = load().gpu("RTX-PRO-6000-BLACKWELL-96GB")
    partition, _ = cut(gpu, 1, Sharing.model_validate({"exclusive": {}}), "s", Fraction(1, 8))
    assert partition is not None
    labels = published_labels(gpu, partition)
    assert labels["nvidia.com/mig.capable"] == "false"
    assert "nvidia.com/gpu.memory" not in labels


def test_a_product_too_long_for_a_label_is_not_promised() -> None:
    gpu = load().gpu("RTX-PRO-6000-BLACKWELL-96GB")
    layout = {"layouts": [{"devices": {"2g.48gb+gfx": 2}}], "strategy": "single"}
    slicing = {"timeSlicing": {"replicas": 2, "rename": False}}
    partition, _ = cut(gpu, 1, Sharing.model_validate({"mig": {**layout, **slicing}}), "s")
    assert partition is not None
    assert product(gpu, partition) is None
    labels = published_labels(gpu, partition)
    assert "nvidia.com/gpu.product" not in labels
    assert labels["nvidia.com/gpu.replicas"] == "2"


def test_every_label_is_legal() -> None:
    for name in DECLARATIONS:
        labels = registration_labels(name, *pool(name)) | published_labels(*pool(name))
        for key, value in labels.items():
            assert len(value) <= 63, (key, value)
            assert "+" not in key + value
            assert all(c.isalnum() or c in "-_." for c in value), value
