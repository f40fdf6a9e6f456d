"""What every rule is made of: `@rule`, its levels, and the context it is asked in."""
