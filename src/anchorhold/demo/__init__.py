"""The proof that anybody can run: workers die while they charge, then Stripe's side is audited.

The same workload goes through a plain retry loop, shown beside it.
"""
