"""Read-only requests to accounts of AWS and Google Cloud, for the preflight of every platform."""
