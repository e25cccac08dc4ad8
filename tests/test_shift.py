"""Feature shift: what each sensor does, pixel by pixel, and who says what in which genre."""

from collections import Counter
from math import exp

import numpy as np
import pytest
import torch

from fedlab_edu import Federation, LocalHP, mlp, score, start, train
from fedlab_edu.data import decode, digit_images, genres, sensors
from fedlab_edu.data.shakespeare import plays, speeches, spoken
from fedlab_edu.data.shift import NOISE, SENSORS, lines, seen

ALL = digit_images()[0]
X = ALL[:12]


def loops(image: np.ndarray, sensor: str) -> np.ndarray:
    """The definition, one pixel after the other."""
    n = len(image)
    new = np.zeros_like(image)
    kernel = [exp(-0.5 * k * k) for k in range(-4, 5)]
    total = sum(kernel) ** 2
    for i in range(n):
        for j in range(n):
            if sensor == "original":
                new[i, j] = image[i, j]
            elif sensor == "inverted":
                new[i, j] = 1 - image[i, j]
            elif sensor == "rotated":  # the right column becomes the top row
                new[i, j] = image[j, n - 1 - i]
            elif sensor == "thickened":
                near = [(i + a, j + b) for a in (0, 1) for b in (0, 1)]
                new[i, j] = max(image[p, q] for p, q in near if p < n and q < n)
            elif sensor == "blurred":
                for a in range(-4, 5):
                    for b in range(-4, 5):
                        if 0 <= i + a < n and 0 <= j + b < n:  # beyond the edge it is black
                            new[i, j] += kernel[a + 4] * kernel[b + 4] / total * image[i + a, j + b]
    return new


@pytest.mark.parametrize("sensor", SENSORS[:-1])
def test_a_sensor_shows_what_a_loop_over_pixels_does(sensor):
    shown = seen(X, sensor)
    assert shown.shape == X.shape
    assert shown.dtype == torch.float32
    for image, new in zip(X.double().numpy(), shown.numpy(), strict=True):
        assert new[0] == pytest.approx(loops(image[0], sensor), abs=1e-6)


def test_noise_is_normal_but_for_clipping_and_belongs_to_its_generator():
    grey = torch.full((500, 1, 8, 8), 0.5)
    noise = seen(grey, "noisy", torch.Generator().manual_seed(3)) - 0.5
    n = noise.numel()
    # a share of 2.3 % of a normal law lies two standard deviations or more to either side
    for beyond in (noise >= 2 * NOISE - 1e-6, noise <= -2 * NOISE + 1e-6):
        assert float(beyond.float().mean()) == pytest.approx(0.02275, abs=4 * (0.0222 / n) ** 0.5)
    assert float(noise.mean()) == pytest.approx(0, abs=4 * NOISE / n**0.5)
    within = float((noise.abs() < NOISE).float().mean())
    assert within == pytest.approx(0.6827, abs=4 * (0.2166 / n) ** 0.5)
    again = seen(grey, "noisy", torch.Generator().manual_seed(3)) - 0.5
    assert torch.equal(again, noise)


def owned(fed: Federation, i: int) -> list[int]:
    return torch.cat([part.rows[i] for part in (fed.train, fed.val, fed.test)]).tolist()


def test_each_image_is_with_one_client_and_is_what_its_sensor_shows():
    fed, y = sensors(seed=1), digit_images()[1]
    assert fed.names == SENSORS
    assert sorted(row for i in range(6) for row in owned(fed, i)) == list(range(1797))
    for i, sensor in enumerate(SENSORS[:-1]):
        rows = owned(fed, i)
        assert torch.equal(fed.train.x[rows], seen(ALL[rows], sensor))
        assert torch.equal(fed.train.y[rows], y[rows])
    rows = owned(fed, 5)
    off = fed.train.x[rows] - ALL[rows]
    assert 0.05 < float(off.abs().mean()) < NOISE
    assert float(fed.train.x.min()) >= 0
    assert float(fed.train.x.max()) <= 1


def test_each_client_has_all_ten_digits_as_often_as_any_other():
    fed = sensors(seed=2)
    counts = torch.stack([fed.train.y[owned(fed, i)].bincount() for i in range(6)])
    assert counts.shape == (6, 10)
    assert int((counts.max(0).values - counts.min(0).values).max()) <= 1
    assert {int(n) for n in counts.sum(1)} == {299, 300}
    assert counts.sum(0).tolist() == digit_images()[1].bincount().tolist()


def test_the_seed_decides_who_has_which_image_and_nothing_is_shared_with_the_next_caller():
    one, same, other = sensors(3), sensors(3), sensors(4)
    assert torch.equal(one.train.x, same.train.x)
    assert owned(one, 0) == owned(same, 0) != owned(other, 0)
    before = digit_images()[0].clone()
    one.train.x.zero_()
    assert torch.equal(digit_images()[0], before)


def only(fed: Federation, i: int) -> Federation:
    parts = (part[[i]] for part in (fed.train, fed.val, fed.test))
    return Federation(*parts, (fed.names[i],), fed.classes)


def test_a_model_of_one_sensor_fails_under_two_others_and_one_of_all_fails_nowhere():
    fed, model, c = sensors(), mlp(64, 32, 10), LocalHP(lr=0.1, epochs=3, batch=16, momentum=0.5)
    alone = train(start(model, only(fed, 0), c), model, only(fed, 0), 25, 1)
    error = dict(zip(fed.names, score(model, alone.w, fed.test).rates.tolist(), strict=True))
    assert error["original"] < 0.1
    assert min(error["inverted"], error["rotated"]) > 0.5
    together = train(start(model, fed, c), model, fed, 40, 6)
    assert max(score(model, together.w, fed.test).rates.tolist()) < 0.35


def test_each_genre_has_the_lines_of_its_plays_and_of_no_other():
    said = lines()
    assert {name.split("/")[0] for name in plays()} == set(said)
    assert len(said) == 6
    for genre, text in said.items():
        roles = [
            s
            for n, p in plays().items()
            if n.split("/")[0] == genre
            for s in speeches(spoken(p)).values()
        ]
        # all that roles say, in another order: as many of each letter
        assert Counter(text.replace(" ", "")) == Counter("".join(roles).replace(" ", ""))


def test_to_be_or_not_to_be_is_a_tragedys_and_is_in_no_other_genre():
    assert [g for g, text in lines().items() if "To be, or not to be" in text] == ["tragedies"]


def test_a_genres_windows_follow_one_another_in_its_text_and_its_last_plays_are_tested():
    fed = genres(length=20, step=500)
    assert fed.names == tuple(lines())
    for i, text in enumerate(lines().values()):
        starts = range(0, len(text) - 20, 500)
        rows = owned(fed, i)
        n = len(rows)
        assert n == len(starts)
        for k in (0, 7, n - 1):
            assert decode(fed.train.x[rows[k]]) == text[starts[k] : starts[k] + 20]
            assert decode(fed.train.y[rows[k]][None]) == text[starts[k] + 20]
        assert [len(p.rows[i]) for p in (fed.train, fed.val)] == [
            int(0.8 * n), int(0.9 * n) - int(0.8 * n),
        ]  # fmt: skip


def test_with_a_gap_genres_parts_share_no_character():
    fed = genres(length=30, step=10, gap=True)
    for i in range(6):
        a, b, c = (part.rows[i] for part in (fed.train, fed.val, fed.test))
        assert int(a.max()) + 30 < int(b.min())
        assert int(b.max()) + 30 < int(c.min())


def test_clients_are_named_after_their_sensors_and_there_are_six_genres():
    assert sensors(seed=5).names == SENSORS
    assert len(genres(step=2000, shuffle=True, seed=1)) == 6


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: seen(X, "infrared"), "sensor is 'infrared'; allowed: one of"),
        (lambda: seen(X, "noisy"), "gen is None; allowed: a generator"),
        (
            lambda: seen.__wrapped__((255 * X).byte(), "inverted"),
            "x is 'torch.uint8'; allowed: ima",
        ),
        (lambda: seen(X * 16, "inverted"), r"x is \(0.0, 16.0\); allowed: images of numbers from"),
        (lambda: seen(X * float("nan"), "blurred"), r"x is \(nan, nan\); allowed: images of"),
        (lambda: genres(length=0), "length is 0; allowed: a whole number of at least 1"),
        (lambda: genres(gap=True, shuffle=True), "gap is True; allowed: False if"),
    ],
)
def test_bad_input_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
