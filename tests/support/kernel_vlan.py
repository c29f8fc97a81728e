"""The kernel behind an interface in a VLAN, by two BPF programs at it: not every kernel has 802.1Q devices.

They call the kernel's own bpf_skb_vlan_push and bpf_skb_vlan_pop (bpf-helpers(7)), on the way out and on the way in.
"""

import ctypes
import os
import socket
import struct

SCHED_CLS = 3
"""BPF_PROG_TYPE_SCHED_CLS of <linux/bpf.h>."""
VLAN_PUSH, VLAN_POP = 18, 19
"""Helpers' numbers, ibid."""
TAG_IN_SKB = 24
"""Where vlan_tci stands in struct __sk_buff."""
PASS, DROP = 0, 2
"""TC_ACT_OK and TC_ACT_SHOT."""
TYPE_OF_TAG = 0x0081
"""0x8100 in network byte order."""

SET, AND, LOAD, SKIP_IF_EQUAL, CALL, EXIT = 0xB7, 0x57, 0x61, 0x15, 0x85, 0x95


def step(code: int, registers: int = 0, offset: int = 0, value: int = 0) -> bytes:
    """One instruction; `registers`: the source's number in the high half, the target's in the low one."""
    return struct.pack("<BBhi", code, registers, offset, value)


def tagging(number: int) -> bytes:
    arguments = step(SET, 2, value=TYPE_OF_TAG) + step(SET, 3, value=number)
    return arguments + step(CALL, value=VLAN_PUSH) + step(SET, value=PASS) + step(EXIT)


def untagging(number: int) -> bytes:
    """Whatever has another tag or none is dropped."""
    is_ours = step(LOAD, 0x12, TAG_IN_SKB) + step(AND, 2, value=0xFFF) + step(SKIP_IF_EQUAL, 2, 2, number)
    drop = step(SET, value=DROP) + step(EXIT)
    return is_ours + drop + step(CALL, value=VLAN_POP) + step(SET, value=PASS) + step(EXIT)


class Hook(ctypes.Structure):
    """struct bpf_tc_hook of <bpf/libbpf.h>."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("interface", ctypes.c_int),
        ("way", ctypes.c_int),
        ("parent", ctypes.c_uint32),
    ]


class Options(ctypes.Structure):
    """struct bpf_tc_opts, ibid."""

    _fields_ = [("size", ctypes.c_size_t), ("program", ctypes.c_int)] + [
        (name, ctypes.c_uint32) for name in ("flags", "program_id", "handle", "priority")
    ]


IN, OUT = 1, 2
"""BPF_TC_INGRESS and BPF_TC_EGRESS, ibid."""


def join(interface: str, number: int) -> None:
    """Whatever the kernel sends there has this tag from now on, and it receives nothing else. Raises OSError."""
    libbpf = ctypes.CDLL("libbpf.so.1")
    for way, program in ((OUT, tagging(number)), (IN, untagging(number))):
        steps = ctypes.c_size_t(len(program) // len(step(EXIT)))
        loaded = done(libbpf.bpf_prog_load(SCHED_CLS, b"vlan", b"GPL", program, steps, None))
        hook = Hook(ctypes.sizeof(Hook), socket.if_nametoindex(interface), way)
        options = Options(ctypes.sizeof(Options), loaded)
        if way == OUT:
            done(libbpf.bpf_tc_hook_create(ctypes.byref(hook)))  # for both ways
        done(libbpf.bpf_tc_attach(ctypes.byref(hook), ctypes.byref(options)))
        os.close(loaded)


def done(result: int) -> int:
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result
