"""socket_sink.py PORT CPU: on that CPU reads TCP connections to their ends, one after the other, and looks at no byte.

bench/streams.py starts it in the network namespace that its streams and the kernel's go to.
"""

import os
import socketserver
import sys

RECEIVE = 1 << 20


class Sink(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        buffer = bytearray(RECEIVE)
        while self.request.recv_into(buffer):
            pass


if __name__ == "__main__":
    port, cpu = map(int, sys.argv[1:])
    os.sched_setaffinity(0, {cpu})
    socketserver.TCPServer.allow_reuse_address = True
    with socketserver.TCPServer(("", port), Sink) as server:
        print("listening", flush=True)
        server.serve_forever()
