"""Mutation tests: the code is made wrong in one place, and some test has to notice."""
