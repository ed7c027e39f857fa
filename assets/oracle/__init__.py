"""The trusted process of a PyTorch task: loads the reference, knows the truth, times the baselines."""
