"""How many forks lie between this process and the first: told without a system call."""

import os


class Forks:
    """Counts forks. A reused process id cannot fool it.

    Example:
        >>> forks.count >= 0
        True
    """

    count = 0

    def forked(self) -> None:
        """A child process begins."""
        self.count += 1


forks = Forks()
os.register_at_fork(after_in_child=forks.forked)
