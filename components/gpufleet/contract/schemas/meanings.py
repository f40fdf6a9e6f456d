"""What a pattern or format of a definition asks for, in words for its author."""

_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_NAME}(\.{_NAME})*"
_LABEL = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
_GO_DURATION = r"([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
_UNITS = ("y", "w", "d", "h", "m", "s", "ms")
_LONGEST = 48

_MEANINGS = {
    rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$": (
        "a quantity such as 500m, 2 or 1Gi"
    ),
    rf"^{_SUBDOMAIN}$": "lower-case letters, digits, - and .",
    rf"^{_NAME}$": "lower-case letters, digits and -",
    r"[a-zA-Z0-9\-]+": "letters, digits and -",
    r"[a-zA-Z0-9\.\-\/]+": "letters, digits, ., - and /",
    rf"^(0|{''.join(f'(([0-9]+){unit})?' for unit in _UNITS)})$": (
        "a duration such as 30s, 1h30m or 2d, without spaces"
    ),
    rf"^({_SUBDOMAIN}/)?{_LABEL}$": "a label key such as example.com/name",
    rf"^({_SUBDOMAIN}(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$": (
        "a label key such as example.com/name"
    ),
    rf"^{_LABEL}?$": "a label value: letters, digits, -, _ and .",
    r"^(http|https|socks5)://.+$": "an address that begins with http://, https:// or socks5://",
    r"^(http|https)://.+$": "an address that begins with http:// or https://",
    r"^(([0-9]+(s|m|h))+|Never)$": "a duration such as 720h, or Never",
    r"^(http|https)://.*$": "an address that begins with http:// or https://",
    r"^(http|https|ssh)://.*$": "an address that begins with http://, https:// or ssh://",
    r"^(http|https|oci)://.*$": "an address that begins with http://, https:// or oci://",
    r"^oci://.*$": "an address that begins with oci://",
    r"^([0-9]+(s|m|h))+$": "a duration such as 30m or 1h",
    r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$": "a duration such as 30s, 5m or 1h",
    r"^([0-9]+(\.[0-9]+)?(ms|s|m))+$": "a duration such as 30s or 5m",
    r"^((100|[0-9]{1,2})%|[0-9]+)$": "a number, or a percentage up to 100%",
    r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$": "hours and minutes such as 8h or 1h30m",
    rf"^{_GO_DURATION}": "a duration such as 300s or 1h30m",
    rf"^0|{_GO_DURATION}": "0, or a duration such as 10m",
    r"^(\d+)(Ei|Pi|Ti|Gi|Mi|Ki)$": "a size such as 100Gi",
    "date-time": "a time such as 2026-11-23T10:00:00Z",
}


def needed(pattern: str) -> str:
    """Its meaning; of a pattern without one the pattern, cut where it is long."""
    shown = pattern if len(pattern) <= _LONGEST else f"{pattern[: _LONGEST - 3]}..."
    return _MEANINGS.get(pattern, f"text that matches {shown}")
