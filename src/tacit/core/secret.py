"""The type of exact values, which protects them from accidental use."""

from typing import Generic, NoReturn, TypeVar, final

from tacit.errors import SecretMisuse

Value = TypeVar("Value")


@final
class Secret(Generic[Value]):
    """An exact value between an engine and a mechanism.

    It prints as ``<secret>``, and it cannot be compared, counted, copied, pickled or written as
    JSON. Only `unseal` opens it, and an import contract lists the modules that may call it. The
    class protects against accidents only: malicious code in the same process can read any
    memory.

    Example:
        >>> print(Secret(41), f"{Secret(41)}", [Secret(41)])
        <secret> <secret> [<secret>]
    """

    __slots__ = ("__value",)

    def __init__(self, value: Value) -> None:
        self.__value = value

    def __repr__(self) -> str:
        return "<secret>"

    def __format__(self, format_spec: str) -> str:
        return "<secret>"

    def _refuse(self, *_: object) -> NoReturn:
        raise SecretMisuse(
            "A secret cannot be compared, counted, copied or stored. "
            "Pass it to a mechanism, which releases it with noise."
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = _refuse
    __int__ = __float__ = __index__ = __bytes__ = _refuse
    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = _refuse
