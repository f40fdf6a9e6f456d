"""The picture of what was planned: which share or workload is on which GPU, as SVG."""
