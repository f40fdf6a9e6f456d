"""Where findings are reported."""
