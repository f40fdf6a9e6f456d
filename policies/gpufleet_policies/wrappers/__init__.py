"""Objects and files that hold the values of a chart: releases of GitOps and other tools."""
