"""The sources that facts are collected from, in the order of trust."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpufleet.catalogue.catalogue import Catalogue
from tools.catalogue import (
    aws_prices,
    google_prices,
    karpenter_tables,
    price_tables,
    published_software,
)
from tools.catalogue.publication import Collected, Stored

Collector = Callable[[Stored, Catalogue], Collected]


@dataclass(frozen=True, slots=True)
class Files:
    """Addresses of published files."""

    repository: str = ""
    """Repository on GitHub, whose commit becomes the version; empty: `paths` are addresses."""
    paths: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name of the stored file -> path in the repository, or address."""
    release: bool = False
    """Take the newest release and not the newest commit."""


@dataclass(frozen=True, slots=True)
class CollectedSource:
    """One source: its files, and the function that reads them."""

    key: str
    title: str
    collect: Collector
    files: Files = Files()
    how: str = ""
    """How to get files that no public address serves."""
    rows_of: tuple[str, ...] = ()
    """Sources of the edition's rows that this one is."""
    everywhere: bool = False
    """Its prices name regions that do not have a machine type."""


def _plain(collector: Callable[[Stored], Collected]) -> Collector:
    return lambda stored, _catalogue: collector(stored)


def _models(stored: Stored, catalogue: Catalogue) -> Collected:
    return published_software.models(stored, hubs_of(catalogue))


def hubs_of(catalogue: Catalogue) -> dict[str, str]:
    """Name on the hub -> name of the model; the first of each row, which the row is named for."""
    return {row.hub[0]: row.name for row in catalogue.models.values() if row.hub}


_KARPENTER = "pkg/providers/"
_TYPES = f"{_KARPENTER}instancetype/"
_ADVISOR = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"

SOURCES: tuple[CollectedSource, ...] = (
    CollectedSource(
        "aws-price-files",
        "AWS price list files of AmazonEC2, one a region",
        _plain(aws_prices.price_files),
    ),
    CollectedSource(
        "karpenter-aws",
        "Karpenter AWS provider, generated tables",
        _plain(karpenter_tables.collect),
        Files(
            "aws/karpenter-provider-aws",
            {
                karpenter_tables.PRICES: f"{_KARPENTER}pricing/{karpenter_tables.PRICES}",
                karpenter_tables.BANDWIDTH: _TYPES + karpenter_tables.BANDWIDTH,
                karpenter_tables.LIMITS: _TYPES + karpenter_tables.LIMITS,
                karpenter_tables.DESCRIBED: f"pkg/fake/{karpenter_tables.DESCRIBED}",
            },
            release=True,
        ),
        rows_of=("karpenter-aws-prices",),
    ),
    CollectedSource(
        "karpenter-gcp",
        "Karpenter Google provider, price table",
        _plain(google_prices.karpenter),
        Files(
            "cloudpilot-ai/karpenter-provider-gcp",
            {"initial-prices.json": f"{_KARPENTER}pricing/initial-prices.json"},
        ),
        rows_of=("karpenter-gcp-prices", "karpenter-gcp-prices-036c6e2"),
    ),
    CollectedSource(
        "botocore",
        "AWS SDK, enumeration of machine types",
        _plain(published_software.botocore_types),
        Files(
            "boto/botocore",
            {"service-2.json": "botocore/data/ec2/2016-11-15/service-2.json"},
        ),
    ),
    CollectedSource(
        "gcp-calculator",
        "Google price calculator, whole machines",
        _plain(google_prices.calculator),
        Files("Cyclenerd/google-cloud-pricing-cost-calculator", {"pricing.yml": "pricing.yml"}),
        rows_of=("gcp-calculator-prices",),
        everywhere=True,
    ),
    CollectedSource(
        "skypilot",
        "SkyPilot catalogue",
        _plain(price_tables.skypilot),
        Files(
            "skypilot-org/skypilot-catalog",
            {
                "aws-vms.csv": "catalogs/v9/aws/vms.csv",
                "gcp-vms.csv": "catalogs/v9/gcp/vms.csv",
            },
        ),
    ),
    CollectedSource("gpuhunt", "gpuhunt catalogue", _plain(price_tables.gpuhunt)),
    CollectedSource(
        "aws-spot-advisor",
        "AWS spot advisor",
        _plain(aws_prices.spot_bands),
        Files(paths={"spot-advisor-data.json": _ADVISOR}),
    ),
    CollectedSource(
        "capacity-blocks",
        "Offers of Capacity Blocks",
        _plain(aws_prices.capacity_blocks),
        how="AWS tells them to accounts alone: store the answers of `aws ec2 "
        "describe-capacity-block-offerings` and name the folder with --from",
    ),
    CollectedSource("charts", "Indexes of chart repositories", _plain(published_software.charts)),
    CollectedSource(
        "eks-ami",
        "EKS AMI, variables of Amazon Linux 2023",
        _plain(published_software.eks_image),
        Files(
            "awslabs/amazon-eks-ami",
            {"variables-default.json": "templates/al2023/variables-default.json"},
        ),
    ),
    CollectedSource("models", "Hugging Face model configurations", _models),
)
"""All sources. If two state one fact, the first is named."""
