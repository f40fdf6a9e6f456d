"""The client of the simulator's kubectl: arguments and standard input go in, text comes out."""

import json
import os
import socket
import sys

asked = {"arguments": sys.argv[1:], "input": sys.stdin.read() if "-" in sys.argv else ""}
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(os.environ["SIMULATOR_SOCKET"])
    connection.sendall(json.dumps(asked).encode() + b"\n")
    answer = json.loads(connection.makefile().readline())
sys.stdout.write(answer["output"])
sys.stderr.write(answer["error"])
sys.exit(answer["code"])
