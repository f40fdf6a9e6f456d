"""Every instance type and price of every edition: rules no row may break."""

from collections import Counter
from fractions import Fraction

import pytest

from gpufleet.catalogue import AWS, GCP, InstanceType, PriceStatus, editions, load
from gpufleet.catalogue.price_rows import ON_DEMAND, OTHER_OPTIONS, SPOT
from tests.data.corrections import NO_LONGER_LAUNCHABLE
from tests.data.every_row import every

ROWS = [(edition, row) for edition in editions() for row in load(edition).instances.values()]
FRACTIONAL = {
    "g6f.large": "1/8", "g6f.xlarge": "1/8", "g6f.2xlarge": "1/4", "g6f.4xlarge": "1/2",
    "gr6f.4xlarge": "1/2", "g4-standard-6": "1/8", "g4-standard-12": "1/4",
    "g4-standard-24": "1/2",
}  # fmt: skip
NOT_ON_DEMAND = {
    "p5e.48xlarge", "a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g", "a3-ultragpu-8g",
    "a3-ultragpu-8g-nolssd", "a4-highgpu-8g", "a4x-highgpu-4g", "a4x-maxgpu-4g-metal",
    "a4x-maxgpu-4g-metal-nolssd",
    *NO_LONGER_LAUNCHABLE,
}  # fmt: skip

of_every_row = every([(f"{edition}-{row.name}", (edition, row)) for edition, row in ROWS])


def test_every_published_type_is_there() -> None:
    clouds = Counter(row.cloud for row in load("2026.11").instances.values())
    assert clouds == {AWS: 103, GCP: 62}


@of_every_row
def test_an_instance_is_plausible(edition: str, row: InstanceType) -> None:
    assert row.architecture in {"amd64", "arm64"}
    assert row.vcpu is None or 2 <= row.vcpu <= 384
    if row.memory_bytes is not None and row.vcpu is not None:
        assert 1 <= row.memory_bytes / 2**30 / row.vcpu <= 40
    assert row.network_gbps is None or 1 <= row.network_gbps <= 6400
    assert row.local_nvme_bytes is None or 0 <= row.local_nvme_bytes < 40e12
    assert row.family == row.name.split("." if row.cloud == AWS else "-")[0] or (
        row.name.startswith(row.family)
    )


@of_every_row
def test_the_accelerator_is_a_gpu_of_the_catalogue(edition: str, row: InstanceType) -> None:
    gpu = load(edition).gpu(row.accelerator.gpu)
    accelerator = row.accelerator
    assert accelerator.count in {1, 2, 4, 6, 8, 12, 16}
    assert row.gpus == accelerator.count * accelerator.fraction
    expected = Fraction(FRACTIONAL.get(row.name, 1))
    assert accelerator.fraction == expected
    if row.cloud == AWS and accelerator.api_count is not None:
        assert accelerator.api_count == (0 if row.fractional else accelerator.count)
    if accelerator.nominal_gb and gpu.nominal_gb:
        assert accelerator.nominal_gb / float(expected) == pytest.approx(gpu.nominal_gb, rel=0.07)
    if accelerator.memory_bytes and gpu.memory_bytes:
        whole = accelerator.memory_bytes / float(expected)
        assert whole == pytest.approx(gpu.memory_bytes, rel=0.07)
    memory = load(edition).device_memory(row)
    if gpu.vendor == "nvidia" and gpu.memory_bytes is not None:
        assert memory is not None
        assert memory <= gpu.memory_bytes * expected * Fraction(101, 100)


@of_every_row
def test_network_cards_carry_the_efa_interfaces(edition: str, row: InstanceType) -> None:
    if row.cloud == GCP:
        assert row.efa_interfaces == 0
    elif row.efa_interfaces and row.network_cards is not None:
        assert row.efa_interfaces <= row.network_cards
        if row.name not in {"p6-b300.48xlarge", "p6e-gb200.36xlarge"}:
            assert row.efa_interfaces == row.network_cards


@of_every_row
def test_prices_are_positive_and_dated(edition: str, row: InstanceType) -> None:
    catalogue = load(edition)
    for option, price in (("onDemand", row.on_demand), ("spot", row.spot)):
        figure = price.micro_usd_per_hour
        assert (figure is not None) == (price.offer is PriceStatus.PRICED)
        assert price.source.date <= catalogue.about.date
        if figure is not None:
            assert 100_000 <= figure <= 200_000_000
            assert price.region
            assert option in row.purchase_options
            assert price.list_micro_usd_per_hour is None
        if price.high_micro_usd_per_hour is not None:
            assert figure is not None
            assert price.high_micro_usd_per_hour > figure
        if price.offer is PriceStatus.NOT_SOLD:
            assert option not in row.purchase_options
    # The list of flex start gives the prices of two machines by themselves, and of no other way.
    assert set(row.other_prices) <= {"flexStart"}
    for price in row.other_prices.values():
        figure = price.micro_usd_per_hour
        assert figure is not None
        assert figure < (row.on_demand.micro_usd_per_hour or figure + 1)
        assert price.region
        assert price.source.date <= catalogue.about.date


@of_every_row
def test_spot_is_below_on_demand(edition: str, row: InstanceType) -> None:
    on_demand = row.on_demand.micro_usd_per_hour
    spot = row.spot.high_micro_usd_per_hour or row.spot.micro_usd_per_hour
    if on_demand is not None and spot is not None:
        assert spot < on_demand


@of_every_row
def test_price_per_gpu_is_that_of_its_kind(edition: str, row: InstanceType) -> None:
    """A misplaced decimal point or a wrong count shows here, as it did in other catalogues."""
    if row.gpus is None or row.on_demand.usd_per_hour is None:
        return
    kin = [
        other.on_demand.usd_per_hour / (other.gpus.numerator / other.gpus.denominator).__ceil__()
        for other in load(edition).instances.values()
        if other.accelerator.gpu == row.accelerator.gpu
        and other.gpus is not None
        and other.gpus >= 1
        and other.on_demand.usd_per_hour is not None
    ]
    own = float(row.on_demand.usd_per_hour) / float(row.gpus)
    assert min(map(float, kin)) * 0.9 <= own <= max(map(float, kin)) * 2.5


@of_every_row
def test_purchase_options_are_known_ones(edition: str, row: InstanceType) -> None:
    assert row.purchase_options <= {ON_DEMAND, SPOT, *OTHER_OPTIONS}
    if row.cloud == AWS:
        assert not row.purchase_options & {"flexStart", "queued"}
    else:
        assert "capacityBlock" not in row.purchase_options
    assert ("onDemand" not in row.purchase_options) or row.name not in NOT_ON_DEMAND


def test_what_is_not_sold_on_demand_is_told_apart_from_an_unknown_price() -> None:
    rows = load("2026.11").instances.values()
    assert {r.name for r in rows if r.on_demand.offer is PriceStatus.NOT_SOLD} == NOT_ON_DEMAND
    unknown = {r.name for r in rows if r.on_demand.offer is PriceStatus.UNKNOWN}
    assert {"trn2.48xlarge", "dl2q.24xlarge", "a3-edgegpu-8g", "tpu7x-standard-4t"} <= unknown
    listed = {r.name for r in rows if r.on_demand.list_micro_usd_per_hour is not None}
    google = {"a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g", "a3-ultragpu-8g"}
    assert listed == google | set(NO_LONGER_LAUNCHABLE)


@of_every_row
def test_gke_partitions_are_profiles_of_the_gpu(edition: str, row: InstanceType) -> None:
    gpu = load(edition).gpu(row.accelerator.gpu)
    if row.gke_partition_sizes:
        assert row.cloud == GCP
        assert not row.fractional
        assert gpu.mig is not None
        for size, count in row.gke_partition_sizes.items():
            assert gpu.mig.profiles[size].max_instances == count
    if row.cloud == GCP and gpu.mig and not row.fractional and gpu.key != "GB300-278GB":
        assert row.gke_partition_sizes


@of_every_row
def test_google_names_lead_to_the_gpu(edition: str, row: InstanceType) -> None:
    if row.gke_accelerator_type is None:
        assert row.cloud == AWS or load(edition).gpu(row.accelerator.gpu).vendor == "google"
    else:
        found = load(edition).find_gpu(row.gke_accelerator_type)
        assert found.key == row.accelerator.gpu


@of_every_row
def test_attachable_machines_have_a_host_limit(edition: str, row: InstanceType) -> None:
    assert row.attachable == row.name.startswith("n1-")
    assert (row.host_limit is not None) == row.attachable
    if row.host_limit is not None:
        assert row.vcpu is None
        assert 12 <= row.host_limit.vcpu <= 96


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("p4d.24xlarge", "A100-40GB"),
        ("p4de.24xlarge", "A100-80GB"),
        ("a2-highgpu-1g", "A100-40GB"),
        ("a2-megagpu-16g", "A100-40GB"),
        ("a2-ultragpu-1g", "A100-80GB"),
        ("p5.4xlarge", "H100-80GB"),
        ("a3-megagpu-8g", "H100-80GB"),
        ("p3.2xlarge", "V100-16GB"),
        ("p3dn.24xlarge", "V100-32GB"),
        ("p6-b300.48xlarge", "B300-269GB"),
        ("g7.2xlarge", "RTX-PRO-4500-BLACKWELL-32GB"),
        ("g4-standard-6", "RTX-PRO-6000-BLACKWELL-96GB"),
    ],
)
def test_gpus_of_one_name_are_told_apart_by_memory(name: str, gpu: str) -> None:
    assert load("2026.11").instance(name).accelerator.gpu == gpu


def test_on_demand_prices_are_known_in_many_regions() -> None:
    """At least 15 regions of AWS and 12 of Google Cloud have a list of on-demand prices."""
    prices = load().prices
    for cloud, least in ((AWS, 15), (GCP, 12)):
        machines = Counter(
            price.region
            for (_, option), known in prices[cloud].items()
            for price in known
            if option == "onDemand" and price.micro_usd_per_hour is not None
        )
        many = [region for region, count in machines.items() if count >= 7]
        assert len(many) >= least, machines
