"""Kind `kueue-values`: values of the chart of Kueue."""

from gpufleet.contract.foreign.scaling_charts import RULES as RULES
from gpufleet.contract.foreign.scaling_charts import ChartKind

validate = ChartKind("kueue").validate
