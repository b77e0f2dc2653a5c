"""What Ctrl-C does while Spark is at work: it never leaves Java, or a call into it, half-way.

Only the main thread can set handlers, and only it receives Ctrl-C.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


@contextmanager
def on_interrupt(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Calls the handler at Ctrl-C, instead of the one that Spark has set.

    Spark's handler would cancel the current batch.
    """
    before = signal.getsignal(signal.SIGINT)
    ignored = before is signal.SIG_IGN  # set by a shell for processes in the background
    if ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handler:  # Spark may have set its own by now
            usual = before if before is not None else signal.default_int_handler
            signal.signal(signal.SIGINT, usual)


@contextmanager
def on_termination(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Calls the handler at SIGTERM, which ends services and containers.

    If the program has its own handler, nothing changes.
    """
    usual = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Delays Ctrl-C until the end of the block, where it does no harm."""
    pressed = threading.Event()
    with on_interrupt(lambda *_: pressed.set()):
        yield
    if pressed.is_set():
        raise KeyboardInterrupt


def interruptible(
    call: Callable[[], Result], undo: Callable[[Result], object] | None = None
) -> Result:
    """The result of a call into Java, made in a thread: Ctrl-C ends the waiting, not the call.

    After Ctrl-C, the result of the call is undone when it arrives.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    def undo_late(late: Future[Result]) -> None:
        if undo is not None and late.exception() is None:
            undo(late.result())

    threading.Thread(target=run, daemon=True).start()
    try:
        return done.result()
    except KeyboardInterrupt:
        done.add_done_callback(undo_late)
        raise
