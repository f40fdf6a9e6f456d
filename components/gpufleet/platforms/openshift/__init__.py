"""OpenShift on vSphere: rules, renderers, components and operators."""
