"""The AWS account: inputs become API requests, judged by botocore's models and run by moto."""
