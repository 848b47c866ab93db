"""Servers of the part replication: a provider on core 0, a consumer on core 1 with everything else."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from wire import EVERYTHING, Client, enumerated, message, octets, search, thread_seconds, tlv

FOLDER = Path(os.environ["FOLDER"])
IRONBARK = os.environ["IRONBARK"]
PORT = int(os.environ["PORT"])
ENTRIES = int(os.environ["ACCOUNTS"])
PATIENCE_S = 600
CSN = re.compile(rb"\d{14}\.\d{6}Z#[0-9a-f]{6}#[0-9a-f]{3}#[0-9a-f]{6}")
INDEXES = {
    "telco": "index objectClass,imsi,msisdn,entryCSN,entryUUID eq\n",
    "zimbra": "".join(line for line in open("data/zimbra.slapd.conf") if line.startswith("index ")),
}
DELTA = 'syncdata=accesslog logbase=cn=log logfilter="(&(objectClass=auditWriteObject)(reqResult=0))"'
# slapd keeps its session log in memory. It is long enough for all that a consumer misses here; we need none.
SYNCPROV = "overlay syncprov\nsyncprov-checkpoint 1000 1\nsyncprov-sessionlog 200000\n"
LOG = "overlay accesslog\nlogdb cn=log\nlogops writes\nlogsuccess TRUE\n"


class Overdue(Exception):
    """What was waited for has not come."""


def until(condition, patience=PATIENCE_S):
    """The first answer that is something, and seconds until it came."""
    start = time.perf_counter()
    while not (found := condition()):
        if time.perf_counter() - start > patience:
            raise Overdue
        time.sleep(0.0002)
    return found, time.perf_counter() - start


class Server:
    """A server of a kind, `slapd` or `ironbark`, with one database `o=SET`."""

    running = []

    def __init__(self, kind, role, data="telco"):
        self.kind, self.data, self.suffix = kind, data, f"o={data}"
        self.is_provider = role == "provider"
        self.folder = FOLDER / kind / "replication" / role
        self.port = PORT + (kind == "ironbark") * 2 + (not self.is_provider)
        self.url = f"ldap://127.0.0.1:{self.port}/"
        self.process = None

    def configure(self, overlays="", follows=None, words=""):
        """Writes slapd.conf: with these lines of the database, or as a consumer of that server."""
        schema = (f"include {os.getcwd()}/schema/{name}.schema" for name in ("core", "cosine", "inetorgperson", "zimbra", "telco"))
        text = "loglevel none\nsizelimit unlimited\ntimelimit unlimited\n" + "\n".join(schema) + "\n"
        text += f"serverID {1 if self.is_provider else 2}\n" if self.kind == "ironbark" or self.is_provider else ""
        if self.kind == "slapd":
            text += "modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload syncprov\nmoduleload accesslog\nthreads 16\n"
        text += self.database("db", self.suffix) + INDEXES[self.data] + overlays
        if LOG in overlays:
            text += self.database("log", "cn=log", self.suffix) + "index objectClass,entryCSN,reqStart,reqResult,reqDN eq\n"
            text += "overlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE\n"
        if follows:
            text += f"syncrepl rid=001 provider={follows.url} bindmethod=simple binddn=cn=admin,{self.suffix} credentials=secret "
            text += f'searchbase={self.suffix} type=refreshAndPersist retry="1 +" {words}\nupdateref {follows.url}\n'
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "slapd.conf").write_text(text)

    def database(self, folder, suffix, owner=None):
        (self.folder / folder).mkdir(parents=True, exist_ok=True)
        text = f"database mdb\nsuffix {suffix}\nrootdn cn=admin,{owner or suffix}\ndirectory {self.folder / folder}\nmaxsize 8589934592\n"
        flags = os.environ["ENVFLAGS"]
        return text + (f"envflags {flags}\n" if flags else "") + ("" if owner else "rootpw secret\n")

    def empty(self):
        for folder in ("db", "log"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        return self

    def copy(self, origin):
        """Has the content of another server, which does not run."""
        self.empty()
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", "--sparse=always", origin.folder / "db", self.folder / "db"], check=True)
        return self

    def fill(self, ldif):
        tool = "/usr/sbin/slapadd" if self.kind == "slapd" else str(FOLDER / "ironbark" / "slapadd")
        self.empty().configure(SYNCPROV)
        subprocess.run([tool, "-q", "-w", "-f", self.folder / "slapd.conf", "-b", self.suffix, "-l", ldif], check=True)

    def start(self):
        """Returns when it answers."""
        program = "/usr/sbin/slapd" if self.kind == "slapd" else str(FOLDER / "ironbark" / "slapd")
        core = "0" if self.is_provider else "1"
        arguments = ["taskset", "-c", core, program, "-d", "0", "-h", self.url, "-f", self.folder / "slapd.conf"]
        with open(self.folder / "output", "w") as output:
            self.process = subprocess.Popen(arguments, stdout=output, stderr=output)
        Server.running.append(self)
        until(self.answers, 60)
        return self

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.url} has ended: " + (self.folder / "output").read_text())
        try:
            self.client = Client(self.port, f"cn=admin,{self.suffix}")
        except (ConnectionError, EOFError):
            return False
        return True

    def stop(self):
        Server.running.remove(self)
        self.client.socket.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def seconds(self):
        """Of the processor."""
        return thread_seconds(self.process.pid)

    def private_kb(self):
        """Memory beside the page cache."""
        lines = open(f"/proc/{self.process.pid}/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    def vector(self):
        """The CSNs of contextCSN; none before there is content."""
        return set(CSN.findall(self.read(self.suffix, "contextCSN")))

    def read(self, name, attribute):
        """An attribute of an entry, as it comes."""
        self.client.socket.sendall(search(7, name, 0, EVERYTHING, [attribute]))
        content = b""
        while (answer := self.client.read())[0] != 0x65:
            content = answer[1]
        return content

    def replace(self, name, attribute, value):
        change = tlv(0x30, enumerated(2), tlv(0x30, octets(attribute), tlv(0x31, octets(value))))
        self.client.socket.sendall(message(8, tlv(0x66, octets(name), tlv(0x30, change))))
        _, content = self.client.read()
        assert content[2] == 0, content

    def load(self, *arguments, background=False):
        """Modifications of random entries by `ironbark load`; the result, or its process and file."""
        output = self.folder / "load.json"
        command = ["taskset", "-c", "1", IRONBARK, "load", "telco", "modify", "-H", self.url, "-D", f"cn=admin,{self.suffix}", "-w", "secret"]
        command += ["--suffix", self.suffix, "--entries", str(ENTRIES), "-o", str(output), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        if background:
            return process, output
        assert process.wait() == 0, "not all writes were answered well"
        return json.loads(output.read_text())["points"][0]


    def replay(self, count):
        """Seconds for so many modifications on one connection."""
        changes = FOLDER / f"{self.data}.changes.ldif"
        about = ["--data", self.data, "--suffix", self.suffix, "--entries", str(ENTRIES), "--count", str(count)]
        subprocess.run([IRONBARK, "load", "changes", *about, "-o", changes], check=True, stdout=subprocess.DEVNULL)
        command = ["taskset", "-c", "1", IRONBARK, "load", "replay", changes, "-H", self.url, "-D", f"cn=admin,{self.suffix}", "-w", "secret"]
        start = time.perf_counter()
        subprocess.run([*command, "-c", "1"], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start

    def received_from(self, other):
        """Octets that came on connections to the other server."""
        lines = subprocess.run(["ss", "-tinpHO", f"dport = :{other.port}"], check=True, capture_output=True, text=True).stdout
        own = (line for line in lines.splitlines() if f"pid={self.process.pid}," in line)
        return sum(int(found) for line in own for found in re.findall(r"bytes_received:(\d+)", line))


def stop_all():
    for server in list(Server.running):
        server.stop()


def converge(provider, consumer, patience=PATIENCE_S):
    """Seconds until the consumer has all that the provider has now."""
    newest = max(provider.vector())
    return until(lambda: newest in consumer.vector(), patience)[1]
