#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the BTF of a kernel image (vmlinux, x86 bzImage, arm64 Image) as a raw file.

    extract_btf.py IMAGE OUTPUT
"""
import subprocess
import sys

# struct btf_header: magic 0xeb9f, version 1, flags 0, hdr_len 24 (include/uapi/linux/btf.h of Linux 6.1)
BTF_MAGIC = b"\x9f\xeb\x01\x00\x18\x00\x00\x00"


# The compressions that Linux 5.10 to 6.18 offers and Debian has used, by their first bytes.
UNPACKERS = {
    b"\x1f\x8b": ["gzip", "-dcq"],
    b"\xfd7zXZ": ["xz", "-dcq", "--single-stream"],
    b"\x28\xb5\x2f\xfd": ["zstd", "-dcq"],
    b"\x02\x21\x4c\x18": ["lz4", "-dcq"],
}


def unpacked(image):
    """The ELF image inside an x86 bzImage; any other image as it is."""
    if image[0x202:0x206] != b"HdrS":
        return image
    # payload_offset and payload_length: boot protocol 2.08, Documentation/arch/x86/boot.rst
    setup_sectors = image[0x1F1] or 4
    start = (setup_sectors + 1) * 512 + int.from_bytes(image[0x248:0x24C], "little")
    payload = image[start:start + int.from_bytes(image[0x24C:0x250], "little")]
    for magic, command in UNPACKERS.items():
        if payload.startswith(magic):
            # The unpacked size that follows the stream makes some tools complain after they wrote everything.
            return subprocess.run(command, input=payload, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    sys.exit("extract_btf: this kernel's compression is not known")


def btf_of(data):
    """The largest well-formed BTF blob: modules and BPF preload images carry small ones."""
    best = b""
    start = data.find(BTF_MAGIC)
    while start >= 0:
        header = data[start + 8:start + 24]
        if len(header) == 16:
            type_off, type_len, str_off, str_len = (int.from_bytes(header[i:i + 4], "little") for i in (0, 4, 8, 12))
            size = 24 + str_off + str_len
            if type_off == 0 and str_off >= type_len and start + size <= len(data) and size > len(best):
                best = data[start:start + size]
        start = data.find(BTF_MAGIC, start + 1)
    return best


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        image = file.read()
    btf = btf_of(unpacked(image))
    if len(btf) < 1 << 20:
        sys.exit(f"extract_btf: {sys.argv[1]} holds no kernel BTF")
    with open(sys.argv[2], "wb") as file:
        file.write(btf)


if __name__ == "__main__":
    main()
