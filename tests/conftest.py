"""Settings shared by all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from bayestrim import kernels

settings.register_profile("default", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", deadline=None, max_examples=3000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

# What tests read from standard error must not depend on what was compiled before; test_compiling looks at that.
kernels._announced = True
