"""The proof that anybody can run: real processes are killed in mid-charge, then Stripe's side is
audited; the same workload through a plain retry loop is shown beside it."""
