"""Makes the nodes of a plan from what a program says, each checked and named."""
