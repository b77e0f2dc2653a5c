"""What Ctrl-C does while Spark is at work: it never leaves Java, or a call into it, half-way.

Only the main thread can set handlers, and only it hears of Ctrl-C.
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
    """Calls the handler at Ctrl-C, in place of the one that Spark leaves behind.

    That one cancels the batch under way, so it may not hear of it.
    """
    before = signal.getsignal(signal.SIGINT)
    deaf = before is signal.SIG_IGN  # as a shell starts what runs in the background
    if deaf or threading.current_thread() is not threading.main_thread():
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
    """Calls the handler at SIGTERM, which services and containers are asked to end with.

    A program that listens for it itself is left alone.
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
    """Ctrl-C is heard in the end, once it does no harm any more."""
    pressed = threading.Event()
    with on_interrupt(lambda *_: pressed.set()):
        yield
    if pressed.is_set():
        raise KeyboardInterrupt


def interruptible(
    call: Callable[[], Result], undo: Callable[[Result], object] | None = None
) -> Result:
    """The result of a call into Java, made in a thread: Ctrl-C ends the waiting, not the call.

    What a call returns that nobody waits for any more is undone.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    def take_back(late: Future[Result]) -> None:
        if undo is not None and late.exception() is None:
            undo(late.result())

    threading.Thread(target=run, daemon=True).start()
    try:
        return done.result()
    except KeyboardInterrupt:
        done.add_done_callback(take_back)
        raise
