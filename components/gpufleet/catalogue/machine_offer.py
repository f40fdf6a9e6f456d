"""Machine types of providers that no platform of gpufleet provisions: data for `size` and `plan`.

Money is integer micro-dollars for one hour of one machine; memory is integer bytes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.instance import Accelerator, InstanceType, Price, PriceStatus
from gpufleet.catalogue.price_rows import micro_usd, unknown_price
from gpufleet.catalogue.source import Source
from gpufleet.catalogue.source_rows import SourceTable, sourced

GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOffer:
    """One machine type of one provider, on demand."""

    provider: str
    """`azure`, `oci`, `coreweave`, `lambda`, `nebius`."""
    name: str
    gpu: str
    """Key of `Catalogue.gpus`."""
    count: int
    vcpu: int
    memory_bytes: int
    micro_usd: Mapping[str, int] = field(hash=False)
    """Region -> price of one hour. `any`: one price in all regions. Empty: no dated price."""
    source: Source
    board: str | None = None
    """Board of the GPU, `pcie`; None: the first of its row."""
    architecture: str = "amd64"
    network_gbps: Decimal | None = None
    """Network of the machine; None: not sourced."""
    rdma_gbps: Decimal | None = None
    """InfiniBand or RoCE between machines, all cards together; None: not sourced."""
    notes: str = ""


def offer_rows(rows: Iterable[RawRow], sources: SourceTable) -> tuple[MachineOffer, ...]:
    """Lines of offers.jsonl, in the order of the file."""
    return tuple(
        sourced(
            MachineOffer,
            raw,
            sources,
            memory_bytes=raw["memory_gib"] * GIB,
            micro_usd=frozen({place: micro_usd(usd) for place, usd in raw.get("usd", {}).items()}),
            network_gbps=_decimal(raw.get("network_gbps")),
            rdma_gbps=_decimal(raw.get("rdma_gbps")),
        )
        for raw in rows
    )


def _decimal(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def machine(offer: MachineOffer, region: str | None) -> InstanceType:
    """The offer as a machine type. Its price is that of the region, or the one price of all of
    them; it is not guessed from another region."""
    price = offer.micro_usd.get(region or "", offer.micro_usd.get("any"))
    return InstanceType(
        name=offer.name,
        cloud=offer.provider,
        family=offer.name,
        architecture=offer.architecture,
        vcpu=offer.vcpu,
        memory_bytes=offer.memory_bytes,
        accelerator=Accelerator(
            gpu=offer.gpu, count=offer.count, fraction=Fraction(1), memory_bytes=None
        ),
        network_gbps=offer.network_gbps,
        efa_interfaces=0,
        local_nvme_bytes=None,
        on_demand=unknown_price(offer.source)
        if price is None
        else Price(PriceStatus.PRICED, price, region or "any", offer.source),
        spot=unknown_price(offer.source),
        purchase_options=frozenset({"onDemand"}),
        spot_interruption=None,
        source=offer.source,
    )
