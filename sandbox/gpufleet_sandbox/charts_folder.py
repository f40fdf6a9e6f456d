"""Folder of the simulator charts: the entry point `gpufleet.charts` of this distribution."""

from pathlib import Path


def charts_folder() -> Path:
    """The folder that holds a chart for each add-on, by the name of the vendor's chart."""
    return Path(__file__).parent / "charts"
