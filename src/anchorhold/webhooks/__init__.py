"""Our own news on its way to others: addresses, and one POST at a time."""
