"""Settings for every test."""

from hypothesis import HealthCheck, settings

# Derandomised: a test that passed here passes everywhere, on the same examples.
settings.register_profile(
    "millstream",
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("millstream")
