"""Components that add and remove nodes and pods: one file per autoscaler."""
