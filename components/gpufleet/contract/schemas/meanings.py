"""What patterns in the definitions of GPU objects ask for, in words for their author."""

_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_UNITS = ("y", "w", "d", "h", "m", "s", "ms")
_LONGEST = 48
"""Characters of a pattern that a message shows."""

_MEANINGS = {
    rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$": (
        "a quantity such as 500m, 2 or 1Gi"
    ),
    rf"^(0|{''.join(f'(([0-9]+){unit})?' for unit in _UNITS)})$": (
        "a duration such as 30s, 1h30m or 2d, without spaces"
    ),
    rf"^{_NAME}(\.{_NAME})*$": "lower-case letters, digits, - and .",
    r"[a-zA-Z0-9\-]+": "letters, digits and -",
    r"[a-zA-Z0-9\.\-\/]+": "letters, digits, ., - and /",
    r"^(([0-9]+(s|m|h))+|Never)$": "a duration such as 720h, or Never",
    r"^([0-9]+(s|m|h))+$": "a duration such as 30m or 1h",
    r"^((100|[0-9]{1,2})%|[0-9]+)$": "a number, or a percentage up to 100%",
    r"^(\d+)(Ei|Pi|Ti|Gi|Mi|Ki)$": "a size such as 100Gi",
}


def needed(pattern: str) -> str:
    """Its meaning; else the pattern, cut where it is long."""
    shown = pattern if len(pattern) <= _LONGEST else f"{pattern[: _LONGEST - 3]}..."
    return _MEANINGS.get(pattern, f"text that matches {shown}")
