"""The verifier from Python: verdicts, batches, threads, processes."""

import multiprocessing
import threading
import time

import entropy_rl as er
import numpy as np
import pytest


def test_a_verdict_is_three_way_and_true_only_where_right() -> None:
    right = er.verify(r"\boxed{\frac{1}{2}}", "0.5")
    wrong = er.verify(r"\boxed{1}", "0.5")
    unparsed = er.verify("no idea", "0.5")
    assert [v.verdict for v in (right, wrong, unparsed)] == ["right", "wrong", "unparsed"]
    assert [bool(v) for v in (right, wrong, unparsed)] == [True, False, False]
    assert right.rung == "number" and right.which is None
    assert unparsed.rung is None and unparsed.which == "response"
    assert unparsed.why is not None and "no answer" in unparsed.why
    assert repr(right) == "Verdict(verdict='right', rung='number')"


def test_normal_forms_are_there_when_asked_for() -> None:
    explained = er.verify(r"\boxed{x+x}", "2x", explained=True)
    assert explained.response == explained.ground_truth is not None
    assert er.verify(r"\boxed{x+x}", "2x").response is None


def test_modes_say_where_an_answer_may_stand() -> None:
    said = {mode: er.verify("The answer is 7.", "7", mode=mode).verdict for mode in ("strict", "marked")}
    assert said == {"strict": "unparsed", "marked": "right"}
    assert er.verify("We get 7", "7").verdict == "unparsed"
    assert er.verify("We get 7", "7", mode="lenient")
    with pytest.raises(ValueError, match='`mode` is "loose", expected "marked"'):
        er.verify("7", "7", mode="loose")  # type: ignore[arg-type]


def test_the_question_is_passed_over() -> None:
    question = r"Round 4.7 to an integer, such as \boxed{5}."
    assert er.extract(question + " I see.", question=question) is None
    assert er.extract(question + " I see.") is not None


def test_spans_count_characters() -> None:
    response = "Größe → \\boxed{12}, ja"
    found = er.extract(response)
    assert found is not None and response[slice(*found.span)] == found.text == "12"


def test_work_is_bounded_by_fuel() -> None:
    # Equal, so that double precision sees no difference before the work begins.
    costly = er.verify(r"\boxed{(x+y+z)^{9}}", "(z+y+x)^9", fuel=10)
    assert costly.verdict == "unparsed" and "fuel" in str(costly.why)


def test_a_batch_is_its_rows_whatever_the_threads() -> None:
    responses = [rf"\boxed{{{n}}}" for n in range(200)]
    truths = [str(n - n % 3) for n in range(200)]
    alone = [er.verify(r, t) for r, t in zip(responses, truths)]
    for threads in (0, 1, 3):
        assert er.verify_many(responses, truths, threads=threads) == alone
    rewards = er.grade(responses, truths, right=1.0, wrong=-1.0)
    assert rewards.dtype == np.float64
    assert rewards.tolist() == [1.0 if v else -1.0 for v in alone]
    assert er.grade([], []).shape == (0,)


def test_columns_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="`questions` has 1 entries, `responses` has 2"):
        er.grade(["a", "b"], ["c", "d"], questions=["e"])
    with pytest.raises(TypeError):
        er.grade("ab", ["c", "d"])


def test_other_threads_run_meanwhile() -> None:
    """The interpreter's lock is not held: a thread of Python counts on while a batch is graded."""
    rows = 40_000
    responses, truths = [r"\boxed{\sqrt{8}+\sqrt{2}}"] * rows, [r"3\sqrt{2}"] * rows
    ticks: list[float] = []
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    begin = time.monotonic()
    rewards = er.grade(responses, truths, threads=1)
    end = time.monotonic()
    done.set()
    counter.join()
    assert rewards.sum() == rows
    meanwhile = sum(begin + 0.1 * (end - begin) < tick < end - 0.1 * (end - begin) for tick in ticks)
    assert meanwhile > 3, (meanwhile, end - begin)


def _grade(_: int) -> float:
    return float(er.grade([r"\boxed{1}"] * 8, ["1"] * 8).sum())


def test_a_process_forked_after_a_batch_grades_too() -> None:
    assert _grade(0) == 8.0
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_grade, range(4)).get(timeout=60) == [8.0] * 4


def test_a_half_character_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(ValueError):
        er.verify("\ud800", "1")


def test_explain_names_the_step() -> None:
    assert "decided by number" in er.explain(r"\boxed{1/2}", "0.5")
