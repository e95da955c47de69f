"""An exact value in a box that does not open by accident."""

from typing import Generic, NoReturn, TypeVar, final

from tacit.errors import SecretMisuse

Value = TypeVar("Value")


@final
class Secret(Generic[Value]):
    """An exact value on its way from an engine to a mechanism.

    It prints as ``<secret>``, and refuses to be compared, counted, copied, pickled or written
    as JSON. Only `unseal` opens it, and an import contract names who may call that. It guards
    against accidents: code that runs in the same process and means harm can read any memory.

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
            "A secret is not compared, counted, copied or stored; "
            "hand it to a mechanism, which releases it with noise."
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = _refuse
    __int__ = __float__ = __index__ = __bytes__ = _refuse
    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = _refuse
