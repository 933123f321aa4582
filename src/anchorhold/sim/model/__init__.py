"""A model of one invoice, small enough that all its states can be looked at.

`rows` says what a statement may do to the rows; `prepared` and `direct` search everything that can
happen around them; `refinement` holds what simulated worlds do against `rows`.
"""
