"""No files of its own: machines on vSphere, which nothing but gpufleet can make."""

from gpufleet.render.platform_files import PlatformFiles

FILES = PlatformFiles()
