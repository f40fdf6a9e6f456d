"""Amazon EKS: rules, renderers, components and preflight."""
