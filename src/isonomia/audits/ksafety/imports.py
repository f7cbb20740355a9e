"""What the imports of a specification offer: inputs, right answers and functions.

An import names a Python module, or an entry that somebody gave: in Python by ``domains={...}``, or in an audit file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from isonomia.audits.ksafety.modules import MissingError, module_named
from isonomia.errors import Place, SpecError, UsageError
from isonomia.populations.domains import Function
from isonomia.spec.nomos import Spec
from isonomia.spec.safety import Safety

__all__ = ["Offer", "domain_named", "no_inputs", "offers_of", "place_of"]

WORDS = ("domain", "inputs", "labels", "groups", "orders", "functions")
"""What an entry may say."""


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """What an import offers.

    Attributes
    ----------
    name, told
        What it is called, and how messages speak of it.
    inputs
        A domain, a population, a table, an array or a list, as it was given; ``None`` where there are none.
    labels
        The right answers, one an input, or the column that has them.
    groups, orders
        What the columns of a table mean, as for a property.
    functions
        Functions of one case, or a ``Function``.
    folder
        Where files that it names are looked for.
    """

    name: str
    told: str
    inputs: Any = None
    labels: Any = None
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    functions: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None


def domain_named(
    name: str,
    entries: Mapping[str, Any],
    *,
    folder: str | None = None,
    allow_code: bool = False,
    place: Place | None = None,
) -> Offer | None:
    """What a name stands for that a specification imports.

    Parameters
    ----------
    name
        The name.
    entries
        What names stand for without any module: a domain, a population, a table, an array, a list, or a mapping with
        some of ``domain``, ``inputs``, ``labels``, ``groups``, ``orders`` and ``functions``. An entry goes before a
        module of the same name.
    folder
        Where modules are looked for before the current folder.
    allow_code
        Whether a module may be imported, which runs its code.
    place
        Where the import stands, for messages.

    Returns
    -------
    Offer or None
        ``None`` where only a module could offer something and none may be imported.

    Raises
    ------
    SpecError
        Where there is no such module, or it raises.
    UsageError
        Where an entry says something that has no meaning.
    """
    if name in entries:
        return _entered(name, entries[name], folder)
    return _imported(module_named(name, folder, place), name) if allow_code else None


def offers_of(prop: Safety, *, needed: bool) -> list[Offer]:
    """What the imports of a property offer, in order.

    Parameters
    ----------
    prop
        The property.
    needed
        Whether a module that does not exist is an error; otherwise it is passed over.
    """
    found = []
    for name in prop.spec.imports:
        place = place_of(prop.spec, name)
        try:
            offer = domain_named(name, prop.domains, folder=prop.folder, allow_code=prop.allow_code, place=place)
        except MissingError:
            if needed:
                raise
            continue
        if offer is not None:
            found.append(offer)
    return found


def place_of(spec: Spec, name: str) -> Place | None:
    """Where an import stands."""
    return next((place for known, place in spec.places if known == name), None)


def _entered(name: str, entry: Any, folder: str | None) -> Offer:
    told = f"the entry {name!r}"
    if isinstance(entry, ModuleType):
        return _imported(entry, name)
    if not isinstance(entry, Mapping) or not {"domain", "inputs", "functions"} & set(entry):
        return Offer(name, told, entry, folder=folder)
    unknown = [str(word) for word in entry if word not in WORDS]
    if unknown:
        raise UsageError(f"expected {told} to say some of {', '.join(WORDS)}, but it has {', '.join(unknown)}")
    return _offer(name, told, entry, dict(entry.get("functions") or {}), folder)


def _imported(module: ModuleType, name: str) -> Offer:
    public: Sequence[str] = getattr(module, "__all__", [word for word in vars(module) if not word.startswith("_")])
    functions = {
        word: value
        for word in public
        if word not in WORDS and _is_function(value := getattr(module, word, None)) and not isinstance(value, type)
    }
    file = getattr(module, "__file__", None)
    told = f"the module {name!r}" + (f" ({file})" if file else "")
    entry = {word: getattr(module, word) for word in WORDS if hasattr(module, word)}
    # `groups`, `orders` and `functions` are common words: in a module they count only where they can be meant.
    said = {word: value for word, value in entry.items() if word in WORDS[:3] or isinstance(value, Mapping)}
    return _offer(
        name, told, said, {**functions, **said.get("functions", {})}, str(file.rpartition("/")[0]) if file else None
    )


def _is_function(value: Any) -> bool:
    return isinstance(value, Function) or (callable(value) and not isinstance(value, type))


def _offer(name: str, told: str, entry: Mapping[str, Any], functions: Mapping[str, Any], folder: str | None) -> Offer:
    inputs = entry.get("domain")
    if inputs is None:
        inputs = entry.get("inputs")
    options = [entry.get(word) or {} for word in ("groups", "orders")]
    return Offer(name, told, inputs, entry.get("labels"), options[0], options[1], functions, folder)


def no_inputs(spec: Spec, offers: Sequence[Offer], allow_code: bool) -> SpecError:
    """What to say where nothing is given to check a property on, and no import offers inputs."""
    name = spec.imports[0]
    if not allow_code and not offers:
        return SpecError(
            f"nothing was given to check this on. The module {name!r} may offer inputs, but importing a module runs "
            "its code: allow it with allow_code=True or --allow-code if you trust it, or give a population, as in "
            "check(property, model, table) or --data people.csv",
            place_of(spec, name),
        )
    told = " and ".join(offer.told for offer in offers) or f"the module {name!r}"
    return SpecError(
        f"nothing was given to check this on, and {told} offers no inputs: let it set `inputs` to a table, an array or "
        "a list, or `domain` to a domain, or give a population, as in check(property, model, table) or --data FILE",
        place_of(spec, name),
    )
