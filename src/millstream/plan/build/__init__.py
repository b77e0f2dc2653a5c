"""Makes the nodes of a plan from the arguments of a program, each checked and named."""
