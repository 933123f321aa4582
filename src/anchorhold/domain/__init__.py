"""The rules, pure: standard library only, no input or output, no clock, no await."""
