"""The Dockerfile and the manifest under deploy/ are complete and agree with each other.

No linter of Dockerfiles is a Python package, so what one would find first is checked here.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from millstream.cli.main import app

ROOT = Path(__file__).parents[2]
RESOURCES = list(yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text("utf-8")))
DEPLOYMENTS = [each for each in RESOURCES if each["kind"] == "Deployment"]
each_deployment = pytest.mark.parametrize(
    "deployment", DEPLOYMENTS, ids=lambda each: each["metadata"]["name"]
)


def instructions():
    """The instructions of the Dockerfile, each with its arguments."""
    text = (ROOT / "deploy/Dockerfile").read_text("utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def pod_of(deployment):
    return deployment["spec"]["template"]["spec"]


def test_the_image_has_a_fixed_base_and_does_not_run_as_root():
    known = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "ENV", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in instructions()} == known
    base = next(text for name, text in instructions() if name == "FROM")
    assert re.fullmatch(r"python:3\.11-slim-\w+", base)
    assert next(text for name, text in reversed(instructions()) if name == "USER") != "root"
    for name, text in instructions():
        if name in ("ENTRYPOINT", "CMD"):
            assert all(isinstance(part, str) for part in json.loads(text))


def test_packages_are_installed_without_leftovers():
    runs = [text for name, text in instructions() if name == "RUN"]
    (apt,) = (text for text in runs if "apt-get install" in text)
    assert "--yes --no-install-recommends" in apt
    assert apt.endswith("rm -rf /var/lib/apt/lists/*")
    (pip,) = (text for text in runs if "pip install" in text)
    assert "--no-cache-dir" in pip


def test_the_image_has_the_versions_that_are_tested(tmp_path):
    (pip,) = (text for name, text in instructions() if name == "RUN" and "pip install" in text)
    make, _, install = pip.partition("&&")
    assert "--constraint constraints.txt" in install
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    (tmp_path / "requirements.lock").write_text(lock)
    subprocess.run(["sh", "-c", make], cwd=tmp_path, check=True)
    fixed = (tmp_path / "constraints.txt").read_text("utf-8").splitlines()
    assert "pyspark==4.2.0" in fixed
    assert len(fixed) == len(re.findall(r"^[\w-]+==", lock, re.MULTILINE))
    assert not any("\\" in line or "--hash" in line for line in fixed)


def test_what_the_image_copies_is_in_the_clone():
    for name, text in instructions():
        if name == "COPY":
            assert all((ROOT / source).exists() for source in text.split()[:-1]), text


def test_resources_have_distinct_names_and_a_version():
    assert {each["apiVersion"] for each in RESOURCES} == {"v1", "apps/v1"}
    names = [(each["kind"], each["metadata"]["name"]) for each in RESOURCES]
    assert len(names) == len(set(names))


@each_deployment
def test_a_deployment_selects_its_own_pods_and_limits_their_memory(deployment):
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    for container in pod_of(deployment)["containers"]:
        assert re.fullmatch(r"millstream:\d+\.\d+\.\d+", container["image"])
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]


@each_deployment
def test_mounted_volumes_are_claims_that_are_made(deployment):
    claims = {
        each["metadata"]["name"] for each in RESOURCES if each["kind"] == "PersistentVolumeClaim"
    }
    pod = pod_of(deployment)
    volumes = {each["name"]: each["persistentVolumeClaim"] for each in pod.get("volumes", ())}
    assert {each["claimName"] for each in volumes.values()} <= claims
    for container in pod["containers"]:
        assert {each["name"] for each in container.get("volumeMounts", ())} <= volumes.keys()


def test_services_find_pods():
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in DEPLOYMENTS]
    for each in RESOURCES:
        if each["kind"] == "Service":
            assert each["spec"]["selector"] in labels


def test_the_job_runs_once_with_options_that_the_command_has():
    (job,) = (each for each in DEPLOYMENTS if each["metadata"]["name"] == "team-scores")
    assert job["spec"]["replicas"] == 1
    assert job["spec"]["strategy"] == {"type": "Recreate"}
    (container,) = pod_of(job)["containers"]
    assert container["command"][2:4] == ["millstream", "run"]
    known = {o for p in typer.main.get_command(app).commands["run"].params for o in p.opts}
    assert {argument.partition("=")[0] for argument in container["args"]} <= known
    settings = dict(a.split("=", 2)[1:] for a in container["args"] if a.startswith("--conf="))
    (service,) = (
        each for each in RESOURCES
        if each["kind"] == "Service" and each["metadata"]["name"] == settings["spark.driver.host"]
    )  # fmt: skip
    ports = {str(each["port"]) for each in service["spec"]["ports"]}
    assert ports == {settings["spark.driver.port"], settings["spark.driver.blockManager.port"]}
    masters = {a.partition("=")[2] for a in container["args"] if a.startswith("--master=")}
    (worker,) = (each for each in DEPLOYMENTS if each["metadata"]["name"] == "spark-worker")
    assert masters == {pod_of(worker)["containers"][0]["args"][-1]}
