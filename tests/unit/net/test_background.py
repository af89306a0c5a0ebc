"""Work on other threads, results on the loop's."""

import asyncio
import threading

from onemq.net.background import BackgroundThreads


def test_results_come_back_to_the_thread_of_the_loop() -> None:
    async def scenario() -> None:
        threads = BackgroundThreads(asyncio.get_running_loop())
        home = threading.get_ident()
        worked: list[int] = []
        answers: list[tuple[bool, BaseException | None]] = []

        def fail() -> None:
            raise OSError("no")

        def answer(problem: BaseException | None) -> None:
            answers.append((threading.get_ident() == home, problem))

        threads.run(lambda: worked.append(threading.get_ident()), answer)
        await threads.idle()
        threads.run(fail, answer)
        await threads.idle()
        assert worked != [home]
        assert answers[0] == (True, None)
        assert (answers[1][0], str(answers[1][1])) == (True, "no")
        threads.stop()

    asyncio.run(scenario())


def test_idle_waits_for_work_that_work_leads_to() -> None:
    async def scenario() -> None:
        threads = BackgroundThreads(asyncio.get_running_loop())
        done: list[str] = []

        def second(problem: BaseException | None) -> None:
            done.append("second")

        threads.run(lambda: None, lambda problem: threads.run(lambda: None, second))
        await threads.idle()
        assert done == ["second"]
        threads.stop()

    asyncio.run(scenario())


def test_long_work_does_not_keep_other_work_waiting() -> None:
    async def scenario() -> None:
        threads = BackgroundThreads(asyncio.get_running_loop())
        gate = threading.Event()
        passed = asyncio.Event()
        threads.run(lambda: gate.wait(10) and None, lambda problem: None)
        threads.run(lambda: None, lambda problem: passed.set())
        await passed.wait()
        gate.set()
        await threads.idle()
        threads.stop()

    asyncio.run(scenario())


def test_long_work_rests_unless_somebody_waits_for_it() -> None:
    async def scenario() -> None:
        threads = BackgroundThreads(asyncio.get_running_loop())
        waits, rested = threading.Event(), threading.Event()

        def work() -> None:
            threads.rest()
            rested.set()
            waits.wait()
            for _ in range(1_000_000):
                threads.rest()

        threads.run(work, lambda problem: None)
        await asyncio.to_thread(rested.wait)
        idle = asyncio.ensure_future(threads.idle())
        await asyncio.sleep(0)
        waits.set()
        await idle
        threads.stop()

    asyncio.run(scenario())
