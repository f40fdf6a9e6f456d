"""No files of its own: simulated nodes, which nothing but gpufleet makes."""

from gpufleet.render.platform_files import PlatformFiles

FILES = PlatformFiles()
