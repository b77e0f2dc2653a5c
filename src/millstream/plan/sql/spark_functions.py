"""The functions that Spark SQL has built in, so that a misspelt one is found without a JVM.

The names are data: ``spark_functions.txt``, made of Spark's ``SHOW SYSTEM FUNCTIONS``. A test
compares them with those of a session.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from pathlib import Path

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType

from millstream.model.errors import PlanError

# Words of the grammar, which are no functions, but may have a parenthesis behind them.
_GRAMMAR = (
    "all as both char decimal distinct else end escape for from identifier interval leading "
    "numeric placing then timediff timestampadd timestampdiff trailing try_cast varchar"
)


@cache
def spark_functions() -> frozenset[str]:
    """The names of all built-in functions, in lower case."""
    return frozenset(Path(__file__).with_suffix(".txt").read_text().split())


def check_functions(sql: str) -> None:
    """Refuses an expression that calls a function which Spark does not have.

    A name with a dot before it, like that of ``session.twice(n)``, is not Spark's own.

    >>> check_functions("UPPER(name)")
    >>> check_functions("UPER(name)")
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS124: Spark SQL has no function 'uper'
      What to do: did you mean 'upper'? One that you have registered is called session.uper(…)
      More: millstream help MS124
    """
    tokens = Spark().tokenize(sql)
    for place, (token, paren) in enumerate(pairwise(tokens)):
        own = place > 0 and tokens[place - 1].token_type == TokenType.DOT
        name = token.text.lower()
        named = name.isidentifier() or token.token_type == TokenType.IDENTIFIER
        opens = paren.token_type == TokenType.L_PAREN
        if opens and named and not own and not _known(name):
            raise _unknown(name)


def _known(name: str) -> bool:
    return name in spark_functions() or name in _GRAMMAR.split()


def _unknown(name: str) -> PlanError:
    close = get_close_matches(name, sorted(spark_functions()), n=1)
    guess = f"did you mean {close[0]!r}?" if close else "look for its name in Spark's reference."
    return PlanError(
        "MS124",
        f"Spark SQL has no function {name!r}",
        fix=f"{guess} One that you have registered is called session.{name}(…)",
    )
