"""A program as a population: the people a FairSquare program draws, and what it decides about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from isonomia.errors import DataError, SpecError, UsageError, nearest, refuse_no_path
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.protocol import BatchSizes, Device, PopulationFacts, Source, Wanted
from isonomia.populations.table import distinct
from isonomia.populations.worlds.source import GroupDirection, WorldSource, stream_remarks, streams_for
from isonomia.populations.worlds.world import World, check_version
from isonomia.spec.fairsquare.reader import read_program
from isonomia.spec.fairsquare.tree import Kind
from isonomia.spec.text import value_text
from isonomia.spec.tree import AsIf, Do, Literal, Row, Value

_PILOTS = 10_000
_PRECISIONS = {"single": "float32", "double": "float64"}
_CPU, _GPU = BatchSizes(2**14, 1.1, 2.0, 2**20), BatchSizes(2**20, 1.25, 2.0, 2**27)
"""Batch sizes on a device. About 40 bytes per person are in use at a time: at most 5 GiB on a GPU."""
_NUMPY = BatchSizes(1024, 1.04, 1.25, 2**18, draws_only=True)
"""Batch sizes without a device. A batch costs as much time as some thousand draws, so fewer batches, with 5% more draws
in total, take half the time. They change how many are drawn, never what is claimed about them."""
_KINDS: dict[Kind, str] = {"number": "number", "truth": "truth value", "text": "text"}


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Program:
    """The people that a FairSquare program (``.fr``) draws, with the program's decision about each of them.

    Its columns are the program's variables and ``minority``, ``qualified`` and ``target``: what the program marks with
    ``sensitiveAttribute``, ``qualified`` and ``fairnessTarget``.

    Parameters
    ----------
    path
        The file. Use :meth:`of` for the text of a program.
    device
        Where to draw: ``"cuda"``, ``"cpu"``, or ``"auto"`` for CUDA if available and otherwise the CPU. Torch runs the
        program there, and only counts come back. ``None`` draws with NumPy.
    precision
        ``"single"`` or ``"double"``, for numbers on a device. Single is faster; it moves a probability by about 1e-7.

    Raises
    ------
    DataError
        When the file cannot be read.
    SpecError
        When it is not a program of the language, with the line and the reason.

    Notes
    -----
    The file is never executed as Python. What a property does not need is not drawn. A group that the program shows to
    be rare is drawn directly, where that is exact; the verdict's remarks say so. On a device, all people are drawn.
    """

    text: str
    name: str
    kinds: Mapping[str, Kind]
    world: World
    directions: tuple[GroupDirection | None, ...]
    device: Device | None
    batch_sizes: BatchSizes | None  # how large batches should be
    precision: str

    def __init__(self, path: str | PathLike[str], *, device: str | None = None, precision: str = "single") -> None:
        if not isinstance(path, str | PathLike):
            raise UsageError(f"expected the path of a program, such as 'people.fr', but got {path!r}", name="path")
        if "\n" in fspath(path):
            raise UsageError(
                "expected the path of a program, but got a text of several lines: use Program.of(text)", name="path"
            )
        self._fill(_read(path), Path(fspath(path)).name, device, precision)

    @classmethod
    def of(cls, text: str, name: str = "program", *, device: str | None = None, precision: str = "single") -> Program:
        """Read a program from its text."""
        if not isinstance(text, str):
            raise UsageError(
                f"expected the text of a program, but got {text!r} of type {type(text).__name__}", name="text"
            )
        program = object.__new__(cls)
        program._fill(text, name, device, precision)
        return program

    def _fill(self, text: str, name: str, device: str | None, precision: str) -> None:
        if precision not in _PRECISIONS:
            raise UsageError(f"expected precision as 'single' or 'double', but got precision={precision!r}")
        where = Device.of(device, "a program")
        tree = read_program(text, name)
        set_field = object.__setattr__
        set_field(self, "text", text)
        set_field(self, "name", name)
        set_field(self, "kinds", dict(tree.kinds))
        set_field(self, "world", World(tree.statements, tuple(tree.kinds)))
        set_field(self, "directions", (None,))
        set_field(self, "device", where)
        set_field(self, "batch_sizes", _NUMPY if where is None else _CPU if where.name == "cpu" else _GPU)
        set_field(self, "precision", precision)

    kind = "program"

    size = None  # the draws are unlimited

    @property
    def streams(self) -> tuple[Row | None, ...]:
        """The condition of each group that is drawn directly; one stream of all people if no group is."""
        return tuple(None if direction is None else direction.condition for direction in self.directions)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that every run sets, then the marks."""
        return self.world.names

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of a verdict about this population, in words."""
        drawn = f"the population is the one that {self.name} draws"
        return (drawn,) if self.device is None else (f"{drawn}, with numbers in {self.precision} precision",)

    @property
    def facts(self) -> PopulationFacts:
        """How the groups that are drawn directly are drawn, on which kind of device, and the sizes of batches."""
        remarks = (*stream_remarks(self.directions), *(() if self.device is None else (self.device.remark,)))
        return PopulationFacts(self.device, remarks, self.batch_sizes)

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values of a column: both truth values, or the numbers that occur among 10,000 pilot draws."""
        if column not in self.names:
            raise DataError(f"{self.name} has no column {column!r}.{nearest(column, self.names)}")
        if self.kinds[column] == "truth":
            return (False, True)
        drawn = self.world.draw(_PILOTS, np.random.default_rng(0), (column,), {})
        return distinct([drawn.columns[column]], column)

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> Source:  # noqa: ARG002
        """Open the program for one run; each batch brings its own randomness, so the seed goes unused."""
        needed = wanted or Wanted()
        for version in needed.versions:
            if isinstance(version, Do):
                self._check(version)
        if self.device is not None:
            from isonomia.populations.worlds.tensors import TensorSource, refuse_mediators

            for version in needed.versions:
                if isinstance(version, Do):
                    refuse_mediators(version)
            return TensorSource(self.world, needed, self.device, _PRECISIONS[self.precision])
        return WorldSource(self.world, needed, self.directions)

    def focused(self, conditions: Sequence[Row | None]) -> Program:
        """The same population with rare groups drawn directly, for a property about groups with these conditions."""
        if self.device is not None:
            return self
        program = copy(self)
        object.__setattr__(program, "directions", streams_for(self.world, conditions))
        return program

    def fingerprint(self) -> str:
        """Tell this program from others by its text."""
        return fingerprint_of(self.kind, self.text)

    def _check(self, version: Do) -> None:
        check_version(self.world, version)
        for item in version.items:
            for setting in item.settings if isinstance(item, AsIf) else (item,):
                value = setting.value.value if isinstance(setting.value, Literal) else None
                expected = self.kinds[setting.name]
                came = "truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
                if came != expected:
                    raise SpecError(
                        f"{setting.name!r} is a {_KINDS[expected]} in {self.name}, so do(...) can set it to such a one "
                        f"only, but got {'a variable' if value is None else value_text(value)}",
                        setting.place,
                        name=setting.name,
                    )


def _read(path: str | PathLike[str]) -> str:
    refuse_no_path(fspath(path))
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"expected a program at {fspath(path)}, but there is no such file", name=fspath(path)) from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"expected {fspath(path)} as UTF-8 text, but byte {error.start} is invalid: save the file as UTF-8",
            name=fspath(path),
        ) from None
    except OSError as error:
        raise DataError(f"expected to read {fspath(path)}, but {error.strerror or error}", name=fspath(path)) from None
