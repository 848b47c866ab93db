"""As much LDAP as the benchmarks speak, and what /proc says of a process."""

import os
import socket

PATIENCE = 60
ENTRY, DONE, BIND_DONE = 0x64, 0x65, 0x61


def tlv(tag, *parts):
    content = b"".join(parts)
    length = len(content)
    if length < 128:
        return bytes([tag, length]) + content
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + content


def octets(text):
    return tlv(4, text if isinstance(text, bytes) else text.encode())


def integer(number, tag=2):
    return tlv(tag, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def enumerated(number):
    return integer(number, 10)


def message(number, operation, controls=b""):
    return tlv(0x30, integer(number), operation, tlv(0xA0, controls) if controls else b"")


def control(oid, value):
    return tlv(0x30, octets(oid), octets(value))


def search(number, base, scope, wanted, names=(), controls=b""):
    limits = enumerated(0) + integer(0) + integer(0) + b"\x01\x01\0"
    request = tlv(0x63, octets(base), enumerated(scope), limits, wanted, tlv(0x30, *map(octets, names)))
    return message(number, request, controls)


EVERYTHING = tlv(0x87, b"objectClass")


class Client:
    def __init__(self, port, name=None):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        if name:
            self.socket.sendall(message(1, tlv(0x60, integer(3), octets(name), tlv(0x80, b"secret"))))
            tag, content = self.read()
            assert tag == BIND_DONE and content[2] == 0, content

    def need(self, count):
        while len(self.received) < count:
            more = self.socket.recv(1 << 20)
            if not more:
                raise EOFError
            self.received += more

    def header(self, at):
        """Length of the content of the element at a place, and where that begins."""
        self.need(at + 2)
        length, start = self.received[at + 1], at + 2
        if length & 0x80:
            start += length & 0x7F
            self.need(start)
            length = int.from_bytes(self.received[at + 2 : start], "big")
        return length, start

    def read(self):
        length, start = self.header(0)
        self.need(start + length)
        number, content = self.header(start)
        operation = content + number
        tag = self.received[operation]
        _, content = self.header(operation)
        found = tag, self.received[content : start + length]
        self.received = self.received[start + length :]
        return found

    def results(self, count):
        """Result codes, entries and octets."""
        self.socket.settimeout(PATIENCE)
        codes, entries, size = [], 0, 0
        try:
            while len(codes) < count:
                tag, content = self.read()
                size += len(content)
                entries += tag == ENTRY
                if tag == DONE:
                    codes.append(content[2])
        except (OSError, EOFError) as error:
            codes.append(type(error).__name__)
        return sorted(set(codes), key=str), entries, size


def processor_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def thread_seconds(pid):
    """The same of all threads that there are, to the nanosecond."""
    files = (f"/proc/{pid}/task/{thread}/schedstat" for thread in os.listdir(f"/proc/{pid}/task"))
    return sum(int(open(file).read().split()[0]) for file in files) / 1e9


def memory(pid):
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS")) // 1024
