# Tries what no program may do; says after the token which of it went well.
import os, sys

os.closerange(3, 4096)
import json, socket

job = json.loads(sys.stdin.read())


def works(action):
    try:
        action()
    except OSError:
        return False
    return True


def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


open("own", "w").write("x")
attempts = {
    "read files of others": lambda: open(job["outside"]).close(),
    "write files of others": lambda: open(job["outside"], "a").close(),
    "change modes of files": lambda: os.chmod(job["outside"], 0o600),
    "open sockets": lambda: socket.socket().close(),
    "start processes": fork,
    "send signals": lambda: os.kill(os.getppid() or 1, 0),
}
print(job["token"] + ", ".join(name for name, action in attempts.items() if works(action)))
