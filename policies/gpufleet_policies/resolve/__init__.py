"""From files to the objects that will exist: kustomizations are built before any rule runs."""
