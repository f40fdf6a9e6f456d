"""Kind `keda-values`: values of the chart of KEDA."""

from gpufleet.contract.foreign.scaling_charts import RULES as RULES
from gpufleet.contract.foreign.scaling_charts import ChartKind

validate = ChartKind("keda").validate
