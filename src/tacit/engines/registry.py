"""Which kinds of engines there are: one lookup for sessions, the command line and attacks."""

from collections.abc import Mapping

from tacit.engines.built_in import BUILT_IN
from tacit.engines.engine_spec import EngineSpec
from tacit.errors import InvalidValue
from tacit.project.address import AddressRule, Plugins

NO_PLUGINS: Plugins = {}
_BY_KIND: Mapping[str, EngineSpec] = {spec.kind: spec for spec in BUILT_IN}


def engine_spec(kind: str, plugins: Plugins = NO_PLUGINS) -> EngineSpec:
    """Return the spec of a kind of engine.

    Raises:
        InvalidValue: There is no such kind.

    Example:
        >>> engine_spec("parquet").names_table("visits.parquet")
        'visits'
    """
    del plugins
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    raise InvalidValue(f"An engine is one of: {', '.join(_BY_KIND)}.")


def address_rule(kind: str, plugins: Plugins) -> AddressRule:
    """Return how an engine of a kind is addressed in the project file."""
    return engine_spec(kind, plugins).address


def spec_for(source: object) -> EngineSpec | None:
    """Return the spec of Tacit's own engine that a source is an address of, if there is one.

    Example:
        >>> spec_for("clinic.duckdb").kind, spec_for("visits.csv")
        ('duckdb', None)
    """
    return next((spec for spec in BUILT_IN if spec.recognises(source)), None)
