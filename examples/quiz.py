"""Find which of three quiz questions to drop, and the new pass mark."""

from itertools import combinations
from pathlib import Path

import bayestrim as bt

network = bt.read_network(Path(__file__).parent / "quiz.bif")
quiz = bt.Classifier(network, target="Mastery", positive="+", threshold=0.07)

print("A student passes if the probability of mastery, given the answers, is at least 0.07.")
print(f"{float(bt.eca(quiz, [], threshold=0.0)):.1%} of students pass. What if a question is dropped?\n")
print("kept     decisions that stay the same   with a threshold in")
for kept in combinations(quiz.features, 2):
    best = bt.maa(quiz, kept)
    print(f"{', '.join(kept):8} {best:>28.1%}   {best.thresholds}")

print("(a threshold above 0.25 passes nobody who saw only Q2 and Q3: that alone agrees with most decisions)")

best = bt.maa(quiz, ["Q1", "Q2"])
short = quiz.restricted(["Q1", "Q2"], best.threshold)
print(f"\nKeep Q1 and Q2, and pass at {best.threshold:.3f}, the middle of that interval. The short quiz decides:")
for answers in ("++", "+-", "-+", "--"):
    row = dict(zip(short.features, answers, strict=True))
    verdict = "pass" if short.decide(row) else "fail"
    print(f"  Q1 {answers[0]}  Q2 {answers[1]}   mastery {short.posterior(row):.3f}   {verdict}")
