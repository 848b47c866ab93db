"""Clients that follow a provider by content synchronization (RFC 4533, refreshAndPersist), and throw away what they get."""

import selectors
import socket

from wire import EVERYTHING, Client, control, enumerated, octets, search, tlv

SYNC_REQUEST = "1.3.6.1.4.1.4203.1.9.1.1"


class Followers:
    def __init__(self, server, count, stopped=0):
        """They have all that the server has now; some never read again."""
        self.selector, self.clients = selectors.DefaultSelector(), []
        cookie = b",csn=" + b";".join(sorted(server.vector()))
        for number in range(count):
            client = Client(server.port, f"cn=admin,{server.suffix}")
            wanted = tlv(0x30, enumerated(3), octets(b"rid=%03d" % number + cookie))
            client.socket.sendall(search(2, server.suffix, 2, EVERYTHING, ["*", "+"], control(SYNC_REQUEST, wanted)))
            client.read()  # The end of the refresh.
            if number < stopped:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            else:
                self.selector.register(client.socket, selectors.EVENT_READ, client)
            client.socket.setblocking(False)
            client.tail = b""
            self.clients.append(client)
        self.reading = count - stopped

    def receive(self, until):
        """Reads until the condition holds; it is asked after each round."""
        while not until():
            for key, _ in self.selector.select(0.001):
                received = key.data.socket.recv(1 << 20)
                assert received, "the server has closed a connection"
                key.data.tail = key.data.tail[-100:] + received

    def receive_all(self, newest):
        """Reads until each has the change of this CSN, the newest one."""
        waiting = set(key.data for key in self.selector.get_map().values())

        def done():
            waiting.difference_update([client for client in waiting if newest in client.tail])
            return not waiting

        self.receive(done)

    def close(self):
        for client in self.clients:
            client.socket.close()
