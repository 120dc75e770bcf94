# SPDX-License-Identifier: Apache-2.0
"""The statistics of the share tests: one joint chi-square test with a fixed false-alarm rate over a fixed
number of samples."""
import math
import random


def chi_square_tail(value, degrees):
    """P(X > value) for a chi-square variable: the regularised upper incomplete gamma function Q(k/2, x/2)."""
    a, x = degrees / 2, value / 2
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while term > total * 1e-15:
            n += 1
            term *= x / n
            total += term
        return 1 - scale * total
    tiny = 1e-300
    b = x + 1 - a
    c, d = 1 / tiny, 1 / b
    h = d
    for i in range(1, 1000):
        an = -i * (i - a)
        b += 2
        d = an * d + b
        d = 1 / (d if abs(d) > tiny else tiny)
        c = b + an / c
        c = c if abs(c) > tiny else tiny
        h *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return scale * h


def thin(counts, size, seed=1):
    """`size` samples drawn without replacement from counted categories, by a fixed seed: what makes the
    number of samples, and so the test's power, the same in every run."""
    total = sum(counts.values())
    if total < size:
        raise ValueError(f"{total} samples, {size} needed")
    drawn = {}
    draw = random.Random(seed)
    left_size, left_total = size, total
    for name in sorted(counts):
        taken = 0
        for _ in range(counts[name]):
            if draw.random() * left_total < left_size:
                taken += 1
                left_size -= 1
            left_total -= 1
        drawn[name] = taken
    return drawn


def chi_square(counts, shares):
    total = sum(counts.get(name, 0) for name in shares)
    return sum((counts.get(name, 0) - total * share) ** 2 / (total * share) for name, share in shares.items())


def joint_p_value(groups):
    """One p-value for all groups of (counts, shares): their chi-squares add up, and so do the degrees."""
    value = sum(chi_square(counts, shares) for counts, shares in groups)
    degrees = sum(len(shares) - 1 for _, shares in groups)
    return chi_square_tail(value, degrees)
