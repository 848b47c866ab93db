#!/usr/bin/python3
"""Prints the crates that are linked into the program, each with its licence, and the texts of their licences.

    third_party.py [--target TRIPLE]
"""

import json
import os
import subprocess
import sys


def main():
    target = sys.argv[2:3]
    select = ["--filter-platform", target[0]] if target else []
    output = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked", *select], check=True, capture_output=True
    ).stdout
    metadata = json.loads(output)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(package["id"] for package in packages.values() if package["name"] == "ironbark-admin")
    linked, waiting = set(), [root]
    while waiting:
        identity = waiting.pop()
        if identity in linked:
            continue
        linked.add(identity)
        for dependency in nodes[identity]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    others = sorted(
        (packages[identity] for identity in linked if packages[identity]["source"]),
        key=lambda package: (package["name"], package["version"]),
    )
    print("Ironbark contains these crates:\n")
    for package in others:
        print(f"{package['name']} {package['version']}: {package['license']}")
    # Many crates have the same text.
    texts = {}
    for package in others:
        folder = os.path.dirname(package["manifest_path"])
        for file in sorted(os.listdir(folder)):
            if file.upper().startswith(("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")):
                path = os.path.join(folder, file)
                if os.path.isfile(path):
                    with open(path, encoding="utf-8", errors="replace") as text:
                        texts.setdefault(text.read().strip(), []).append(f"{package['name']} {package['version']}")
    for text, names in texts.items():
        print(f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n{text}")


if __name__ == "__main__":
    main()
