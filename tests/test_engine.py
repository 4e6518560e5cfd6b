"""Check the flow of a run: retries, waits, limits, order, memory, writing under pressure."""

import asyncio
import resource
import signal
import socket
import sqlite3
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from memoprobe import engine
from memoprobe.endpoints import retry
from memoprobe.endpoints.client import Client
from memoprobe.endpoints.flow import Flow
from memoprobe.endpoints.pool import Pool
from memoprobe.engine import Lane, Progress
from memoprobe.errors import EndpointDown, StoreUnavailable
from memoprobe.records import Failure, Request, Response, Sampling, Slot
from tests import fakes


def requests(n, n_slots=1):
    for number in range(n):
        yield Request(
            model="m",
            served_model="fake",
            benchmark="b",
            sample_id=f"s{number}",
            perturbation="rename",
            level=0,
            interface="chat",
            prompt=f"prompt {number}",
            sampling=Sampling(),
            slots=tuple(
                Slot(1, answer + 1, 1000 * number + answer, b"%d:%d" % (number, answer))
                for answer in range(n_slots)
            ),
        )


def lane(fake, plan, *, in_flight=8, timeout_s=30.0, patience_s=60.0):
    return Lane(
        model="m",
        pool=Pool([iter(plan)]),
        client=Client(base_url=fake.url, timeout_s=timeout_s),
        flow=Flow(max_in_flight=in_flight, patience_s=patience_s),
    )


def work(*lanes, save=None):
    """Run lanes and return the outcomes and the progress."""
    outcomes, progress = [], Progress()
    save = save or (lambda *records: outcomes.extend(records))
    engine.run(lanes, save, progress, lambda _: None)
    return outcomes, progress


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)


def test_answers_are_filed_by_the_index_of_their_choice():
    """Also when the server lists the choices in another order or all as number 0."""

    def reply(order, indices):
        choices = [
            {"index": i, "message": {"content": f"{p}"}}
            for p, i in zip(order, indices, strict=False)
        ]
        return 200, {}, {"choices": choices, "usage": {"completion_tokens": 8}}

    with fakes.serve() as fake:
        fake.script += [reply((2, 0, 1), (2, 0, 1)), reply((0, 1, 2), (0, 0, 0))]
        outcomes, progress = work(lane(fake, requests(2, 3), in_flight=1))

    assert [(o.sample_id, o.answer, o.text) for o in outcomes] == [
        ("s0", 1, "0"), ("s0", 2, "1"), ("s0", 3, "2"),
        ("s1", 1, "0"), ("s1", 2, "1"), ("s1", 3, "2"),
    ]  # fmt: skip
    assert [o.completion_tokens for o in outcomes] == [3, 3, 2] * 2
    assert progress.tokens == 16


def test_indices_without_meaning_and_more_choices_than_asked_do_no_harm():
    """Then the order counts; what is too many is left out."""
    choices = [{"index": 7 + i, "message": {"content": str(i)}} for i in range(3)]
    with fakes.serve() as fake:
        fake.script.append((200, {}, {"choices": choices}))
        outcomes, _ = work(lane(fake, requests(1, 2)))

    assert len(fake.requests) == 1
    assert [(o.answer, o.text) for o in outcomes] == [(1, "0"), (2, "1")]


def test_llama_cpp_counts_the_tokens_of_one_choice():
    """The dialect says so; the other choices' tokens are not known."""
    with fakes.serve(owned_by="llamacpp") as fake:
        outcomes, _ = work(lane(fake, requests(1, 3)))

    assert [o.completion_tokens for o in outcomes] == [60, None, None]


def test_a_server_s_wish_to_wait_is_honoured_by_all():
    """After the first wave nothing is sent before the wait is over; no attempt is charged."""
    with fakes.serve() as fake:
        fake.refuse_until = time.monotonic() + 1
        outcomes, progress = work(lane(fake, requests(40), in_flight=20))
        late = [moment for moment in fake.times if moment > fake.times[0] + 0.5]

    assert len(outcomes) == 40
    assert all(isinstance(outcome, Response) for outcome in outcomes)
    assert min(late) >= fake.times[0] + 1
    assert len(fake.times) <= 60
    assert progress.retries == len(fake.times) - 40


def test_passing_faults_are_tried_again_and_lasting_ones_stored(quick):
    """Five attempts, then a failure with its class, which another run may mend."""
    bad = (500, {}, "Internal Server Error")
    with fakes.serve(fail_if=lambda prompt: bad if prompt == "prompt 1" else None) as fake:
        fake.script += [bad, bad]
        outcomes, progress = work(lane(fake, requests(3, 2), in_flight=1))

    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert [(f.sample_id, f.answer, f.kind, f.attempts, f.permanent) for f in failures] == [
        ("s1", 1, "server_error", 5, False),
        ("s1", 2, "server_error", 5, False),
    ]
    assert len(outcomes) == 6
    assert progress.failed == Counter(server_error=2)


def test_timeouts_are_tried_twice_the_second_time_longer(quick):
    """Then the class names the limit."""
    with fakes.serve(delay_s=5) as fake:
        outcomes, _ = work(lane(fake, requests(1), timeout_s=0.2))

    assert len(fake.requests) == 2
    assert outcomes[0].kind == "timeout"
    assert outcomes[0].attempts == 2
    assert "limit of 0.4 s" in outcomes[0].detail


def test_an_endpoint_that_dies_ends_its_lane_and_no_other():
    """The fault is told; the other model's answers are all there."""
    with fakes.serve() as fake:
        dead = fakes.Fake(url="http://127.0.0.1:9/v1")
        lanes = lane(dead, requests(5)), lane(fake, requests(5))
        outcomes, _ = work(*lanes)

    assert isinstance(lanes[0].fault, EndpointDown)
    assert lanes[1].fault is None
    assert len(outcomes) == 5


def test_a_server_that_goes_away_in_the_middle_ends_the_run_after_patience(quick):
    """Nothing is charged to the requests; they stay to be asked."""

    def leave(prompt):
        if prompt == "prompt 3":
            fake.script.extend([(429, {}, {"error": "busy"})] * 1000)
        return

    with fakes.serve(fail_if=leave) as fake:
        one = lane(fake, requests(20), in_flight=2, patience_s=0.3)
        outcomes, _ = work(one)

    assert isinstance(one.fault, EndpointDown)
    assert "no answer for" in str(one.fault)
    assert all(isinstance(outcome, Response) for outcome in outcomes)


def test_a_store_that_cannot_write_ends_the_run():
    """A full disk stops the asking; it is no traceback."""

    def full(*records):
        msg = "disk full"
        raise StoreUnavailable(msg)

    with fakes.serve() as fake:
        one = lane(fake, requests(500))
        work(one, save=full)

    assert isinstance(one.fault, StoreUnavailable)
    assert len(fake.requests) < 50


def test_the_feeder_s_fault_ends_the_lane():
    """An error while variants are made is told like any other."""

    def plan():
        yield from requests(2)
        msg = "gone"
        raise StoreUnavailable(msg)

    with fakes.serve() as fake:
        one = lane(fake, plan())
        work(one)

    assert isinstance(one.fault, StoreUnavailable)


def test_memory_and_start_do_not_depend_on_the_plan():
    """Two hundred thousand requests planned, two thousand answered: little more is drawn."""
    drawn, answered = [0], [0]

    def plan():
        for request in requests(200_000):
            drawn[0] += 1
            yield request

    def save(*records):
        answered[0] += len(records)
        if answered[0] >= 2_000:
            msg = "enough"
            raise StoreUnavailable(msg)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with fakes.serve() as fake:
        work(lane(fake, plan(), in_flight=32), save=save)

    assert drawn[0] < 2_500
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_the_status_names_the_oldest_request():
    """A hanging server is seen on the line, with the item that hangs."""
    seen = []
    with fakes.serve(delay_s=1.3) as fake:
        engine.run(
            [lane(fake, requests(1))],
            lambda *records: None,
            Progress(left=1),
            lambda progress: seen.append(progress.oldest),
        )

    age, item = next(oldest for oldest in seen if oldest is not None)
    assert age > 0.5
    assert item == "b s0 level 0 (m)"
    assert seen[-1] is None


def test_a_writer_waits_for_another_process(tmp_path):
    """A reader in a loop and a write transaction held for a while cost no row."""
    from memoprobe.store import open_store
    from tests.test_store import response, sample

    path = Path("run.db")
    with open_store(path, write=True) as store:
        store.add_samples([sample()])
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.6, other.rollback)
        timer.start()
        for answer in range(1, 501):
            store.save(response(answer=answer, key=b"%d" % answer))
            if answer % 100 == 0:
                with open_store(path, write=False) as reader:
                    reader.query("SELECT * FROM responses")
        store.flush()
        timer.join()
        other.close()
        assert store.query("SELECT count(*) AS n FROM responses") == [{"n": 500}]


def replicas(plan, *fakes_, patience_s=60.0, in_flight=4):
    """Return a lane per server, the requests shared alternately among them."""
    plan = list(plan)
    pool = Pool([iter(plan[number :: len(fakes_)]) for number in range(len(fakes_))])
    return [
        replace(
            lane(fake, (), in_flight=in_flight, patience_s=patience_s), pool=pool, replica=number
        )
        for number, fake in enumerate(fakes_)
    ]


def test_replicas_share_the_work_and_help_a_slow_one():
    """Each begins with its own samples; the fast one takes over what the slow one lags with."""
    with fakes.serve() as fast, fakes.serve(delay_s=0.2) as slow:
        outcomes, _ = work(*replicas(requests(60), fast, slow))

    assert len({outcome.key for outcome in outcomes}) == len(outcomes) == 60
    assert len(fast.requests) > 40
    assert len(slow.requests) >= 4
    own = {f"prompt {number}" for number in range(0, 60, 2)}
    assert {r["messages"][0]["content"] for r in fast.requests[:8]} <= own


def test_the_living_replica_does_the_dead_one_s_work(quick):
    """Whether it never listened or goes away in the middle."""
    gone = fakes.Fake(url="http://127.0.0.1:9/v1")
    busy = [(429, {}, {"error": "busy"})] * 10_000
    with fakes.serve() as alive, fakes.serve() as dies:
        dies.fail_if = lambda prompt: dies.script.extend(busy) if len(dies.requests) > 5 else None
        lanes = replicas(requests(60), alive, dies, gone, patience_s=0.3)
        outcomes, _ = work(*lanes)

    assert len({outcome.key for outcome in outcomes}) == len(outcomes) == 60
    assert all(isinstance(outcome, Response) for outcome in outcomes)
    assert [lane.fault is None for lane in lanes] == [True, False, False]
    assert not lanes[0].pool.abandoned


def test_when_all_replicas_are_dead_the_rest_stays_undone():
    """Then the fault is told."""
    dead = [fakes.Fake(url="http://127.0.0.1:9/v1") for _ in range(2)]
    lanes = replicas(requests(6), *dead)

    outcomes, _ = work(*lanes)

    assert outcomes == []
    assert lanes[0].pool.abandoned


def test_an_endpoint_that_fails_everybody_does_not_burn_the_plan(quick):
    """The breaker opens; when the endpoint is well again all are answered."""
    ill = [True]

    def fail(prompt):
        if len(fake.requests) > 60:
            ill[0] = False
        return (500, {}, "Internal Server Error") if ill[0] else None

    with fakes.serve(fail_if=fail) as fake:
        outcomes, _ = work(lane(fake, requests(200), in_flight=8))

    assert len(outcomes) == 200
    assert not any(isinstance(outcome, Failure) for outcome in outcomes)


def test_an_endpoint_that_stays_ill_ends_the_run(quick):
    """What it did not answer stays to be asked."""
    with fakes.serve(fail_if=lambda prompt: (500, {}, "EngineCore encountered an issue")) as fake:
        one = lane(fake, requests(500), patience_s=0.3)
        outcomes, _ = work(one)

    assert isinstance(one.fault, EndpointDown)
    assert "EngineCore" in str(one.fault)
    assert len(outcomes) < 30


def test_many_bad_requests_are_not_the_endpoint_s_fault(quick):
    """It answers a plain question, so each of them fails by itself and the run ends."""
    bad = (500, {}, "Internal Server Error")
    with fakes.serve(fail_if=lambda prompt: bad if prompt.startswith("prompt") else None) as fake:
        one = lane(fake, requests(12), patience_s=0.3)
        outcomes, _ = work(one)

    assert one.fault is None
    assert [outcome.kind for outcome in outcomes] == ["server_error"] * 12


def test_a_server_may_refuse_n_in_words_of_its_own():
    """One choice is tried before a request is given up, and what works is kept."""
    refusal = (400, {}, {"error": {"message": "we do not do that here"}})
    with fakes.serve() as fake:
        reply = fake.reply
        fake.reply = lambda path, body: refusal if body["n"] > 1 else reply(path, body)
        one = lane(fake, requests(3, 4), in_flight=1)
        outcomes, _ = work(one)

    assert len(outcomes) == 12
    assert all(isinstance(outcome, Response) for outcome in outcomes)
    assert one.max_n == 1
    assert len(fake.requests) == 12


def test_a_rejected_prompt_is_rejected_for_all_its_slots_at_once():
    """Also where the server gives few choices a request."""
    bad = (400, {}, {"error": {"message": "exceeds the available context size"}})
    with fakes.serve(fail_if=lambda prompt: bad) as fake:
        one = lane(fake, requests(1, 9))
        one.max_n = 4
        outcomes, _ = work(one)

    assert len(fake.requests) == 1
    assert [outcome.kind for outcome in outcomes] == ["context_overflow"] * 9


def test_a_server_that_accepts_and_never_answers_does_not_hold_up_the_others(monkeypatch):
    """It is left after a while, and what it was to do is done meanwhile."""
    monkeypatch.setattr("memoprobe.endpoints.client.LOOK_S", 0.5)
    with fakes.serve() as good, socket.create_server(("127.0.0.1", 0)) as hole:
        silent = fakes.Fake(url=f"http://127.0.0.1:{hole.getsockname()[1]}/v1")
        lanes = replicas(requests(30), good, silent)
        outcomes, _ = work(*lanes)

    assert len(outcomes) == 30
    assert isinstance(lanes[1].fault, EndpointDown)


@pytest.mark.parametrize("status", [401, 402, 404])
def test_what_a_refused_replica_has_drawn_is_not_lost(status):
    """Neither what waits before its full queue nor what is being drawn when it drops out."""
    with fakes.serve() as good, fakes.serve(fail_if=lambda prompt: (status, {}, b"no")) as bad:
        lanes = replicas(requests(24), good, bad, in_flight=1)
        outcomes, _ = work(*lanes)

    assert len({outcome.key for outcome in outcomes}) == len(outcomes) == 24
    assert lanes[1].fault is not None
    assert not lanes[0].pool.abandoned


def test_a_draw_under_way_when_the_lane_ends_is_not_lost():
    """It ends in its thread, and what it took goes back to the pool with all the rest."""
    drawing, stopped = threading.Event(), threading.Event()

    def slowly():
        for number, request in enumerate(requests(12)):
            if number == 6:  # the second draw
                drawing.set()
                stopped.wait(10)
            yield request

    def refuse(prompt):
        drawing.wait(10)
        return 402, {}, b"pay"

    async def rest():
        found = []
        while batch := await one.pool.draw(0):
            found += batch
        return found

    with fakes.serve(fail_if=refuse) as fake:
        one = lane(fake, slowly(), in_flight=4)
        engine.run(
            [one], lambda *_: None, Progress(), lambda _: one.stop.is_set() and stopped.set()
        )

    assert {request.sample_id for request in asyncio.run(rest())} == {f"s{n}" for n in range(12)}


@pytest.mark.parametrize("reply", [(402, {}, b"pay"), (429, {}, {"error": "insufficient_quota"})])
def test_a_quota_that_is_used_up_ends_the_run_at_once(reply):
    """Also a small plan's: nothing is charged to its requests, and it can be resumed."""
    with fakes.serve(fail_if=lambda prompt: reply) as fake:
        one = lane(fake, requests(3))
        outcomes, _ = work(one)

    assert isinstance(one.fault, EndpointDown)
    assert len(fake.requests) == 3
    assert outcomes == []


@pytest.mark.parametrize("status", [403, 404, 307])
def test_a_gateway_may_forbid_a_single_prompt(status):
    """The endpoint answers a plain question, so the key is right and the others go on."""
    reply = (status, {"Location": "http://x/"}, b"<html>blocked by the firewall</html>")
    with fakes.serve(fail_if=lambda prompt: reply if prompt == "prompt 3" else None) as fake:
        one = lane(fake, requests(10, 3))
        outcomes, progress = work(one)

    asked = [request["messages"][0]["content"] for request in fake.requests]
    assert one.fault is None
    assert len(outcomes) == 30
    assert progress.failed == {"forbidden": 3}
    assert asked.count("prompt 3") == asked.count("Hi") == 1


class Clumsy(Client):
    """Make a mistake while it handles the replies to some prompts."""

    bad: frozenset[str] = frozenset()

    async def send(self, request, run, attempts=0):
        reply = await super().send(request, run, attempts)
        if request.prompt in self.bad:
            msg = "an own mistake about sk-CANARY-1"
            raise AssertionError(msg)
        return reply


def clumsy(fake, plan, *prompts):
    client = Clumsy(base_url=fake.url, api_key="sk-CANARY-1")
    client.bad = frozenset(prompts)
    return replace(lane(fake, plan), client=client)


def test_a_mistake_of_our_own_with_one_reply_costs_that_reply_alone():
    """It is told once, kept with its traceback and without the key, and not tried again."""
    with fakes.serve() as fake:
        one = clumsy(fake, requests(20, 2), "prompt 3", "prompt 9")
        outcomes, progress = work(one)

    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert one.fault is None
    assert len(outcomes) == 40
    assert progress.failed == {"internal": 4}
    assert len(fake.requests) == 20
    assert {(f.kind, f.phase, f.attempts, f.permanent) for f in failures} == {
        ("internal", "parse", 1, False)
    }
    assert "Traceback" in failures[0].detail
    assert "AssertionError: an own mistake about [redacted]" in failures[0].detail
    assert [hint.partition(" kept")[0] for hint in progress.hints] == [
        "a mistake of memoprobe's own"
    ]


def test_a_mistake_of_our_own_with_every_reply_ends_the_run():
    """It does not burn the plan, and what ends the run is a message, not a traceback."""
    with fakes.serve() as fake:
        one = clumsy(fake, requests(200), *(f"prompt {number}" for number in range(200)))
        outcomes, progress = work(one)

    assert len(fake.requests) < 30
    assert str(one.fault).endswith("AssertionError: an own mistake about [redacted]")
    assert "\n" not in str(one.fault)
    assert one.fault.exit_code == 3
    assert progress.failed == {"internal": len(outcomes)}


def test_a_mistake_of_our_own_outside_of_a_reply_is_not_caught():
    """Nobody knows what it has spoilt."""

    def plan():
        yield from requests(2)
        msg = "an own mistake"
        raise AssertionError(msg)

    with fakes.serve() as fake, pytest.raises(ExceptionGroup) as caught:
        work(lane(fake, plan()))

    assert caught.group_contains(AssertionError, match="an own mistake")


def test_an_interrupted_run_records_what_it_gave_up_in_flight(monkeypatch):
    """The slots whose replies did not come in time, and no others, until they are answered."""
    monkeypatch.setattr("memoprobe.engine.lanes.GRACE_S", 0.2)
    interrupt = threading.Event()

    def hang(prompt):
        if prompt in ("prompt 1", "prompt 2") and not interrupt.is_set():
            interrupt.set()
            signal.raise_signal(signal.SIGINT)
        if interrupt.is_set():
            release.wait(20)

    release = threading.Event()
    with fakes.serve(fail_if=hang) as fake:
        outcomes, progress = [], Progress()
        ended_by = engine.run(
            [lane(fake, requests(50, 3), in_flight=2)],
            lambda *records: outcomes.extend(records),
            progress,
            lambda _: None,
        )
        release.set()

    given_up = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert ended_by == signal.SIGINT
    assert {(f.kind, f.phase, f.attempts, f.permanent) for f in given_up} == {
        ("cancelled", "wait", 1, False)
    }
    assert progress.failed == {"cancelled": len(given_up)}
    assert len(given_up) in (3, 6)  # one or two requests were open
    assert len(outcomes) == 3 * len(fake.requests)
