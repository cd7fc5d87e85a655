"""Thirty measurements of cells, five of them affordable: what scikit-learn users do with bayestrim.

Run with ``python examples/trimmed_classifier.py``; needs ``pip install 'bayestrim[sklearn]'``.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import bayestrim as bt

table, benign = load_breast_cancer(return_X_y=True, as_frame=True)
train, test, train_y, test_y = train_test_split(table, benign, random_state=0, stratify=benign)
model = bt.TrimmedClassifier(budget=5, gap=1e-3).fit(train, train_y)
print("keep              ", ", ".join(table.columns[model.support_]))
print(f"model's agreement  {model.agreement_:.2%}; nothing affordable reaches more than {model.bound_:.2%}")
print(f"on held-out rows   {model.observed_agreement_:.2%}")
print(f"on new rows        {model.agreement_score(test):.2%}; accuracy {model.score(test, test_y):.2%}")
