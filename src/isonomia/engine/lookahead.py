"""Looking ahead: while one batch is judged, workers already query the model on the next ones.

Draws do not depend on the model's answers, so batches that will most probably be needed can be drawn and queried before
they are. They are still judged one after the other, at the same sizes, so the verdict is the same as without looking
ahead. Wasted queries are counted.

Which batches are queried ahead depends only on what was seen: not on the time, and not on the number of workers. So the
model is given the same rows together, wherever it runs and however quickly it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeAlias, TypeVar

from isonomia.errors import IsonomiaError, UnreliableModelError

SHARE, LEAST, MOST = 0.125, 16, 2**18
"""Samples in one block: ``SHARE`` of those before, but at least ``LEAST``, and at most ``MOST`` to bound the memory. At
most two blocks are queried ahead at a time."""

Step = TypeVar("Step")
Reading = TypeVar("Reading")
Reading_co = TypeVar("Reading_co", covariant=True)
Step_contra = TypeVar("Step_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class BatchGroup(Generic[Reading_co]):
    """Several batches that are queried together.

    Attributes
    ----------
    reading
        Gives the reading of one batch, by its number among them; waits for the answers.
    drop
        Cancels the rest, which is no longer needed.
    """

    reading: Callable[[int], Reading_co]
    drop: Callable[[], None]


class LooksAhead(Protocol[Step_contra, Reading_co]):
    """Can start on batches ahead of time."""

    def together(self, plans: Sequence[Step_contra]) -> BatchGroup[Reading_co]:
        """Draw batches, and let workers start to query the model on all of them."""
        ...


Coming: TypeAlias = Callable[[Step], Iterator[Step]]
"""The batches that would follow a given one if everything went on as it does now, as far as that is certain."""


@dataclass(slots=True)
class _Block(Generic[Step, Reading]):
    """Consecutive batches that are queried together."""

    plans: tuple[Step, ...]
    begun: BatchGroup[Reading] | None = None
    taken: int = 0


@dataclass(slots=True)
class Lookahead(Generic[Step, Reading]):
    """Measures batches, and starts on those that are expected next.

    Attributes
    ----------
    work
        Draws batches and queries the model.
    alone
        Measures a single batch, where looking ahead failed.
    samples
        How many samples a batch has.
    unused
        The number of samples whose queries were wasted.
    """

    work: LooksAhead[Step, Reading]
    alone: Callable[[Step], Reading]
    samples: Callable[[Step], int]
    unused: int = 0
    _blocks: list[_Block[Step, Reading]] = field(default_factory=list)

    def expect(self, plan: Step, total: int, coming: Coming[Step]) -> None:
        """Announce the next batch, after ``total`` samples.

        There are two blocks: one that is waited for, and one for workers that would be idle while the first is judged.
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
        """The reading of the batch that was announced."""
        block = self._blocks[0]
        number, block.taken = block.taken, block.taken + 1
        try:
            for each in self._blocks:
                if each.begun is None:
                    # Batches that are already known are included: the model is given the same rows together as always.
                    each.begun = self.work.together(each.plans)
            assert block.begun is not None, "all have begun"
            return block.begun.reading(number)
        except UnreliableModelError:
            raise  # a model that changes its answers does so for all rows; second questions are not repeated
        except IsonomiaError:
            # The error may come from people who would never have been needed; if not, it happens again below.
            self.drop()
            self.unused += self.samples(plan)  # queried twice
            return self.alone(plan)

    def known(self) -> None:
        """Note that the announced batch is already known and need not be measured."""
        self._blocks[0].taken += 1

    @property
    def not_needed(self) -> int:
        """How many samples were queried that have not been needed so far."""
        begun = [block for block in self._blocks if block.begun is not None]
        return self.unused + sum(sum(map(self.samples, block.plans[block.taken :])) for block in begun)

    def drop(self) -> None:
        """Cancel everything that was started."""
        self.unused = self.not_needed
        for block in self._blocks:
            if block.begun is not None:
                block.begun.drop()
        self._blocks.clear()
