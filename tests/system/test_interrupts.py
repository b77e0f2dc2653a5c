"""What Ctrl-C does while Spark is at work."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from millstream.system.interrupts import interruptible, interrupts_later, on_interrupt


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_a_handler_gets_ctrl_c_and_is_replaced_by_the_one_before():
    before = signal.getsignal(signal.SIGINT)
    received = []
    with on_interrupt(lambda *_: received.append("now")):
        press_ctrl_c()
    assert received == ["now"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_that_spark_sets_meanwhile_stays():
    before = signal.getsignal(signal.SIGINT)
    try:
        with on_interrupt(lambda *_: None):
            signal.signal(signal.SIGINT, sparks := lambda *_: None)
        assert signal.getsignal(signal.SIGINT) is sparks
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_raised_when_it_does_no_harm_any_more():
    done = []

    def work():
        with interrupts_later():
            press_ctrl_c()
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]


def test_without_ctrl_c_nothing_is_raised():
    with interrupts_later():
        pass


def test_another_thread_leaves_the_handlers_alone():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with interrupts_later():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_call_gives_its_result_or_raises_its_error():
    assert interruptible(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


def test_ctrl_c_ends_the_waiting_and_not_the_call():
    released, ended = threading.Event(), threading.Event()

    def call():
        released.wait()
        ended.set()

    threading.Timer(0.1, press_ctrl_c).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(call)
    assert not ended.is_set()
    released.set()
    assert ended.wait(10)


def test_the_result_of_an_interrupted_call_is_undone():
    released, undone = threading.Event(), threading.Event()

    def call():
        released.wait()
        return undone

    threading.Timer(0.1, press_ctrl_c).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(call, threading.Event.set)
    assert not undone.is_set()
    released.set()
    assert undone.wait(10)
