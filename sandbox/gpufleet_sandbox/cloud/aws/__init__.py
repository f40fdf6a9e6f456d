"""The AWS account: inputs become API requests, validated by botocore's models and run by moto."""
