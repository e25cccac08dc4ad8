"""Online convex optimisation: FedEx's Theorem 4.1 on tuning a step size, and its proof."""
