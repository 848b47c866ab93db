#!/usr/bin/env python3
"""The documents as a site with a search: target/docs/index.html, made by mdBook (`make docs`).

README.md is the first page. The pages are those that its links lead to, directly or through others: first those of
its table `Further reading`, then the rest. `cargo xtask tidy` checks that each page of docs/ is linked.
"""
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORK, SITE = ROOT / "target" / "docs-source", ROOT / "target" / "docs"
LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")
REPOSITORY = re.search(r'(?m)^repository = "(.*)"', (ROOT / "Cargo.toml").read_text())[1]
BOOK = """[book]
title = "Ironbark"
src = "src"

[build]
build-dir = "../docs"
create-missing = false

[output.html]
no-section-label = true
"""


def linked(page):
    """The files that the links of a page lead to, in their order."""
    text = re.sub(r"(?ms)^```.*?^```", "", (ROOT / page).read_text())
    if page == "README.md":
        before, table = text.split("## Further reading", 1)
        text = table + before
    folder = os.path.dirname(page)
    return [os.path.normpath(os.path.join(folder, match[1])) for match in LINK.finditer(text)]


def reachable():
    """The pages in the order of the site, and the other files that they link."""
    pages, others = ["README.md"], []
    for page in pages:
        for target in linked(page):
            known = pages if target.endswith(".md") else others
            if target not in known and (ROOT / target).is_file():
                known.append(target)
    return pages, others


def placed(path):
    """mdBook makes index.html of README.md, and must find it by that name in links."""
    return re.sub(r"README\.md$", "index.md", path)


def title(page):
    heading = re.search(r"(?m)^# (.*)$", (ROOT / page).read_text())
    return re.sub(r"[`*]", "", heading[1])


def address(page, link):
    """A link as the site has it: a folder has no page, and is shown where the sources are."""
    path = os.path.normpath(os.path.join(os.path.dirname(page), link[1]))
    if (ROOT / path).is_dir():
        return f"]({REPOSITORY}/tree/main/{path})"
    return f"]({placed(link[1])}{link[2] or ''})"


def written(page):
    return LINK.sub(lambda link: address(page, link), (ROOT / page).read_text())


def write_source(pages, others):
    shutil.rmtree(WORK, ignore_errors=True)
    for path in pages + others:
        target = WORK / "src" / placed(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path in pages:
            target.write_text(written(path))
        else:
            shutil.copy(ROOT / path, target)
    inside = [page for page in pages if page.startswith("docs/internals/")]
    using = [page for page in pages if page not in inside]
    summary = ["# Summary", ""]
    summary += [f"- [{title(page)}]({placed(page)})" for page in using]
    summary += ["", "# Internals", ""] + [f"- [{title(page)}]({placed(page)})" for page in inside]
    (WORK / "src" / "SUMMARY.md").write_text("\n".join(summary) + "\n")
    (WORK / "book.toml").write_text(BOOK)


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.addresses, self.names = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value and not re.match(r"[a-z]+:|//", value):
                self.addresses.append(value)
            elif name == "id":
                self.names.add(value)


def dead_links(pages):
    """Links of the made pages that lead to no file or no place of a file."""
    parsed = {}
    for file in SITE.rglob("*.html"):
        parsed[file] = Links()
        parsed[file].feed(file.read_text())
    for page in pages:
        file = (SITE / placed(page)).with_suffix(".html")
        for address in parsed[file].addresses:
            path, _, name = address.partition("#")
            target = (file.parent / path).resolve() if path else file
            if not target.is_file() or (name and target in parsed and name not in parsed[target].names):
                yield f"{page}: {address}"


def main(mdbook):
    pages, others = reachable()
    write_source(pages, others)
    subprocess.run([mdbook, "build", str(WORK)], check=True)
    dead = list(dead_links(pages))
    print("\n".join(dead) or f"target/docs/index.html: {len(pages)} pages")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
