"""The Google project: node pools become messages of the container API, validated by its rules."""
