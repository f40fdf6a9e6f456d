"""Karpenter's generated Go tables of AWS machine types."""

import re
from collections.abc import Iterator

from tools.catalogue.publication import (
    Collected,
    Stored,
    UnreadableSourceError,
    figure,
)

PRICES = "zz_generated.pricing_aws.go"
BANDWIDTH = "zz_generated.bandwidth.go"
LIMITS = "zz_generated.vpclimits.go"
DESCRIBED = "zz_generated.describe_instance_types.go"

_TYPE = r"[a-z0-9-]+\.[a-z0-9-]+"
_REGION = re.compile(r'^\t"([a-z0-9-]+)": \{$')
_PRICE = re.compile(rf'"({_TYPE})": ([0-9.]+),')
_MEGABITS = re.compile(rf'^\t\t"({_TYPE})":\s+(\d+),$', re.MULTILINE)
_LIMITS = re.compile(rf'^\t"({_TYPE})": \{{\n(.*?)^\t\}},$', re.MULTILINE | re.DOTALL)
_DESCRIBED = re.compile(r"^\t\t\{\n(.*?)^\t\t\},$", re.MULTILINE | re.DOTALL)
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}


def collect(stored: Stored) -> Collected:
    """On-demand prices, sustained network, network cards and EC2's facts of a few types."""
    found = Collected()
    for region, name, usd in _prices(_table(stored, PRICES)):
        row = {"instance": name, "buy": "onDemand", "region": region, "usd": figure(usd)}
        found.add("prices-aws", row)
    for name, megabits in _MEGABITS.findall(_table(stored, BANDWIDTH)):
        gbps = figure(int(megabits) / 1000)
        found.add("instances-aws", {"name": name, "network_gbps": gbps})
    for name, block in _LIMITS.findall(_table(stored, LIMITS)):
        cards = len(re.findall(r"^\t\t\t\{$", block, re.MULTILINE))
        found.add("instances-aws", {"name": name, "network_cards": cards or None})
    for block in _DESCRIBED.findall(_table(stored, DESCRIBED)):
        found.add("instances-aws", _described(block))
    for table, rows in found.rows.items():
        key = "instance" if table == "prices-aws" else "name"
        found.types |= {row[key] for row in rows}
    if not found.types:
        raise UnreadableSourceError("no table of Karpenter was recognised")
    return found


def _table(stored: Stored, name: str) -> str:
    text = stored.text(name)
    if not text.endswith(("\n}\n", "\n)\n")):
        raise UnreadableSourceError(f"{name} does not end as a Go table does")
    return text


def _prices(text: str) -> Iterator[tuple[str, str, str]]:
    """(region, type, figure) of each price."""
    region = ""
    for line in text.splitlines():
        begin = _REGION.match(line)
        if begin:
            region = begin[1]
        elif region:
            yield from ((region, name, usd) for name, usd in _PRICE.findall(line))


def _described(block: str) -> dict[str, object]:
    """Facts of one type from DescribeInstanceTypes."""

    def one(pattern: str) -> str | None:
        match = re.search(pattern, block)
        return match[1] if match else None

    def number(pattern: str) -> int | None:
        text = one(pattern)
        return None if text is None else int(text)

    name = one(r'InstanceType:\s+"([^"]+)"')
    if name is None:
        raise UnreadableSourceError(f"{DESCRIBED}: a type without a name")
    memory = number(r"MemoryInfo: &ec2types\.MemoryInfo\{\s*SizeInMiB: aws\.Int64\((\d+)\)")
    architecture = one(r'ArchitectureType\{"([^"]+)"')
    gpu = re.search(r"Gpus: \[\]ec2types\.GpuDeviceInfo\{(.*?)\n\t\t\t\t\},", block, re.DOTALL)
    counts = re.findall(r"Count:\s+aws\.Int32\((\d+)\)", gpu[1]) if gpu else []
    nvme = number(r"TotalSizeInGB: aws\.Int64\((\d+)\)")
    return {
        "name": name,
        "architecture": _ARCHITECTURES.get(architecture or ""),
        "vcpu": number(r"DefaultVCpus: aws\.Int32\((\d+)\)"),
        "memory_gib": None if memory is None else memory // 1024,
        "api_count": sum(map(int, counts)) if counts else None,
        "local_nvme_gb": nvme,
        "efa_interfaces": number(r"MaximumEfaInterfaces: aws\.Int32\((\d+)\)"),
    }
