"""Runs a candidate that is a PyTorch module. Nothing in this process is trusted once the candidate
is loaded: what counts is measured and compared outside (docs/security.md)."""
