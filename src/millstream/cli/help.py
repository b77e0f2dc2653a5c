"""``millstream help``: the pages of the error codes, in the terminal."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown

from millstream.cli.printing import print_line, print_table
from millstream.model.error_pages import error_page, known_code, similar_codes
from millstream.model.errors import CODES


def command(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="Such as MS320. Default: list all codes.", show_default=False
        ),
    ] = None,
) -> None:
    """Explains an error code: what happened, an example, and what to do."""
    if code is None:
        print_table(["code", "about"], CODES.items())
        return
    known = known_code(code)
    if known is None:
        meant = similar_codes(code)
        hint = f"did you mean {' or '.join(meant)}?" if meant else "see all codes: millstream help"
        raise typer.BadParameter(f"there is no error code {code!r}; {hint}", param_hint="CODE")
    page = error_page(known)
    console = Console()
    if console.is_terminal:
        console.print(Markdown(page, hyperlinks=False))
    else:
        print_line(page.rstrip("\n"))
