"""The Google project: node pools become messages of the container API, judged by its rules."""
