"""Group commit: who waits for which sync, and what a failure does."""

from time import perf_counter

import pytest

from onemq.errors import OneMQError, ReadOnly
from onemq.log.commit import HEAD_START_SECONDS_MAX, HEAD_START_SHARE_MAX, GroupCommit, run
from tests.unit.log.helpers import HeldBackground, Outcome


class Syncs:
    """Stands for the journal's sync: counts, and fails when told to."""

    def __init__(self) -> None:
        self.count = 0
        self.problem: BaseException | None = None

    def __call__(self) -> None:
        if self.problem is not None:
            raise self.problem
        self.count += 1


@pytest.fixture
def syncs() -> Syncs:
    return Syncs()


@pytest.fixture
def background() -> HeldBackground:
    return HeldBackground()


def test_without_a_background_each_waiter_is_served_at_once(syncs: Syncs) -> None:
    commit = GroupCommit(syncs, None)
    for number in range(3):
        outcome = Outcome()
        commit.wait(outcome)
        assert outcome.good
        assert syncs.count == number + 1
    assert not commit.busy


def test_quick_syncs_are_done_at_once_even_with_a_background(syncs: Syncs, background: HeldBackground) -> None:
    commit = GroupCommit(syncs, background, inline_seconds_max=1000.0)
    outcome = Outcome()
    commit.wait(outcome)
    assert outcome.good
    assert background.held == []


def test_slow_syncs_go_to_the_background_and_those_who_come_meanwhile_form_the_next_group(
    syncs: Syncs, background: HeldBackground
) -> None:
    commit = GroupCommit(syncs, background, inline_seconds_max=0.0)
    outcomes = [Outcome() for _ in range(5)]
    for outcome in outcomes:
        commit.wait(outcome)
    assert commit.busy
    assert len(background.held) == 1
    background.go()
    assert [outcome.called for outcome in outcomes] == [1, 0, 0, 0, 0]
    background.go()
    assert all(outcome.good for outcome in outcomes)
    assert syncs.count == 2
    assert not commit.busy


def test_waiters_are_released_before_the_next_sync_starts(syncs: Syncs, background: HeldBackground) -> None:
    commit = GroupCommit(syncs, background, inline_seconds_max=0.0)
    held_when_released: list[int] = []
    commit.wait(lambda failure: held_when_released.append(len(background.held)))
    commit.wait(Outcome())
    background.go()
    assert held_when_released == [0]
    assert len(background.held) == 1


def test_waiters_are_released_in_order(syncs: Syncs, background: HeldBackground) -> None:
    commit = GroupCommit(syncs, background, inline_seconds_max=0.0)
    order: list[int] = []
    for number in range(6):
        commit.wait(lambda failure, number=number: order.append(number))  # type: ignore[misc]
    background.go_all()
    assert order == list(range(6))


def test_a_waiter_may_wait_again_when_released(syncs: Syncs) -> None:
    commit = GroupCommit(syncs, None)
    again = Outcome()
    commit.wait(lambda failure: commit.wait(again))
    assert again.good
    assert syncs.count == 2


@pytest.mark.parametrize("threaded", [False, True])
@pytest.mark.parametrize("problem", [OSError(5, "Input/output error"), ValueError("Input/output error")])
def test_a_failed_sync_fails_everyone_then_and_later(
    syncs: Syncs, background: HeldBackground, problem: Exception, threaded: bool
) -> None:
    commit = GroupCommit(syncs, background if threaded else None, inline_seconds_max=0.0)
    syncs.problem = problem
    outcomes = [Outcome(), Outcome()]
    for outcome in outcomes:
        commit.wait(outcome)
    background.go_all()
    syncs.problem = None
    late = Outcome()
    commit.wait(late)
    background.go_all()
    for outcome in (*outcomes, late):
        assert outcome.called == 1
        assert isinstance(outcome.error, ReadOnly)
        assert "Input/output error" in outcome.error.text


def test_work_runs_in_the_background_if_there_is_one(background: HeldBackground) -> None:
    ended: list[BaseException | None] = []
    run(background, lambda: None, ended.append)
    assert ended == []
    background.go()
    assert ended == [None]


@pytest.mark.parametrize("problem", [OSError(28, "full"), OneMQError("ours")])
def test_work_without_a_background_ends_with_its_problem(problem: Exception) -> None:
    def work() -> None:
        raise problem

    ended: list[BaseException | None] = []
    run(None, work, ended.append)
    assert ended == [problem]


def test_what_nobody_expected_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        run(None, lambda: print(1 // 0), lambda problem: None)


@pytest.mark.parametrize("average_seconds", [0.0, 40e-6, 0.5e-3])
def test_a_disk_that_has_begun_gets_a_moment_in_proportion_to_its_syncs(average_seconds: float) -> None:
    synced_at: list[float] = []
    commit = GroupCommit(lambda: synced_at.append(perf_counter()), None)
    commit._average_seconds = average_seconds
    begun = perf_counter()
    commit.wait(lambda _: None, begun)
    assert synced_at[0] - begun >= min(HEAD_START_SECONDS_MAX, HEAD_START_SHARE_MAX * average_seconds)
