"""Verdicts on the papers' claims follow one written rule."""

import json
from itertools import product
from pathlib import Path
from random import Random
from statistics import stdev

import pytest
from scipy import stats

from fedlab_edu import cli
from fedlab_edu.papers import verdicts as judged
from fedlab_edu.papers.reproduce import EXPERIMENTS
from fedlab_edu.papers.verdicts import Verdict, holm, render_verdicts, seeds_needed, verdicts

RECORDS = Path(__file__).parents[1] / "book/records"


def test_holm_gives_the_numbers_of_a_case_by_hand():
    # 4 x 0.01; 3 x 0.02 = 0.06; 2 x 0.03 = 0.06; 1 x 0.04, but not below what stands before it
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_rejects_what_the_step_down_procedure_rejects():
    rng = Random(0)
    for _ in range(200):
        p = [rng.random() ** 4 for _ in range(rng.randrange(1, 12))]
        rejected = set()
        for step, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
            if p[i] > 0.05 / (len(p) - step):
                break
            rejected.add(i)
        assert {i for i, each in enumerate(holm(p)) if each <= 0.05} == rejected


def test_that_many_seeds_find_a_difference_in_four_of_five_tries():
    n, rng, found = seeds_needed(3.0), Random(1), 0
    for _ in range(2000):
        found += stats.ttest_1samp([rng.gauss(1.0, 3.0) for _ in range(n)], 0.0).pvalue <= 0.05
    assert 71 <= n <= 74  # ((1.960 + 0.842) x 3)^2 = 70.6 if the deviation were known
    assert 0.77 < found / 2000 < 0.83


def test_few_seeds_that_find_a_large_difference_allow_for_an_uncertain_deviation():
    for level in (0.05, 0.001):
        n, rng = seeds_needed(1.0, 2.0, level=level), Random(2)
        tries = [[rng.gauss(2.0, 1.0) for _ in range(n)] for _ in range(2000)]
        found = [stats.ttest_1samp(d, 0.0).pvalue <= level for d in tries]
        fewer = [stats.ttest_1samp(d[1:], 0.0).pvalue <= level for d in tries]
        assert sum(found) / 2000 > 0.78
        assert sum(fewer) / 2000 < 0.8


def test_the_cheapest_to_decide_is_the_claim_whose_effect_is_largest_for_its_scatter():
    def claim(*differences: float) -> Verdict:
        one = Verdict("", "", "", "", "", None, None, differences, p=0.1)
        return one._replace(verdict="undecided")

    clear, vague = claim(1.0, 2.0, 3.0, 2.0, 2.0), claim(-1.0, 2.0, 3.0, -2.0, 2.0)
    known = clear._replace(verdict="reproduced")
    (seeds, first), (many, second) = judged.cheapest([vague, clear, known])
    assert (first, second) == (clear, vague)
    assert seeds == seeds_needed(0.5**0.5, 2.0, level=0.05 / 3)  # mean 2, variance 1 / 2
    assert many > seeds


def test_claims_of_ones_own_are_corrected_for_those_that_are_judged_with_them():
    def claim(*differences: float) -> Verdict:
        return Verdict("mine", "", "", "a", "b", None, None, differences)

    clear = claim(-1.0, -2.0, -3.0, -2.0, -4.0)
    p = stats.ttest_1samp(clear.differences, 0.0).pvalue
    (alone,) = judged.judge([clear])
    assert (alone.verdict, alone.p, alone.p_holm) == ("reproduced", p, p)
    open_, few = claim(1.0, -1.0, 2.0, -2.0, 0.5), claim(-1.0, -1.1)
    first, *others, last = judged.judge([clear] + [open_] * 9 + [few])
    assert (first.verdict, first.p_holm) == ("undecided", pytest.approx(10 * p))
    assert {v.verdict for v in others} == {"undecided"}
    assert last.verdict == "not tried"
    (cut,) = judged.judge([alone._replace(differences=clear.differences[:2])])
    assert (cut.verdict, cut.p, cut.p_holm) == ("not tried", None, None)


def write(folder: Path, dataset: str, errors: dict[str, list[float]]) -> None:
    experiment = EXPERIMENTS["fedex-figure6"]
    budget = experiment.workload(dataset, "book").budget
    with (folder / f"fedex-figure6-{dataset}-book.jsonl").open("w") as file:
        for name, values in errors.items():
            for seed, value in enumerate(values):
                record = {"variant": name, "seed": seed, "budget": budget, "entropy": 0.0}
                record |= {"global": value, "personalised": value, "rounds": 1}
                file.write(json.dumps(record) + "\n")


NOISE = [0.001, -0.002, 0.0, 0.002, -0.001, 0.001]
WORSE = [0.2 + e for e in NOISE]
SAME = [0.1 - 3 * e for e in NOISE]


@pytest.mark.parametrize(
    ("constant", "adaptive", "words"),
    [
        (WORSE, [0.01 + e for e in NOISE], ["reproduced", "contradicted"]),
        (SAME, WORSE[:4], ["undecided", "not tried"]),
    ],
)
def test_a_verdict_follows_from_the_paired_seeds(tmp_path, constant, adaptive, words):
    write(tmp_path, "digits", {"aggressive": [0.1] * 6, "constant": constant, "adaptive": adaptive})
    found = verdicts(tmp_path)
    assert [(v.better, v.worse) for v in found] == [
        ("aggressive", "constant"), ("aggressive", "adaptive"),
    ]  # fmt: skip
    assert [v.verdict for v in found] == words
    p = stats.ttest_rel([0.1] * 6, constant).pvalue
    assert found[0].p == pytest.approx(p)
    assert found[0].mean == pytest.approx(100 * (0.1 - sum(constant) / 6))


def test_equal_errors_decide_nothing():
    v = Verdict("", "", "", "", "", None, None, (0.0,) * 5)
    assert judged._p(v.differences) == 1.0
    assert judged._p((1.0,) * 5) == 0.0


def test_all_claims_with_a_record_of_the_book_have_a_verdict_of_four_words():
    found = verdicts(RECORDS)
    assert {v.verdict for v in found} <= set(judged.WORDS)
    tried = [v for v in found if v.p is not None]
    assert all((v.verdict == "not tried") == (len(v.differences) < 5) for v in found)
    for v, w in product(tried, tried):  # the correction keeps the order of p-values
        assert not (v.p < w.p and v.p_holm > w.p_holm)
    assert all(v.half == pytest.approx(interval(v.differences)) for v in tried)


def interval(d: tuple[float, ...]) -> float:
    low, high = stats.t.interval(0.95, len(d) - 1, scale=stdev(d) / len(d) ** 0.5)
    return (high - low) / 2


def test_the_command_prints_what_chance_alone_would_bring(tmp_path, capsys):
    write(tmp_path, "digits", {"aggressive": SAME, "constant": WORSE, "adaptive": WORSE})
    assert cli.main(["verdicts", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == render_verdicts(verdicts(tmp_path)) + "\n"
    assert "2 claims tried: 0.1 p-values up to 0.05 by chance alone, 2 found" in render_verdicts(
        verdicts(tmp_path)
    )
    assert cli.main(["verdicts", "--folder", str(tmp_path / "none")]) == 2
    assert "a paper claims something" in capsys.readouterr().err
