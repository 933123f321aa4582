"""Worlds in which the real engine meets the twin: in memory, by hand, with anything that breaks."""
