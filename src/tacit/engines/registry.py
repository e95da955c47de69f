"""Which kinds of engines there are: one lookup for sessions, the command line and attacks."""

from collections.abc import Mapping
from dataclasses import replace

from tacit.engines.built_in import BUILT_IN
from tacit.engines.engine_spec import EngineSpec
from tacit.errors import InvalidValue
from tacit.extras import ENGINES, find_plugin, hint
from tacit.project.address import AddressRule, Plugins

NO_PLUGINS: Plugins = {}
_BY_KIND: Mapping[str, EngineSpec] = {spec.kind: spec for spec in BUILT_IN}


def engine_spec(kind: str, plugins: Plugins = NO_PLUGINS) -> EngineSpec:
    """Return the spec of a kind of engine.

    A kind that is not Tacit's own is loaded where ``plugins`` name the distribution that
    brings it, and its version. No plug-in takes the place of an engine of Tacit's own.

    Raises:
        InvalidValue: There is no such kind, or its plug-in may not be loaded or fails.

    Example:
        >>> engine_spec("parquet").names_table("visits.parquet")
        'visits'
    """
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    plugin = find_plugin(ENGINES, kind, plugins)
    if plugin is None:
        known = ", ".join(_BY_KIND)
        raise InvalidValue(f"An engine is one of: {known}.{hint(ENGINES, kind)}")
    found = plugin.load()
    if not isinstance(found, EngineSpec) or found.kind != kind:
        raise InvalidValue(
            f"The plug-in {plugin} brings {kind!r} to {ENGINES}, which is no EngineSpec of "
            "that kind."
        )
    rule = replace(found.address, kind=kind, plugin=str(plugin))
    return replace(found, address=rule, maker=str(plugin))


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
