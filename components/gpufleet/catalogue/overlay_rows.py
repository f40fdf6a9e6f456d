"""Rows of an overlay: the fields of an edition's rows, with the limits that the data tests hold.

Files write camelCase. A validated row becomes a row as the files of an edition have it.
"""

import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel

from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.catalogue.price_rows import micro_usd
from gpufleet.catalogue.software_rows import EXPERTS, shape_of_config
from gpufleet.messages import shown_value

_DEAREST_USD = 100_000
"""Above this per hour a figure is a monthly price or micro-dollars; no instance is near it."""


def _dollars(value: object) -> str:
    """A figure of a price, as text. Raises ValueError for one that cannot be a price of an hour."""
    text = str(value)
    if not 0 < micro_usd(text) <= _DEAREST_USD * MICRO_USD:
        raise ValueError(f"{value} is not above 0 and at most {_DEAREST_USD}")
    return text


Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+([-.][A-Za-z0-9]+)*$", max_length=63)]
"""A key: letters, digits, and single hyphens or dots inside."""
Figure = Annotated[str, StringConstraints(pattern=r"^\d{1,12}(\.\d{1,6})?$")]
"""A decimal number, quoted."""
Count = Annotated[int, Field(ge=1, le=1 << 30)]
Dollars = Annotated[str, BeforeValidator(_dollars)]
"""US dollars for one hour of one machine, at most six decimals; a number or text."""
Purchase = Literal["onDemand", "spot", "reserved", "capacityBlock", "flexStart", "queued"]


class OverlayRow(BaseModel):
    """A row of an overlay."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=False,
        strict=True,
    )

    def row(self) -> dict[str, Any]:
        """The row as an edition's file has it."""
        return self.model_dump(mode="json", exclude_none=True)


class BoardRates(OverlayRow):
    """Dense peak rates of one board. Leave out what is not published."""

    gbs: Annotated[int, Field(ge=100, le=40_000)]
    """Memory bandwidth, GB/s."""
    tf32: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Dense tera-operations per second, like the following."""
    bf16: Annotated[float, Field(gt=0, le=100_000)] | None = None
    fp16: Annotated[float, Field(gt=0, le=100_000)] | None = None
    fp8: Annotated[float, Field(gt=0, le=100_000)] | None = None
    int8: Annotated[float, Field(gt=0, le=100_000)] | None = None
    fp4: Annotated[float, Field(gt=0, le=100_000)] | None = None
    tdp: Annotated[int, Field(ge=10, le=5_000)] | None = None
    """Watts."""
    nvlink_gbs: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Both directions together, GB/s. Default 0: no NVLink."""
    nvlink_bridge: bool = False


class GpuRow(OverlayRow):
    """A GPU. Default of every optional field: not known."""

    key: Key
    name: Annotated[str, Field(min_length=1, max_length=100)]
    vendor: Literal["nvidia", "amd", "aws", "google", "habana", "qualcomm", "xilinx"]
    architecture: Annotated[str, Field(min_length=1, max_length=40)]
    """`ampere`, `hopper`, `ada-lovelace`, `blackwell`, ..."""
    compute_capability: Annotated[str, StringConstraints(pattern=r"^\d{1,2}\.\d$")] | None = None
    """Quoted: `"9.0"`. NVIDIA only."""
    nominal_gb: Annotated[int, Field(ge=1, le=4096)] | None = None
    memory_mib: Annotated[int, Field(ge=1024, le=4 << 20)] | None = None
    """What the driver reports."""
    product_names: tuple[str, ...] = ()
    """What NVML calls the boards; the first, with hyphens, is the label of nodes."""
    boards: dict[str, BoardRates] = Field(default_factory=dict[str, BoardRates])
    """Board -> rates; the first is the one that machines carry."""
    pci: dict[Annotated[str, StringConstraints(pattern=r"^0x[0-9A-F]{4}10DE$")], str] = Field(
        default_factory=dict[str, str]
    )
    """PCI device id -> board."""
    mps_max_clients: Literal[0, 16, 48] = 48
    """Maximum number of MPS clients. Default 48, which holds from compute capability 7.5."""
    aliases: tuple[str, ...] = ()
    karpenter_name: str | None = None
    mig_unknown: str | None = None
    """Set where the hardware has MIG and its placements are not known: the reason."""
    mig_published: dict[str, int | None] = Field(default_factory=dict[str, "int | None"])
    """With `mig_unknown`: profile -> most instances."""
    cores: Count | None = None
    notes: str = ""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """The rules that every GPU of an edition keeps (`tests/data/test_gpus.py`)."""
        wrong: list[str] = []
        if self.memory_mib is not None and self.nominal_gb is not None:
            share = self.memory_mib / 1024 / self.nominal_gb
            if not 0.91 <= share <= 1.03:
                wrong.append(
                    f"memoryMib {self.memory_mib} is {share:.2f} of nominalGb {self.nominal_gb}; "
                    "0.91 to 1.03 is plausible"
                )
        if self.vendor != "nvidia" and self.compute_capability:
            wrong.append(f"computeCapability is for NVIDIA, not {self.vendor}")
        if self.boards and self.vendor == "nvidia" and not self.compute_capability:
            wrong.append("boards of NVIDIA need computeCapability")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


class InstanceRow(OverlayRow):
    """A machine type of a cloud."""

    cloud: Literal["aws", "gcp"]
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][-a-z0-9.]{2,62}$")]
    family: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$")]
    architecture: Literal["amd64", "arm64"]
    vcpu: Annotated[int, Field(ge=1, le=4096)]
    memory_gib: Annotated[int, Field(ge=1, le=65536)]
    gpu: str
    """Key of a GPU of the edition or of the overlay."""
    count: Annotated[int, Field(ge=1, le=72)]
    fraction: Annotated[str, StringConstraints(pattern=r"^1/[2-8]$")] | None = None
    """Share of a GPU that each device is, `"1/8"`. Default: whole GPUs."""
    api_count: Annotated[int, Field(ge=0, le=72)] | None = None
    device_gb: Annotated[int, Field(ge=1, le=4096)] | None = None
    device_mib: Annotated[int, Field(ge=1024, le=4 << 20)] | None = None
    interconnect: str | None = None
    network_gbps: Figure | None = None
    network_cards: Annotated[int, Field(ge=1, le=64)] | None = None
    efa_interfaces: Annotated[int, Field(ge=0, le=64)] | None = None
    local_nvme_gb: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    local_ssd_gib: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    gke_accelerator_type: str | None = None
    gpudirect: Literal["GPUDirect-TCPX", "GPUDirect-TCPXO", "GPUDirect RDMA"] | None = None
    nic_layout: str | None = None
    local_ssd_in_price: bool | None = None
    gke_partition_sizes: dict[str, Annotated[int, Field(ge=1, le=7)]] = Field(
        default_factory=dict[str, int]
    )
    """`gpu_partition_size` of GKE -> partitions of a GPU."""
    buy: tuple[Purchase, ...] = ("onDemand",)
    """Ways of buying. Default: on demand."""
    notes: str = ""


_SIZES = {
    **dict.fromkeys(("num_attention_heads", "num_hidden_layers", "hidden_size", "vocab_size"), 1),
    **dict.fromkeys(("intermediate_size", "num_key_value_heads"), 1),
    **dict.fromkeys(("head_dim", "moe_intermediate_size", "num_experts_per_tok"), 0),
    **dict.fromkeys(("kv_lora_rank", "qk_rope_head_dim", *EXPERTS), 0),
}
"""Sizes of a `config.json` that are computed with, each with its least value."""


def _whole(name: str, value: object) -> None:
    """Raises ValueError for a size that is none."""
    if type(value) is not int or not _SIZES[name] <= value <= 1 << 30:
        wanted = f"a whole number of at least {_SIZES[name]}"
        raise ValueError(f"{name} of config must be {wanted}, found {shown_value(value)}")


class ModelRow(OverlayRow):
    """The shape of a language model."""

    name: Key
    config: dict[str, Any]
    """The sizes of its `config.json`, as the Hugging Face Hub has it."""
    parameters_billion: Figure
    active_parameters_billion: Figure | None = None
    hub: tuple[str, ...] = ()
    notes: str = ""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self.row()
        return self

    def row(self) -> dict[str, Any]:
        """The row, with the bytes of cache that the shape gives in 16 bits."""
        inner = self.config.get("text_config", {})
        if not isinstance(inner, dict):
            raise ValueError("text_config must be a mapping")  # noqa: TRY004  pydantic's
        for name, value in {**self.config, **cast("dict[str, Any]", inner)}.items():
            if name in _SIZES and value is not None:
                _whole(name, value)
        try:
            shape = shape_of_config(self.config)
        except KeyError as problem:
            raise ValueError(f"config lacks {problem.args[0]}") from None
        each = shape.get("latent_kv", 0) + shape.get("latent_rope", 0)
        each = each or 2 * shape["kv_heads"] * shape["head_dim"]
        return {**super().row(), "kv_bytes_per_token": 2 * shape["layers"] * each}


class ImageRow(OverlayRow):
    """A node image and what it contains."""

    key: Key
    platform: Annotated[str, StringConstraints(pattern=r"^[a-z]+$")]
    architectures: Annotated[tuple[Literal["amd64", "arm64"], ...], Field(min_length=1)]
    driver: bool
    toolkit: bool
    device_plugin: bool
    efa: bool = False
    operator_may_install_driver: bool = True
    operator_supported: bool = True
    driver_branch: Annotated[str, StringConstraints(pattern=r"^\d{3}$")] | None = None
    ami_types: dict[str, str] = Field(default_factory=dict[str, str])
    last_kubernetes: Annotated[str, StringConstraints(pattern=r"^1\.\d+$")] | None = None
    vendors: tuple[str, ...] = ("nvidia",)
    fips: bool | None = None
    fips_because: str = ""
    notes: str = ""


class ChartRow(OverlayRow):
    """The pin of a chart."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,63}$")]
    version: Annotated[str, StringConstraints(pattern=r"^v?\d+\.\d+\.\d+$")]
    app_version: str = ""
    repository: Annotated[str, StringConstraints(pattern=r"^(https|oci)://[A-Za-z0-9.:-]+/.*$")]
    namespace: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,63}$")]
    components: dict[str, str] = Field(default_factory=dict[str, str])
    dependencies: dict[str, str] = Field(default_factory=dict[str, str])
    notes: str = ""


class SpotBandRow(OverlayRow):
    """How often AWS takes spot machines of a type back, and what they save."""

    instance: str
    region: str
    interruption: Literal["<5%", "5-10%", "10-15%", "15-20%", ">20%"]
    saving_percent: Annotated[int, Field(ge=0, le=100)]


class PriceRow(OverlayRow):
    """A price of a machine type: a negotiated rate, another region, a newer list."""

    instance: str
    """A machine type of the edition or of the overlay."""
    buy: Purchase
    offer: Literal["priced", "not-sold", "unknown"] = "priced"
    region: Annotated[str, Field(min_length=1)] | None = None
    """Where the price holds; needed with `usd`."""
    usd: Dollars | None = None
    usd_high: Dollars | None = None
    """The highest over the zones, for spot. Default: one figure."""
    date: datetime.date | None = None
    """Day of the price. Default: the date of the file."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.offer != "priced" and (self.usd or self.usd_high):
            raise ValueError(f"offer {self.offer} and a figure contradict each other")
        if self.offer == "priced" and (self.usd is None or self.region is None):
            raise ValueError("a price needs `usd`, and the `region` it is of")
        if self.usd and self.usd_high and Decimal(self.usd_high) < Decimal(self.usd):
            raise ValueError(f"usdHigh {self.usd_high} is below usd {self.usd}")
        return self


TABLES: dict[str, tuple[type[OverlayRow], tuple[str, ...]]] = {
    "gpus": (GpuRow, ("key",)),
    "instances": (InstanceRow, ("name",)),
    "prices": (PriceRow, ("instance", "buy", "region")),
    "models": (ModelRow, ("name",)),
    "images": (ImageRow, ("key",)),
    "charts": (ChartRow, ("name",)),
    "spotAdvisor": (SpotBandRow, ("instance",)),
}
"""Table of an overlay -> the shape of its rows, and the fields that name one."""
