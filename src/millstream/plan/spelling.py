"""How a user writes a value of the model in a program; errors suggest code that can be pasted."""

from __future__ import annotations

import re


def spelled(value: object) -> str:
    """The value's text with the prefix that programs use.

    >>> from millstream.model.triggers import after_count, at_watermark, repeatedly
    >>> spelled(repeatedly(after_count(5)).or_finally(at_watermark()))
    'ms.repeatedly(ms.after_count(5)).or_finally(ms.at_watermark())'
    """
    return re.sub(r"(?<![\w.'])([a-z_]+\()", r"ms.\1", repr(value))
