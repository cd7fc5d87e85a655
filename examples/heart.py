"""Which tests to keep for heart disease when some of them share a price: from a table of patients to a page."""

from pathlib import Path

import bayestrim as bt
from bayestrim.changes import changes
from bayestrim.prices import read_prices

DATA = Path(__file__).parent / "data"

learned = bt.learn(DATA / "heart.csv", "num", positive=["1", "2", "3", "4"])
print(learned.report)

heart = learned.classifier(threshold=0.5)
prices = read_prices(DATA / "heart_costs.csv")
everything = bt.TrimProblem(heart, float("inf"), prices.costs, setup_costs=prices.setup_costs)
print(f"\nAll {len(heart.features)} findings cost {everything.cost(heart.features):g}. With a budget:\n")

for budget in (25, 100, 200, 300):
    result = bt.trim(heart, budget, prices.costs, setup_costs=prices.setup_costs)
    print(f"{budget:4}  {float(result.agreement):.1%} of decisions stay the same without {', '.join(result.dropped)}")

print("\nWith 300, decisions change most often where")
for item in changes(result, most=3).explaining:
    print(f"  {item.feature} is {item.state}: {item.share:.0%} of the changes, {item.usual:.0%} of all")
