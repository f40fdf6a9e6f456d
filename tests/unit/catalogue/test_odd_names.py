"""Odd names: suggestions are of the same vendor, series, cloud and kind, or there are none."""

from typing import Any

import pytest

from gpufleet.catalogue import UnknownKeyError, load
from gpufleet.platforms.compiled import compile_data
from gpufleet_planner.planning.offers import offered_machines

GPUS = {
    "MI350X": "amd", "MI400": "amd", "Gaudi2": "habana", "Gaudi-4": "habana", "H800": "nvidia",
    "A800": "nvidia", "B100": "nvidia", "GB400": "nvidia", "L50": "nvidia", "P40": "nvidia",
    "V200": "nvidia", "TPU-v9": "google", "Trainium4": "aws", "Inferentia3": "aws",
    "Ascend910": None, "Radeon-7900": None, "GTX1080": None, "Max1100": None, "xpu": None,
    "gpu": None, "MTT-S4000": None,
}  # fmt: skip
"""Name -> the maker of it, or None for what no GPU of the catalogue is like."""
MACHINES = {
    "g6.xlrge": "aws", "p5.48xlrage": "aws", "inf3.xlarge": "aws", "a3-highgpu-8": "gcp",
    "g2-standard-5": "gcp", "ct6e-standard-4": "gcp", "Standard_ND96isr_H100_v5": None,
    "gpu_8x_h100_sxm5": None, "gd-8xh100ib-i128": None, "BM.GPU.H100.8": None,
}  # fmt: skip
MODELS = {
    "Llama-5-8B": "Llama", "Qwen9-7B": "Qwen", "Mixtral-9x7B": "Mixtral", "gpt-4": None,
    "DeepSeek-V5": "DeepSeek", "Kimi-K9": "Kimi", "Claude-3": None, "Gemini-2": None,
}  # fmt: skip
"""Name -> how names of its series begin. Gemini is not a Gemma, and GPT-4 no gpt-oss."""


def nearest(look_up: Any, name: str) -> tuple[str, ...]:
    with pytest.raises(UnknownKeyError) as caught:
        look_up(name)
    return caught.value.nearest


@pytest.mark.parametrize(("name", "maker"), GPUS.items())
def test_gpus(name: str, maker: str | None) -> None:
    near = nearest(load().find_gpu, name)
    assert {load().gpu(key).vendor for key in near} == ({maker} if maker else set())


@pytest.mark.parametrize(("name", "cloud"), MACHINES.items())
def test_machine_types(name: str, cloud: str | None) -> None:
    near = nearest(load().instance, name)
    assert {load().instance(one).cloud for one in near} == ({cloud} if cloud else set())


@pytest.mark.parametrize(("name", "series"), MODELS.items())
def test_models(name: str, series: str | None) -> None:
    near = nearest(load().model, name)
    assert bool(near) == (series is not None)
    assert all(one.startswith(series or "") for one in near)


@pytest.mark.parametrize(
    ("place", "key", "near"),
    [
        ("", "platform", {"aks": None, "azure": None, "ekss": "eks"}),
        ("cluster", "version", "kubernetesVersion"),
        ("cluster", "regoin", "region"),
        ("cluster", "vpc", None),
        ("pool", "instanceType", "instanceTypes"),
        ("pool", "spot", None),
        ("pool", "taint", "taints"),
    ],
)
def test_keys_and_platforms(place: str, key: str, near: Any) -> None:
    values = near if isinstance(near, dict) else {"x": near}
    for value, suggestion in values.items():
        pool: dict[str, Any] = {"name": "a", "gpu": "L4", "nodes": {"min": 0, "max": 1}}
        cluster: dict[str, Any] = {"name": "ml", "region": "us-east-1"}
        data: dict[str, Any] = {"platform": "eks", "cluster": cluster, "pools": [pool]}
        {"": data, "cluster": cluster, "pool": pool}[place][key] = value
        found = [one for one in compile_data(data).findings if one.path.endswith(key)]
        assert len(found) == 1
        wanted = f"nearest: {suggestion}" if suggestion else None
        assert wanted is None or found[0].fix == wanted
        assert wanted is not None or "nearest" not in str(found[0].fix)


def test_offers() -> None:
    fixes = {name: offered_machines([name], load())[1][0].fix for name in ("azur", "lamda", "gcp")}
    assert fixes["azur"] == "write `azure`"
    assert fixes["lamda"] == "write `lambda`"
    assert fixes["gcp"] is not None
    assert fixes["gcp"].startswith("one of")
