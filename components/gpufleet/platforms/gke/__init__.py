"""Google Kubernetes Engine: rules, renderers, components and preflight."""
