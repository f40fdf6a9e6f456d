"""Kind `dcgm-exporter-values`: values of the chart of DCGM's exporter."""

from gpufleet.contract.foreign.scaling_charts import RULES as RULES
from gpufleet.contract.foreign.scaling_charts import ChartKind

validate = ChartKind("dcgm-exporter").validate
