"""Prints a software bill of materials, CycloneDX 1.5 in JSON: python3 scripts/bill-of-materials.py > bill-of-materials.json

It lists every crate that this platform compiles and every wheel of scripts/libtorch-cpu.txt and libtorch-cuda.txt, each with its
checksum and scope. Crates that only tests and benchmarks take are `excluded`, the wheels for GPUs `optional`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def shipped(metadata: dict) -> set[str]:
    """Ids of the crates that a build of the workspace takes, those of tests and benchmarks left out."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    tests = {package["id"] for package in metadata["packages"] if package["name"] == "workspace-tests"}
    waiting, reached = [member for member in metadata["workspace_members"] if member not in tests], set()
    while waiting:
        crate = waiting.pop()
        if crate not in reached:
            reached.add(crate)
            kinds = ((link["pkg"], {kind["kind"] for kind in link["dep_kinds"]}) for link in nodes[crate]["deps"])
            waiting += [name for name, kind in kinds if kind != {"dev"}]
    return reached


def hashes(checksum: str) -> dict:
    return {"hashes": [{"alg": "SHA-256", "content": checksum}]} if checksum else {}


def crates(metadata: dict) -> list[dict]:
    entry = re.compile(r'name = "(.+)"\nversion = "(.+)"\n(?:source = .+\n)?(?:checksum = "(.+)")?')
    locked = entry.findall((ROOT / "Cargo.lock").read_text())
    checksums = {(name, version): checksum for name, version, checksum in locked}
    taken, members = shipped(metadata), set(metadata["workspace_members"])
    components = []
    for package in metadata["packages"]:
        name, version = package["name"], package["version"]
        # Crates of the workspace come from no registry, so no address names them.
        place = {} if package["id"] in members else {"purl": f"pkg:cargo/{name}@{version}"}
        licence = package["license"] and package["license"].replace("/", " OR ")
        components.append({
            "type": "application" if any("bin" in target["kind"] for target in package["targets"]) else "library",
            "bom-ref": f"{name}@{version}",
            "name": name,
            "version": version,
            **place,
            **({"licenses": [{"expression": licence}]} if licence else {}),
            **hashes(checksums[name, version]),
            "scope": "required" if package["id"] in taken else "excluded",
        })
    return components


def wheels() -> list[dict]:
    components = []
    for name, scope in (("libtorch-cpu.txt", "required"), ("libtorch-cuda.txt", "optional")):
        text = (ROOT / "scripts" / name).read_text()
        for wheel, version, checksum in re.findall(r"^(\S+)==(\S+) --hash=sha256:([0-9a-f]{64})", text, re.MULTILINE):
            purl = f"pkg:pypi/{wheel}@{version}"
            components.append({"type": "library", "bom-ref": purl, "name": wheel, "version": version, "purl": purl,
                               **hashes(checksum), "scope": scope})
    return components


def main() -> None:
    platform = re.search(r"host: (.+)", output("rustc", "-vV"))[1]
    options = ["--format-version", "1", "--locked", "--all-features", "--filter-platform", platform]
    metadata = json.loads(output("cargo", "metadata", *options))
    names = {package["id"]: f"{package['name']}@{package['version']}" for package in metadata["packages"]}
    nodes = metadata["resolve"]["nodes"]
    version = next(package["version"] for package in metadata["packages"] if package["name"] == "llm-trainer")
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "llm-trainer workspace", "version": version}},
        "components": sorted(crates(metadata) + wheels(), key=lambda component: component["bom-ref"]),
        "dependencies": sorted(({"ref": names[node["id"]], "dependsOn": sorted(names[name] for name in node["dependencies"])}
                                for node in nodes), key=lambda node: node["ref"]),
    }
    json.dump(bill, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
