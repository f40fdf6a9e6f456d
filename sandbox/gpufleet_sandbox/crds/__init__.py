"""Custom resource definitions of the sandbox's API server, and how it is made strict about them."""
