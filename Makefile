# Every target sets up what it needs: `make test` works in a fresh clone.
python := .venv/bin/python
heading := @printf '\n== %s\n'

# A second pyspark on PYTHONPATH, as Spark's own guides put there, would hide the one in .venv.
unexport PYTHONPATH

.PHONY: help setup demo example test archive check lint docs soak faults bench format lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

setup: ## Make .venv with all that is needed (PYTHON=... names another interpreter)
	@scripts/setup

demo: setup ## Process team scores live with Kafka and Spark, for a minute (ARGS=--forever)
	@$(python) -m examples.demo $(ARGS)

NAME ?= word_count
example: setup ## Run an example (NAME=word_count, team_scores, sessions, hashtags, every_100_clicks, sensor_deltas, fraud, silent_accounts, running_words, funnel, customers, ad_clicks, orders or dstream/…)
	@JAVA_HOME=$${JAVA_HOME:-$$(cat .venv/java-home)} PYSPARK_PYTHON=$(CURDIR)/$(python) \
		$(python) examples/$(NAME).py $(ARGS)

test: ## Run every check and test (ARGS=... are passed on to pytest)
	@$(MAKE) --no-print-directory --jobs 2 lint archive
	$(heading) 'Tests and examples in the documentation (pytest)'
	@$(python) -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder $(ARGS)

# The tests run without it as well, with slower starts of Java.
archive: setup ## Archive the classes of Spark, so that Java starts it faster in tests
	@$(python) scripts/class_archive.py

# What needs neither Spark nor Kafka.
quick := $(addprefix tests/,model plan reference engine physical test_public_names.py test_error_pages.py test_docs.py)
check: lint ## Run the checks and the tests without Spark and Kafka: two minutes, while you work
	$(heading) 'Tests without Spark and Kafka (pytest)'
	@$(python) -m pytest --numprocesses 2 --dist worksteal --quiet $(quick) $(ARGS)

lint: setup ## Run the checks that come before the tests
	$(heading) 'Style (ruff check)'
	@$(python) -m ruff check
	$(heading) 'Format (ruff format)'
	@$(python) -m ruff format --check
	$(heading) 'Types (mypy)'
	@$(python) -m mypy
	$(heading) 'Who imports whom (import-linter)'
	@$(python) -c 'from importlinter.cli import lint_imports_command as lint; lint()' \
		--no-logo --cache-dir .cache/import-linter

soak: setup ## Compare the engines on random programs until stopped (ARGS=--spark); keep failures as transcripts
	@$(python) tests/support/soak.py $(ARGS)

faults: setup ## Kill jobs and Kafka brokers for 15 minutes, and check the counts (ARGS='--help')
	@$(python) tests/support/campaign.py $(ARGS)

bench: setup ## Measure speed and memory against Spark's own aggregation (ARGS='--help')
	@$(python) -m benchmarks $(ARGS)

format: setup ## Format the code and fix what ruff can fix
	@$(python) -m ruff check --fix-only
	@$(python) -m ruff format

docs: setup ## Write docs/api.md from signatures and docstrings
	@$(python) scripts/api_reference.py

compile := .cache/uv/bin/uv --cache-dir .cache/uv/cache --quiet pip compile --universal --upgrade \
	--generate-hashes --no-annotate --custom-compile-command 'make lock' \
	--python $(python) --python-version 3.11

lock: setup ## Lock the newest versions of all dependencies, and bundle the pip that is locked
	$(python) -m pip install --quiet --upgrade --target .cache/uv --group lock
	$(compile) --group dev pyproject.toml --output-file requirements.lock
	$(compile) --group build --output-file requirements-build.lock
	$(compile) --group java --output-file requirements-java.lock
	rm scripts/pip-*.whl
	$(python) -m pip download --quiet --no-deps --dest scripts \
		"$$(grep -o '^pip==[^ ]*' requirements.lock)"

clean: ## Remove what the other targets made
	rm -rf .venv .cache .hypothesis dist demo.svg team-scores.svg
	find src tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} +
