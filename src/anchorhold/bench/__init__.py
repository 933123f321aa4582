"""The product measured beside its floor, on one server in one run: ratios, not seconds."""
