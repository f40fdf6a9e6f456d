"""Names the Network Operator's webhook and device plugins accept.

Source: Mellanox/network-operator v26.4.1 `api/v1alpha1/validator/nicpolicy_webhook.go`.
"""

import re

_SRIOV = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.]*)?[A-Za-z0-9]")
_RDMA = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_DOMAIN = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z]{2,})+")
_OFED = re.compile(
    r"sha256:[a-fA-F0-9]{64}"
    r"|doca\d+\.\d+(\.\d+)?-\d+\.\d+-\d+\.\d+\.\d+\.\d+-\d+(-[\w.\-]+)*"
    r"|\d+\.\d+-\d+(\.\d+)*(-\d+)?(-[\w.\-]+)*",
    re.ASCII,
)
_OFED_BUILD = re.compile(r"doca\d+\.\d+(\.\d+)?-\d+\.\d+-\d{6,}(-[\w.\-]+)*", re.ASCII)
_GUID = re.compile(r"([0-9A-Fa-f]{2}:){7}[0-9A-Fa-f]{2}")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PATH = re.compile(
    rf"{_PATH_PART}(?:/{_PATH_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)


def is_sriov_resource(name: str) -> bool:
    """Whether SR-IOV accepts the resource name: letters, digits, `_` and `.`, no hyphen."""
    return _SRIOV.fullmatch(name) is not None


def is_rdma_resource(name: str) -> bool:
    """Whether the RDMA shared device plugin accepts it: as SR-IOV, and inner hyphens."""
    return _RDMA.fullmatch(name) is not None


def is_domain(name: str) -> bool:
    """Whether the webhook accepts a resource prefix: a domain, `nvidia.com`; one label is not."""
    return _DOMAIN.fullmatch(name) is not None


def is_ofed_version(version: str, operator: tuple[int, ...]) -> bool:
    """Whether the operator of this version accepts an ofedDriver.version.

    Build numbers (`doca3.6.0-26.10-016000-...`) are understood from 26.7 on.
    """
    if _OFED.fullmatch(version):
        return True
    return operator >= (26, 7) and _OFED_BUILD.fullmatch(version) is not None


def guid(text: str) -> int | None:
    """An InfiniBand GUID, `00:00:00:00:00:00:00:01`, as a number; None if it is malformed."""
    return int(text.replace(":", ""), 16) if _GUID.fullmatch(text) else None


def is_subdomain(name: str) -> bool:
    """Whether the name is a DNS-1123 subdomain of at most 253 characters."""
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None


def is_image_repository(text: str) -> bool:
    """Whether container tools can parse the image reference (`distribution/reference`)."""
    if not text or re.fullmatch(r"[a-f0-9]{64}", text):
        return False
    host, slash, rest = text.partition("/")
    local = host == "localhost" or host.lower() != host
    if slash and ("." in host or ":" in host or local):
        return _HOST.fullmatch(host) is not None and _PATH.fullmatch(rest) is not None
    return _PATH.fullmatch(text) is not None
