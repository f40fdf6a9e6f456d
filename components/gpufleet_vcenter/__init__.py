"""Resources of a group of virtual machines with GPUs on vCenter, for the plugin.

Inputs are plain data, those of `settings.NodeSettings` for each machine. Of the product this
package imports only what pyproject.toml lists; `gpufleet.platforms.vsphere` makes the inputs.
The crash design, in ten lines, is in docs/vsphere-gpu-node-group.md, "Never an orphan, never a
duplicate", with its holes. Files that import pyVmomi: `session`, `reading`, `tasks`, `lookup`,
`observed`, `specs`, and the operations on top of them. Everything else is data and arithmetic.
"""
