# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system of one file that stops answering: fuse_server.py MOUNT FILE [--sync]

Serves FILE as MOUNT/python3 and prints "ready". After a line on stdin it takes requests and does not answer
("hanging"): those that the line names ("read flush"), or all if it is empty. The requester then waits and cannot be
killed. Ends with its stdin, which aborts the connection.
Structs and numbers: include/uapi/linux/fuse.h, protocol 7.31. No extra packages.
"""
import ctypes
import os
import select
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, ACCESS, BATCH_FORGET = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 34, 42)
HANGS = {"read": READ, "flush": FLUSH}
ENOENT, ENOSYS = 2, 38
ROOT, FILE = 1, 2
NAME = b"python3"
VALID_S = 3600  # an executable must stay executable after the server went silent


def attr(node, size):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body, image):
    """Bytes, or an error number, or None for requests without a reply."""
    size = len(image) if node == FILE else 0
    if opcode == INIT:
        return struct.pack("<IIIIHHIIHHI", 7, 31, 65536, 0, 12, 10, 65536, 1, 32, 0, 0) + bytes(28)
    if opcode == LOOKUP and node == ROOT and body.rstrip(b"\0") == NAME:
        return struct.pack("<QQQQII", FILE, 0, VALID_S, VALID_S, 0, 0) + attr(FILE, len(image))
    if opcode == LOOKUP:
        return ENOENT
    if opcode == GETATTR:
        return struct.pack("<QII", VALID_S, 0, 0) + attr(node, size)
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<QII", 0, 0, 0)
    if opcode == READ:
        _, offset, length = struct.unpack_from("<QQI", body)
        return image[offset:offset + length]
    if opcode == STATFS:
        return struct.pack("<QQQQQIIII", 0, 0, 0, 0, 0, 4096, 255, 4096, 0) + bytes(24)
    if opcode in (RELEASE, FLUSH, ACCESS):
        return b""
    return None if opcode in (FORGET, BATCH_FORGET) else ENOSYS


def serve(device, image):
    hanging = frozenset()
    while True:
        for fd in select.select([device, 0], [], [])[0]:
            if fd == 0:
                line = os.read(0, 100).decode()
                if not line:
                    return
                hanging = frozenset(HANGS[word] for word in line.split()) or None
                print("hanging", flush=True)
                continue
            try:
                request = os.read(device, 1 << 20)
            except OSError:
                return  # unmounted
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            if hanging is None or opcode in hanging:
                continue
            reply = answer(opcode, node, request[40:], image)
            if isinstance(reply, int):
                os.write(device, struct.pack("<IiQ", 16, -reply, unique))
            elif reply is not None:
                os.write(device, struct.pack("<IiQ", 16 + len(reply), 0, unique) + reply)


def main():
    where, path = sys.argv[1:3]
    with open(path, "rb") as file:
        image = file.read()
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"panopy-test", where.encode(), b"fuse", 0, options.encode()):
        print(f"failed {os.strerror(ctypes.get_errno())}", flush=True)
        return
    print("ready", flush=True)
    try:
        serve(device, image)
    finally:
        libc.umount2(where.encode(), 2)  # MNT_DETACH


if __name__ == "__main__":
    main()
