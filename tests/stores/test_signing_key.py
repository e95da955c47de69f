"""The key by which a project signs."""

import pickle
import stat
from pathlib import Path

import pytest

from tacit.errors import InvalidValue, SecretMisuse
from tacit.store.key_files import SigningKey, is_signed


def test_a_file_is_made_once_and_signs_the_same(tmp_path: Path) -> None:
    place = tmp_path / "signing-key"
    key = SigningKey.from_file(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert SigningKey.from_file(place).public == key.public
    assert SigningKey.from_file(tmp_path / "another").public != key.public


def test_a_signature_is_under_one_text_by_one_key() -> None:
    key, other = SigningKey(bytes(32)), SigningKey(bytes([1]) * 32)
    signature = key.sign(b"kept")
    assert is_signed(b"kept", signature, key.public)
    assert not is_signed(b"kept.", signature, key.public)
    assert not is_signed(b"kept", signature, other.public)
    assert not is_signed(b"kept", signature[:-1], key.public)
    assert not is_signed(b"kept", signature, b"no key")


def test_a_known_key_signs_as_others_do() -> None:
    """RFC 8032, section 7.1, test 1."""
    given = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    key = SigningKey(bytes.fromhex(given))
    assert key.public.hex() == public
    assert key.sign(b"").hex().startswith("e5564300c360ac729086e2cc806e828a")


def test_a_key_is_neither_printed_nor_pickled_nor_short() -> None:
    assert repr(SigningKey(bytes(32))) == "<signing key>"
    with pytest.raises(SecretMisuse, match="must not leave its process"):
        pickle.dumps(SigningKey(bytes(32)))
    with pytest.raises(InvalidValue, match="must have 32 bytes, but 3 were given"):
        SigningKey(b"abc")
