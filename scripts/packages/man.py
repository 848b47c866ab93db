#!/usr/bin/python3
"""Writes the manual pages from what the program says of itself: the same tables as --help.

    man.py BINARY FOLDER DATE

FOLDER/man1 gets ironbark(1) and a page for each of its commands, FOLDER/man8 gets slapd(8) and its tools.
"""

import os
import re
import subprocess
import sys
import tempfile

TOOLS = {
    "slapd": "LDAP server",
    "slapacl": "check access to attributes by the access rules",
    "slapadd": "load LDIF into a database that no server uses",
    "slapauth": "check identities of SASL and who may act for whom",
    "slapcat": "write a database as LDIF",
    "slapdn": "check names by the schema",
    "slapindex": "build the indexes of a database anew",
    "slapmodify": "change a database that no server uses, by LDIF",
    "slappasswd": "hash a password",
    "slapschema": "check the entries of a database by the schema",
    "slaptest": "check a configuration",
}

OF_TOOLS = """This is OpenLDAP's program of the same name, run by Ironbark. It takes the same options and reads the same
files; ironbark(1) is the program behind it, which chooses by the name of the call. "ironbark {name}" is the same."""

FILES = """/etc/ldap/slapd.d, /etc/ldap/slapd.conf: the configuration.
/usr/share/doc/ironbark: the documentation; settings.md has every setting."""


def call(binary, arguments, name="ironbark"):
    """What the program says, with the width of a page. The name of the call chooses the program."""
    with tempfile.TemporaryDirectory() as folder:
        link = os.path.join(folder, name)
        os.symlink(os.path.abspath(binary), link)
        environment = dict(os.environ, COLUMNS="80", LC_ALL="C.UTF-8")
        done = subprocess.run([link, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    return (done.stdout + done.stderr).decode().replace(folder + "/", "")


def roff(text):
    """Text with roff's special characters escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def literal(text):
    return ".nf\n" + roff(text.rstrip("\n")) + "\n.fi\n"


def options(lines):
    """clap's two columns, or its option and paragraph below, as tagged paragraphs."""
    out, tag, words = [], None, []

    def flush():
        if tag is not None:
            out.append(f".TP\n.B {roff(tag)}\n{roff(' '.join(words)) or '&'}\n")

    for line in lines:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        # Tags stand at the left; what is far to the right goes on.
        if indent <= 6 and (line.lstrip().startswith(("-", "<", "[")) or indent == 2):
            flush()
            tag, *rest = re.split(r"\s{2,}", line.strip(), maxsplit=1)
            words = list(rest)
        else:
            words.append(line.strip())
    flush()
    return "".join(out)


def head(name, section, date, what):
    return (
        f".TH {name.upper()} {section} {date} Ironbark \"Ironbark's manual\"\n"
        f".SH NAME\n{roff(name)} \\- {roff(what)}\n"
    )


def write(folder, name, section, text):
    path = os.path.join(folder, f"man{section}")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, f"{name}.{section}"), "w", encoding="utf-8") as page:
        page.write(text)


def command_page(binary, folder, date, words, names):
    """The page of one command, and those of its own commands."""
    parts, title = {"": []}, ""
    for line in call(binary, [*words, "--help"]).splitlines():
        heading = re.fullmatch(r"(Usage|[A-Z][a-z]+(?=:$)):(.*)", line)
        if heading:
            title = heading.group(1)
            parts[title] = [heading.group(2)] if heading.group(2).strip() else []
        else:
            parts[title].append(line)
    about = "\n".join(parts.pop("")).strip()
    name = "-".join(["ironbark", *words])
    first = " ".join(about.split("\n\n")[0].split()).split(": ")[0].split(". ")[0].rstrip(".")
    page = head(name, 1, date, first[:1].lower() + first[1:])
    page += ".SH SYNOPSIS\n" + literal("\n".join(line.strip() for line in parts.pop("Usage", [])))
    page += ".SH DESCRIPTION\n" + roff(about).replace("\n\n", "\n.PP\n") + "\n"
    for title, lines in parts.items():
        shown = literal("\n".join(line.strip() for line in lines).strip()) if title == "Examples" else options(lines)
        page += f".SH {title.upper()}\n{shown}"
        # The first page has its commands in groups.
        if title == "Commands" or (not words and title not in ("Examples", "Options")):
            for line in lines:
                found = re.match(r"  ([a-z][a-z0-9-]*)(\s|$)", line)
                if found and found.group(1) not in ("help", "slapd"):
                    command_page(binary, folder, date, [*words, found.group(1)], names)
    page += f".SH FILES\n{literal(FILES)}.SH SEE ALSO\nslapd(8), slapadd(8), slapcat(8)\n"
    names.append(name)
    write(folder, name, 1, page)


def tool_page(binary, folder, date, name, what):
    usage = call(binary, ["-?"], name)
    start = usage.find("usage:")
    if start < 0:
        sys.exit(f"man.py: {name} has no usage:\n{usage}")
    page = head(name, 8, date, what)
    page += ".SH SYNOPSIS\n" + literal(usage[start + len("usage:") :].strip().expandtabs(8))
    page += ".SH DESCRIPTION\n" + roff(OF_TOOLS.format(name=name)) + "\n"
    others = ", ".join(f"{other}(8)" for other in TOOLS if other != name)
    page += f".SH FILES\n{literal(FILES)}.SH SEE ALSO\nironbark(1), {others}\n"
    write(folder, name, 8, page)


def main():
    binary, folder, date = sys.argv[1:]
    names = []
    command_page(binary, folder, date, [], names)
    if "ironbark-init" not in names:
        sys.exit("man.py: the commands of ironbark --help are not understood")
    for name, what in TOOLS.items():
        tool_page(binary, folder, date, name, what)


if __name__ == "__main__":
    main()
