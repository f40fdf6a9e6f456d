"""Kind `karpenter-values`: values of the chart of Karpenter."""

from gpufleet.contract.foreign.scaling_charts import RULES as RULES
from gpufleet.contract.foreign.scaling_charts import ChartKind

validate = ChartKind("karpenter").validate
