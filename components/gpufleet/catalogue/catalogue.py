"""The catalogue of one edition: tables parsed on first use, look-ups with helpful errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpufleet.catalogue import gpu_rows, machine_offer, price_rows, software_rows, source_rows
from gpufleet.catalogue.driver_support import DriverTable
from gpufleet.catalogue.edition import Edition, RawRow, read_edition, read_rows
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import Gpu, IdlePower, MigGeometry, VgpuBoard
from gpufleet.catalogue.instance import Cloud, InstanceType, Price
from gpufleet.catalogue.language_model import Model
from gpufleet.catalogue.lookup import (
    UnknownKeyError,
    alias_index,
    bare_product,
    find_row,
    nearest_gpus,
    nearest_models,
    nearest_names,
    nearest_types,
    resolve_gpu,
)
from gpufleet.catalogue.machine_offer import MachineOffer
from gpufleet.catalogue.overlay import Overlay
from gpufleet.catalogue.price_rows import PriceTable
from gpufleet.catalogue.serving_engine import ServingEngine, engine_of
from gpufleet.catalogue.software import Chart, NodeImage, Package
from gpufleet.catalogue.source import SourceEntry

if TYPE_CHECKING:
    from gpufleet.catalogue.features import FeatureTable
    from gpufleet.catalogue.transitions import Transition


@dataclass(frozen=True, eq=False)
class Catalogue:
    """All facts of one edition. Immutable; every table is parsed at first use.

    Two concurrent threads can parse a table twice; both get equal rows.
    """

    edition: str
    """Name of the edition: `2026.11`."""
    folder: Path = field(repr=False)
    overrides: PriceTable = field(
        default_factory=dict[tuple[str, str], tuple[Price, ...]], repr=False
    )
    """Prices that replace those of the edition, or add regions to them."""
    region: str | None = None
    """Region whose prices count; None: the reference price of each machine type, which is the
    first in the edition."""
    estimate: bool = True
    """Whether the reference price counts where the region has none. Otherwise it is unknown."""

    overlay: Overlay = field(default_factory=Overlay, repr=False)
    """Rows that replace those of the edition, or are added to them."""

    def rows(self, table: str) -> list[RawRow]:
        """The rows of a table; those of the overlay replace rows of their name."""
        rows, own = read_rows(self.folder, table), self.overlay.rows.get(table, ())
        if not own:
            return rows
        name = next(name for name in ("key", "name", "instance") if name in own[0])
        merged = {row[name]: row for row in rows}
        merged.update({row[name]: row for row in own})
        return list(merged.values())

    def _named(self, table: str, key: str, make: Callable[..., Any]) -> Mapping[str, Any]:
        """The rows of a table by their names; `make` is their type, or reads a line with the
        sources."""
        if isinstance(make, type):
            make = partial(source_rows.sourced, make)
        return frozen({raw[key]: make(raw, self.sources) for raw in self.rows(table)})

    @cached_property
    def about(self) -> Edition:
        """Name, date and notes of the edition."""
        return read_edition(self.folder)

    @cached_property
    def sources(self) -> Mapping[str, SourceEntry]:
        """Every document a row was taken from, by key."""
        table = source_rows.source_table(read_rows(self.folder, "sources"))
        return frozen({**table, **self.overlay.sources})

    @cached_property
    def geometries(self) -> Mapping[str, MigGeometry]:
        """MIG geometry by GPU key, where its placements are known."""
        return gpu_rows.mig_table(self.rows("mig"), self.sources)

    @cached_property
    def gpus(self) -> Mapping[str, Gpu]:
        """GPUs and other accelerators by key."""
        idle = self._named("idle-power", "gpu", IdlePower)
        parts = {"mig": self.geometries, "vgpu": self.vgpu_boards, "idle": idle}
        return self._named("gpus", "key", partial(gpu_rows.gpu_of, parts, self.drivers))

    @cached_property
    def drivers(self) -> DriverTable:
        """Drivers and CUDA by compute capability and by GPU, and releases of the GPU Operator."""
        return software_rows.driver_table(read_rows(self.folder, "drivers"), self.sources)

    def operator_driver(self, version: str) -> str | None:
        """The driver that a release of the GPU Operator installs by default; None: unknown."""
        chart = self.chart("gpu-operator")
        if version.removeprefix("v") == chart.version.removeprefix("v"):
            return chart.components["driver"]
        release = self.drivers.operators.get(version.removeprefix("v"))
        return None if release is None else release.driver

    @cached_property
    def vgpu_boards(self) -> Mapping[str, VgpuBoard]:
        """vGPU types by GPU key, if known."""
        return self._named("vgpu", "gpu", gpu_rows.vgpu_board)

    @cached_property
    def clouds(self) -> Mapping[str, Cloud]:
        """Clouds that sell machine types, by key."""
        return self._named("clouds", "key", Cloud)

    @cached_property
    def instances(self) -> Mapping[str, InstanceType]:
        """Machine types of all clouds by name."""
        table: dict[str, InstanceType] = {}
        advisor = {raw["instance"]: raw for raw in self.rows("spot-advisor-aws")}
        for cloud, row in self.clouds.items():
            if row.sold == "table":
                make = partial(gpu_rows.instance_of, cloud, self._prices_of(cloud), advisor)
                table |= self._named(f"instances-{cloud}", "name", make)
        return frozen(table)

    def _prices_of(self, cloud: str) -> PriceTable:
        """The price that counts of each machine type of a cloud."""
        region = self.region
        if region is None and not self.overrides:
            rows = read_rows(self.folder, f"prices-{cloud}")
            return price_rows.price_table(rows, self.sources, first=True)
        table = self.prices[cloud]
        if region is None:
            return table
        return {
            key: (price_rows.price_in_region(known, region, estimate=self.estimate),)
            for key, known in table.items()
        }

    @cached_property
    def prices(self) -> Mapping[str, PriceTable]:
        """Every price by cloud, machine type and purchase option; one per region."""
        return {
            cloud: price_rows.overridden(
                price_rows.price_table(read_rows(self.folder, f"prices-{cloud}"), self.sources),
                self.overrides,
            )
            for cloud, row in self.clouds.items()
            if row.sold == "table"
        }

    def in_region(self, region: str | None, *, estimate: bool = True) -> "Catalogue":
        """This catalogue with the prices of a region, for machine types of every cloud.

        `estimate`: where the region has no price, the reference price counts, and keeps the name of
        its own region; otherwise such a price is unknown. Default True. `region` None: itself. The
        same arguments return the same object.
        """
        if region is None or (region == self.region and estimate == self.estimate):
            return self
        views = self._views
        if (region, estimate) not in views:
            views[region, estimate] = replace(self, region=region, estimate=estimate)
        return views[region, estimate]

    @cached_property
    def _views(self) -> "dict[tuple[str, bool], Catalogue]":
        return {}

    @cached_property
    def models(self) -> Mapping[str, Model]:
        """Language models by name."""
        return self._named("models", "name", software_rows.model_of)

    @cached_property
    def engines(self) -> Mapping[str, ServingEngine]:
        """Inference engines by name."""
        return self._named("engines", "key", engine_of)

    @cached_property
    def charts(self) -> Mapping[str, Chart]:
        """Helm chart pins by chart name."""
        return self._named("charts", "name", software_rows.chart_of)

    @cached_property
    def packages(self) -> Mapping[str, Package]:
        """Operators in the catalogues of Operator Lifecycle Manager, by name."""
        return self._named("packages", "name", Package)

    @cached_property
    def images(self) -> Mapping[str, NodeImage]:
        """Node images by key."""
        return self._named("images", "key", software_rows.image_of)

    @cached_property
    def attached(self) -> price_rows.AttachedPrices:
        """Prices of GPUs that are attached to N1 machines, and of these machines."""
        return price_rows.attached_table(self.rows("attached-gcp"), self.sources)

    def attached_to(self, row: InstanceType, host: str) -> InstanceType:
        """A row of attached GPUs with the price of them on a machine of this type."""
        return price_rows.with_host(row, host, self.attached, self.region, estimate=self.estimate)

    def attached_regions(self, row: InstanceType, option: str) -> set[str]:
        """Regions in which GPUs attached to an `n1-standard` machine have a price with it."""
        return price_rows.regions(row, option, self.attached)

    @cached_property
    def offers(self) -> tuple[MachineOffer, ...]:
        """Machine types of providers that no platform of gpufleet provisions."""
        return machine_offer.offer_rows(self.rows("offers"), self.sources)

    @cached_property
    def offered(self) -> Mapping[str, InstanceType]:
        """The same by name, with the price in the catalogue's region where the list has one: a pool
        of nodes that exist may be of such machines."""
        return frozen({one.name: machine_offer.machine(one, self.region) for one in self.offers})

    def sold(self, name: str) -> InstanceType | None:
        """A machine type of any cloud; None: not in a list."""
        return self.instances.get(name) or self.offered.get(name)

    @cached_property
    def feature_tables(self) -> "Mapping[str, FeatureTable]":
        """Feature gates and chart values by release, by program."""
        from gpufleet.catalogue.features import feature_tables

        return feature_tables(read_rows(self.folder, "features"), self.sources)

    def features(self, program: str) -> "FeatureTable":
        """Gates and values of a program by release; empty for programs that have no rows."""
        from gpufleet.catalogue.features import NO_FEATURES

        return self.feature_tables.get(program, NO_FEATURES)

    @cached_property
    def transitions(self) -> "Mapping[str, tuple[Transition, ...]]":
        """Breaking changes between versions, by chart, image or `kubernetes`."""
        from gpufleet.catalogue.transitions import transition_table

        return transition_table(read_rows(self.folder, "transitions"), self.sources)

    def gpu(self, key: str) -> Gpu:
        """The GPU of exactly this key. Raises UnknownKeyError with the nearest keys."""
        return find_row(self.gpus, "GPU", key, nearest_gpus)

    def instance(self, name: str) -> InstanceType:
        """The machine type of exactly this name. Raises UnknownKeyError with the nearest names."""
        return find_row(self.instances, "instance type", name, nearest_types)

    def model(self, name: str) -> Model:
        """The language model of exactly this name. Raises UnknownKeyError, with the nearest."""
        return find_row(self.models, "model", name, nearest_models)

    def chart(self, name: str) -> Chart:
        """The pin of exactly this chart. Raises UnknownKeyError with the nearest names."""
        return find_row(self.charts, "chart", name)

    def package(self, name: str) -> Package:
        """The package of exactly this operator. Raises UnknownKeyError with the nearest names."""
        return find_row(self.packages, "package", name)

    def image(self, key: str) -> NodeImage:
        """The node image of exactly this key. Raises UnknownKeyError with the nearest keys."""
        return find_row(self.images, "node image", key)

    def find_gpu(self, text: str) -> Gpu:
        """The GPU with this key, alias, product name or cloud accelerator type, in any case.

        `A100-80`, `h100`, `nvidia-l4` and `NVIDIA L4` are understood. Raises AmbiguousKeyError
        (an UnknownKeyError) listing the candidates for `A100`, and UnknownKeyError for the rest.
        """
        return resolve_gpu(self.gpus, self._aliases, text)

    def gpu_by_product_label(self, label: str) -> Gpu:
        """The GPU of a node from its `nvidia.com/gpu.product` label.

        The suffixes that MIG and sharing append may be there or not.

        Raises UnknownKeyError with the nearest labels.
        """
        found = self._product_labels.get(bare_product(label))
        if found is None:
            near = nearest_names(label, self._product_labels)
            raise UnknownKeyError("GPU product label", label, near)
        return found

    def instances_with_gpu(
        self, gpu_key: str, cloud: str | None = None, *, fractional: bool = False
    ) -> tuple[InstanceType, ...]:
        """Machine types with this GPU, cheapest on-demand price first, those without a price last.

        Whole GPUs only, unless `fractional` adds the types that carry a slice of one. `cloud` None
        (default): all clouds. Unpriced ones are ordered by spot price, then by name.
        Raises UnknownKeyError for an unknown GPU.
        """
        self.gpu(gpu_key)
        found = [
            instance
            for instance in self.instances.values()
            if instance.accelerator.gpu == gpu_key
            and (cloud is None or instance.cloud == cloud)
            and (fractional or not instance.fractional)
        ]
        return tuple(sorted(found, key=_cheapest_first))

    def device_memory(self, instance: InstanceType) -> int | None:
        """Bytes of memory one device of this instance offers; None: not sourced.

        A whole GPU: what its driver reports (clouds state the slightly larger nominal size). A
        slice: what the cloud states, else the GPU's memory times the fraction.
        """
        accelerator = instance.accelerator
        driver = self.gpu(accelerator.gpu).memory_bytes
        if accelerator.fraction == 1:
            return driver if driver is not None else accelerator.memory_bytes
        if accelerator.memory_bytes is not None:
            return accelerator.memory_bytes
        return None if driver is None else int(driver * accelerator.fraction)

    @cached_property
    def _aliases(self) -> Mapping[str, tuple[str, ...]]:
        return alias_index(self.gpus)

    @cached_property
    def _product_labels(self) -> Mapping[str, Gpu]:
        return {
            name.replace(" ", "-"): gpu for gpu in self.gpus.values() for name in gpu.product_names
        }


def _cheapest_first(instance: InstanceType) -> tuple[float, float, str]:
    def order(price: Price) -> float:
        return float("inf") if price.micro_usd_per_hour is None else price.micro_usd_per_hour

    return order(instance.on_demand), order(instance.spot), instance.name
