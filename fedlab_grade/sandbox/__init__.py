"""Students' code where it can do no harm: processes that hold it, and the wire to them."""
