"""The router without a model, against 240 labelled sentences: how much of them it must get right."""

import pytest

from benchmarks.sentences import FLOORS, PARTS, judge, sentences, shares, usable


def test_there_are_enough_sentences_and_none_twice() -> None:
    texts = [entry["text"] for entry in sentences()]
    assert len(usable()) >= 150
    assert len(set(texts)) == len(texts)
    assert sum(entry["part"] != "tuned" for entry in sentences()) >= 0.4 * len(texts)


def test_sentences_are_understood_as_well_as_promised() -> None:
    verdicts = [judge(entry) for entry in usable()]
    faults = "\n".join(f"{v.entry['text']}\n    {'; '.join(v.faults)}" for v in verdicts if v.faults)
    for name, floor in FLOORS.items():
        assert shares(verdicts)[name] >= floor, f"{name}: {shares(verdicts)[name]:.1f} %\n{faults}"


@pytest.mark.parametrize("part", PARTS)
def test_an_answer_is_a_valid_spec_or_a_question_and_never_both(part: str) -> None:
    for entry in sentences():
        if entry["part"] == part:
            verdict = judge(entry)
            assert verdict.spec, verdict.faults
            assert (verdict.routed.document is None) == bool(verdict.routed.questions), entry["text"]
