"""What a click costs: a module that a program imports, which a cluster gets in the archive."""

CENTS = {f"page {n}": 7 + n for n in range(8)}
