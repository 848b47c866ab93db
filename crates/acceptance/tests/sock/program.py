"""A program behind `database sock` and `overlay sock`, for tests: notes each request as it comes, and answers as it is
told.

    program.py SOCKET NOTES REPLIES

REPLIES holds blocks that end with a line `===`: a regular expression on the first line, then the answer to requests that
it is found in. The first block that fits is taken. An answer `!hang` is none until the server closes; `!endless TEXT`
is TEXT again and again; `!close` closes at once.
"""

import os
import re
import socket
import sys
import threading

path, notes, replies = sys.argv[1:]
lock = threading.Lock()
# What has no answer. As a message of an overlay, RESULT has none.
SILENT = (b"UNBIND\n", b"RESULT\n", b"ENTRY\n")


def answer_to(request):
    with open(replies, "rb") as file:
        for block in file.read().split(b"\n===\n"):
            if block:
                expression, _, answer = block.partition(b"\n")
                if re.search(expression, request, re.S):
                    return answer + b"\n"
    return b"RESULT\ncode: 0\n"


def read(connection):
    """Requests are read, and noted, in the order in which they come."""
    request = b""
    while not request.endswith(b"\n\n"):
        octets = connection.recv(65536)
        if not octets:
            break
        request += octets
    with lock, open(notes, "ab") as file:
        file.write(request + b"-- end\n")
    return request


def serve(connection, request):
    answer = answer_to(request)
    try:
        if answer.startswith(b"!hang"):
            connection.recv(1)
            with lock, open(notes, "ab") as file:
                file.write(b"-- given up\n")
        elif answer.startswith(b"!endless "):
            while True:
                connection.sendall(answer[9:-1].replace(b"\\n", b"\n"))
        elif not answer.startswith(b"!close") and not request.startswith(SILENT):
            connection.sendall(answer)
    except OSError:
        with lock, open(notes, "ab") as file:
            file.write(b"-- given up\n")
    connection.close()


listener = socket.socket(socket.AF_UNIX)
listener.bind(path + ".new")
listener.listen(5)
os.rename(path + ".new", path)
while True:
    accepted, _ = listener.accept()
    threading.Thread(target=serve, args=(accepted, read(accepted)), daemon=True).start()
