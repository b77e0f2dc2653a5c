"""The plainly correct interpreter: one element at a time, the oracle of every other engine."""
