"""The command line: one file per noun, loaded when it is asked for."""
