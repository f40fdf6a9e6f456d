"""Go's and Prometheus's spelling of durations."""

import re

_GO = re.compile(r"[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)")
_PROMETHEUS = re.compile(
    r"0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?"
)


def is_duration(text: str) -> bool:
    """Whether Go's time.ParseDuration reads the text, `300ms` or `1h30m`."""
    return _GO.fullmatch(text) is not None


def is_prometheus_duration(text: str) -> bool:
    """Whether Prometheus reads the text as a duration, `15s` or `1m30s`; empty is none."""
    return text != "" and _PROMETHEUS.fullmatch(text) is not None
