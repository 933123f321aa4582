"""A soak: thousands of charges in real processes, while everything around them breaks."""
