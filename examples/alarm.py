"""Which of ALARM's measurements tell whether a patient has lost blood, if only two may be taken."""

from pathlib import Path

import bayestrim as bt

network = bt.read_network(Path(__file__).parent / "data" / "alarm.bif")
leaves = [name for name in network.leaves if name != "HYPOVOLEMIA"]
alarm = bt.Classifier(network, "HYPOVOLEMIA", "TRUE", features=leaves, threshold=0.3)
result = bt.trim(alarm, budget=2)
print(result.summary())

seen = {"CVP": "HIGH", "BP": "LOW"}
print(f"\nAfter {seen} the posterior is {alarm.posterior(seen):.3f}, and the decision stands with probability ", end="")
print(f"{float(bt.sdp(alarm, seen)):.3f}.")
