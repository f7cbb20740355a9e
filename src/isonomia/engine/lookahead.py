"""Looking ahead: while a batch is judged, workers are already asked about the next ones.

What is drawn does not depend on what comes of it, so batches that will most probably be wanted can be drawn and asked
about before they are. They are judged one after the other as without, at the same sizes: the verdict is the same. What
was asked for nothing is counted.

Which batches those are depends on what was seen and on nothing else: not on the time, and not on the number of workers.
So the model is given the same rows together, wherever it is and however quickly it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeAlias, TypeVar

from isonomia.errors import IsonomiaError

__all__ = ["Ahead", "Batches", "LooksAhead"]

SHARE, LEAST, MOST = 0.125, 16, 2**18
"""Samples in one block: a share of those before, but some from the start, and not more than memory has room for. At
most two blocks are asked about in vain."""

Step = TypeVar("Step")
Reading = TypeVar("Reading")
Reading_co = TypeVar("Reading_co", covariant=True)
Step_contra = TypeVar("Step_contra", contravariant=True)


class Batches(Protocol[Reading_co]):
    """Several batches that are asked about together."""

    def reading(self, number: int) -> Reading_co:
        """What one of them comes to; waits for the answers."""
        ...

    def drop(self) -> None:
        """Nobody needs the rest."""
        ...


class LooksAhead(Protocol[Step_contra, Reading_co]):
    """Who can begin with batches ahead."""

    def together(self, plans: Sequence[Step_contra]) -> Batches[Reading_co]:
        """Draw batches, and let workers begin to answer about all of them."""
        ...


Coming: TypeAlias = Callable[[Step], Iterator[Step]]
"""The batches that would follow one, were everything to go on as it does, as far as that is sure."""


@dataclass(slots=True)
class _Block(Generic[Step, Reading]):
    """Batches in a row that are asked about together, once the first of them is needed."""

    plans: tuple[Step, ...]
    begun: Batches[Reading] | None = None
    taken: int = 0


@dataclass(slots=True)
class Ahead(Generic[Step, Reading]):
    """Measures batches, and begins with those that seem to come next.

    Attributes
    ----------
    work
        Who draws and asks.
    alone
        Measures one batch, where looking ahead failed.
    samples
        How many samples a batch has.
    unused
        How many were asked about in vain.
    """

    work: LooksAhead[Step, Reading]
    alone: Callable[[Step], Reading]
    samples: Callable[[Step], int]
    unused: int = 0
    _blocks: list[_Block[Step, Reading]] = field(default_factory=list)

    def expect(self, plan: Step, total: int, coming: Coming[Step]) -> None:
        """Say which batch is next, after a total of samples.

        There are two blocks: one that is waited for, and one for workers who would be idle while it is judged.
        """
        while self._blocks and self._blocks[0].taken == len(self._blocks[0].plans):
            self._blocks.pop(0)
        if self._blocks and self._blocks[0].plans[self._blocks[0].taken] != plan:
            self.drop()
        room = min(max(LEAST, int(SHARE * total)), MOST)
        if not self._blocks:
            self._blocks.append(_Block((plan, *self._fitting(coming(plan), room - self.samples(plan)))))
        if len(self._blocks) == 1:
            following = tuple(self._fitting(coming(self._blocks[0].plans[-1]), room))
            self._blocks += [_Block(following)] if following else []

    def _fitting(self, plans: Iterator[Step], room: int) -> Iterator[Step]:
        for plan in plans:
            room -= self.samples(plan)
            if room < 0:
                return
            yield plan

    def measure(self, plan: Step) -> Reading:
        """What the batch comes to that was expected."""
        block = self._blocks[0]
        number, block.taken = block.taken, block.taken + 1
        try:
            for each in self._blocks:
                if each.begun is None:
                    # Also with what is known already of a block: the model is given the same rows together as ever.
                    each.begun = self.work.together(each.plans)
            assert block.begun is not None, "all have begun"
            return block.begun.reading(number)
        except IsonomiaError:
            # It may be about people whom nobody would have asked about: if not, it happens again.
            self.drop()
            self.unused += self.samples(plan)  # begun, and begun again
            return self.alone(plan)

    def known(self) -> None:
        """The batch that was expected is known already, and need not be measured."""
        self._blocks[0].taken += 1

    @property
    def not_needed(self) -> int:
        """How many samples were asked about that nobody has needed so far."""
        begun = [block for block in self._blocks if block.begun is not None]
        return self.unused + sum(sum(map(self.samples, block.plans[block.taken :])) for block in begun)

    def drop(self) -> None:
        """Nobody needs what was begun."""
        self.unused = self.not_needed
        for block in self._blocks:
            if block.begun is not None:
                block.begun.drop()
        self._blocks.clear()
