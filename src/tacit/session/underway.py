"""Paid work that goes on when whoever waited for it has gone.

Somebody who presses Ctrl-C, or whose notebook is interrupted, ends their wait. The work itself
goes on: it was paid for, its answer is stored when it is there, and asking the same again gives
it for nothing. An interrupt in the middle of the work would be a failure that anybody can make
at a moment of their choice.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread, current_thread, main_thread
from typing import TypeVar

Made = TypeVar("Made")


class Underway:
    """The work of one session that is under way.

    Example:
        >>> Underway().run(lambda: 6 * 7)
        42
    """

    def __init__(self) -> None:
        self._threads: set[Thread] = set()

    def run(self, work: Callable[[], Made]) -> Made:
        """What ``work`` gives; an interrupt ends the wait for it, and not the work.

        Python interrupts the main thread alone, so elsewhere the work is done in place.
        """
        if current_thread() is not main_thread():
            return work()
        done: Future[Made] = Future()

        def go() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - whoever waits is given it
                done.set_exception(error)
            finally:
                self._threads.discard(thread)

        thread = Thread(target=go, name="tacit paid work")
        self._threads.add(thread)
        thread.start()
        return done.result()

    def wait(self) -> None:
        """Wait until all of it is done."""
        for thread in tuple(self._threads):
            thread.join()
