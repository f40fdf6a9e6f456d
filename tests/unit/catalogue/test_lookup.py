"""Names in use, and the error for a name without a row."""

import pickle

import pytest

from gpufleet.catalogue import AmbiguousKeyError, UnknownKeyError, load


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("A100-80", "A100-80GB"),
        ("a100-40gb", "A100-40GB"),
        ("A100 80GB", "A100-80GB"),
        ("h100", "H100-80GB"),
        ("nvidia-h100", "H100-80GB"),
        ("H100-NVL", "H100-94GB"),
        ("H200", "H200-141GB"),
        ("b200", "B200-180GB"),
        ("GB200", "GB200-186GB"),
        ("A30", "A30-24GB"),
        ("nvidia-l4", "L4"),
        ("NVIDIA L4", "L4"),
        ("tesla_t4", "T4"),
        ("nvidia-tesla-a100", "A100-40GB"),
        ("nvidia-a100-80gb", "A100-80GB"),
        ("nvidia-h100-mega-80gb", "H100-80GB"),
        ("NVIDIA-A100-SXM4-80GB", "A100-80GB"),
        ("rtx-pro-server-6000", "RTX-PRO-6000-BLACKWELL-96GB"),
        ("RTX-PRO-4500", "RTX-PRO-4500-BLACKWELL-32GB"),
        ("aws-trainium2", "Trainium2"),
        ("ironwood", "TPU-v7x"),
    ],
)
def test_find_gpu_understands_what_people_write(text: str, key: str) -> None:
    assert load().find_gpu(text).key == key


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("A100", ("A100-40GB", "A100-80GB")),
        ("nvidia-a100", ("A100-40GB", "A100-80GB")),
        ("V100", ("V100-16GB", "V100-32GB")),
        ("gh200", ("GH200-144GB", "H100-96GB")),
    ],
)
def test_find_gpu_lists_the_candidates_of_an_ambiguous_name(
    text: str, candidates: tuple[str, ...]
) -> None:
    with pytest.raises(AmbiguousKeyError) as caught:
        load().find_gpu(text)
    assert caught.value.nearest == candidates
    assert str(caught.value) == f"{text!r} names more than one GPU: write {' or '.join(candidates)}"


def test_an_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(UnknownKeyError, match=r"no GPU named 'H100-81GB'") as caught:
        load().gpu("H100-81GB")
    assert caught.value.kind == "GPU"
    assert caught.value.key == "H100-81GB"
    assert caught.value.nearest[0] == "H100-80GB"
    assert isinstance(caught.value, LookupError)


def test_exact_lookup_is_exact_but_offers_the_right_case() -> None:
    with pytest.raises(UnknownKeyError) as caught:
        load().gpu("l4")
    assert caught.value.nearest[0] == "L4"


@pytest.mark.parametrize(
    ("look_up", "key", "nearest"),
    [
        ("instance", "p5.24xlarge", "p5.4xlarge"),
        ("model", "llama-3.1-8b", "Llama-3.1-8B"),
        ("chart", "gpu_operator", "gpu-operator"),
        ("image", "al2023", "al2023-nvidia"),
    ],
)
def test_every_table_says_what_is_nearest(look_up: str, key: str, nearest: str) -> None:
    with pytest.raises(UnknownKeyError, match="nearest") as caught:
        getattr(load(), look_up)(key)
    assert nearest in caught.value.nearest


def test_nothing_near_makes_no_hint() -> None:
    with pytest.raises(UnknownKeyError) as caught:
        load().gpu("@@@@@@@@@@@@")
    assert str(caught.value) == "no GPU named '@@@@@@@@@@@@' in the catalogue"


def test_errors_travel_between_processes() -> None:
    for error in (
        UnknownKeyError("GPU", "x", ["y"]),
        AmbiguousKeyError("GPU", "A100", ["A100-40GB", "A100-80GB"]),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.nearest) == (type(error), str(error), error.nearest)


@pytest.mark.parametrize(
    "label",
    [
        "NVIDIA-A100-SXM4-80GB",
        "NVIDIA-A100-SXM4-80GB-SHARED",
        "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",
        "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me-SHARED",
        "NVIDIA-A100-SXM4-80GB-MIG-INVALID",
        "NVIDIA-A100-80GB-PCIe",
    ],
)
def test_product_labels_with_their_suffixes(label: str) -> None:
    assert load().gpu_by_product_label(label).key == "A100-80GB"


def test_an_unknown_product_label() -> None:
    with pytest.raises(UnknownKeyError, match="no GPU product label named 'NVIDIA-L5'") as caught:
        load().gpu_by_product_label("NVIDIA-L5")
    assert "NVIDIA-L4" in caught.value.nearest


def test_instances_with_a_gpu_come_cheapest_first() -> None:
    found = load().instances_with_gpu("L4", "aws")
    assert [row.name for row in found][:3] == ["g6.xlarge", "g6.2xlarge", "g6.4xlarge"]
    prices = [row.on_demand.micro_usd_per_hour for row in found]
    assert None not in prices
    assert prices == sorted(prices)  # type: ignore[type-var]
    assert not any(row.fractional for row in found)


def test_slices_of_a_gpu_only_on_request() -> None:
    found = load().instances_with_gpu("L4", "aws", fractional=True)
    assert found[0].name == "g6f.large"
    assert sum(row.fractional for row in found) == 5


def test_unpriced_instances_come_last() -> None:
    names = [row.name for row in load().instances_with_gpu("H200-141GB")]
    assert names == [
        "p5en.48xlarge",
        "p5e.48xlarge",
        "a3-ultragpu-8g",
        "a3-ultragpu-8g-nolssd",
    ]


def test_instances_with_an_unknown_gpu() -> None:
    with pytest.raises(UnknownKeyError, match="no GPU named 'L5'"):
        load().instances_with_gpu("L5")


@pytest.mark.parametrize(
    ("text", "vendor", "series"),
    [
        ("MI350X", "amd", "MI"),
        ("MI300", "amd", "MI"),
        ("H1000", "nvidia", "H"),
        ("nvidia-l5", "nvidia", "L"),
        ("B400", "nvidia", "B"),
        ("GH300", "nvidia", "GH"),
        ("AI200", "qualcomm", "AI"),
        ("Trainium3", "aws", "Trainium"),
        ("TPU-v8", "google", "TPU"),
    ],
)
def test_near_gpus_are_of_the_same_vendor_and_series(text: str, vendor: str, series: str) -> None:
    gpus = load().gpus
    with pytest.raises(UnknownKeyError) as caught:
        load().find_gpu(text)
    assert caught.value.nearest
    assert {gpus[key].vendor for key in caught.value.nearest} == {vendor}
    assert all(key.startswith(series) for key in caught.value.nearest)


@pytest.mark.parametrize("text", ["MTT-S4000", "Ascend910B", "Groq-LPU"])
def test_a_gpu_of_an_unknown_series_is_not_mended_to_another(text: str) -> None:
    with pytest.raises(UnknownKeyError) as caught:
        load().find_gpu(text)
    assert caught.value.nearest == ()


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("p7.48xlarge", "p5.48xlarge"),
        ("a5-highgpu-8g", "a4-highgpu-8g"),
        ("Standard_NC24", None),
        ("BM.GPU.H100.8", None),
    ],
)
def test_near_machine_types_are_of_the_same_cloud(name: str, near: str | None) -> None:
    with pytest.raises(UnknownKeyError) as caught:
        load().instance(name)
    assert (near in caught.value.nearest) if near else not caught.value.nearest
