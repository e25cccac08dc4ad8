"""Online convex optimisation: what Theorem 4.1 of FedEx says about tuning a step size, and why."""
