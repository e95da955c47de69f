"""Where the chains ended when a folder was last used: an anchor beside the sealing key.

A store that is restored from a backup, beside a folder that is not, opens with the same key and
has forgotten what was charged and drawn since. The folder remembers. It is no anchor in the
full sense: whoever restores both together is not told (`tacit.ledger.anchor`).
"""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from tacit.errors import LedgerBroken
from tacit.ledger.anchor import Anchor, check_anchor, take_anchor
from tacit.store.store import Store


class HeadMark:
    """The heads of all chains in one small file.

    Guarantee: a store whose chains do not go through what was last written is refused.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, store: Store) -> None:
        """Refuse a store that is older than when this folder was last used with it."""
        if not self._path.exists():
            return
        written = Anchor.of(self._path.read_text(encoding="ascii"))
        try:
            check_anchor(store, written)
        except LedgerBroken as older:
            raise LedgerBroken(
                f"{older} The folder {self._path.parent} was last used with a newer one. Where "
                f"the newest is lost for good, remove {self._path}: what was charged and "
                "released since the backup is then forgotten, and must be added to every "
                "guarantee by hand."
            ) from older

    def move(self, store: Store) -> None:
        """Write down where the chains end now; refused where the store is older."""
        self.check(store)
        text = take_anchor(store).text + "\n"
        if self._path.exists() and self._path.read_text(encoding="ascii") == text:
            return
        # whole or not at all; of two at once the older may win, which is a mark all the same
        with NamedTemporaryFile("w", dir=self._path.parent, prefix=".", delete=False) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._path)
