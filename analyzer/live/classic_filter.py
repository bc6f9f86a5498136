"""Compiles capture filters to programs of the kernel's classic BPF (Linux: Documentation/networking/filter.rst).

Theory. A program reads a packet and returns how many of its bytes to keep; 0 drops the packet. So one mechanism selects
packets, cuts them, and turns capturing off, and an unprivileged owner may replace it. libpcap (through scapy) compiles
an expression for a link layer. It cannot know two things, which are corrected here:

- A packet on a loopback interface passes twice, outgoing and incoming. The outgoing copy is dropped.
- A cooked socket gives the filter a packet from its network layer on. The fields before that must be requested from the
kernel. The expression is compiled for Linux's cooked header of 16 bytes (LINKTYPE 113), which has the same fields as
the longer header that is written. Loads from beyond that header are moved, and loads of its fields become requests to
the kernel.
"""

from __future__ import annotations

import ctypes
import logging
import re
import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analyzer.errors import CaptureError

if TYPE_CHECKING:
    from scapy.libs.structures import bpf_program

ETHERNET, RAW, COOKED = 1, 101, 113
"""LINKTYPEs that filters are compiled for."""

LONGEST = 1 << 18
"""Bytes of the largest packet: segmentation offload makes packets far larger than an MTU."""

LOAD_WORD, LOAD_HALF, LOAD_BYTE, RETURN, IF_EQUAL = 0x20, 0x28, 0x30, 0x06, 0x15
LOADS = {LOAD_WORD, LOAD_HALF, LOAD_BYTE, 0x40, 0x48, 0x50, 0xB1}
"""Opcodes that load from the packet: at a fixed offset, at an offset from the index register, and a header length times
four.
"""
ASK = 0xFFFFF000
ASK_PROTOCOL, ASK_KIND, ASK_HARDWARE = ASK + 0, ASK + 4, ASK + 28
OUTGOING, LOOPBACK = 4, 772
COOKED_HEADER = 16
COOKED_FIELDS = {0: ASK_KIND, 14: ASK_PROTOCOL}


@dataclass(frozen=True, slots=True)
class Instruction:
    """Holds an instruction: its opcode, the forward jumps if a comparison is true (yes) or false (no), its operand."""

    code: int
    yes: int = 0
    no: int = 0
    operand: int = 0


Program = tuple[Instruction, ...]

NOTHING: Program = (Instruction(RETURN),)
EVERYTHING: Program = (Instruction(RETURN, operand=LONGEST),)

_ONCE: Program = (
    Instruction(LOAD_HALF, operand=ASK_KIND),
    Instruction(IF_EQUAL, no=3, operand=OUTGOING),
    Instruction(LOAD_HALF, operand=ASK_HARDWARE),
    Instruction(IF_EQUAL, no=1, operand=LOOPBACK),
    Instruction(RETURN),
)


def make_program(expression: str, link: int, snaplen: int, interface: str | None = None) -> Program:
    """Returns a program that keeps `snaplen` bytes (0: all) of each packet that an expression selects, once.

    An empty expression selects all packets. link: ETHERNET, RAW or COOKED. interface: needed if the expression contains
    `vlan`. Raises CaptureError with a sentence for the user.
    """
    if not expression:
        found = EVERYTHING
    elif re.search(r"\bvlan\b", expression):
        if interface is None or link == COOKED:
            raise CaptureError(f"-f {expression}: VLANs can be filtered on a single interface only. Give one with -i.")
        found = compile_for_interface(expression, interface)
    else:
        found = compile_expression(expression, link)
    if link == COOKED:
        found = tuple(_without_header(each, expression) for each in found)
    return _ONCE + tuple(
        replace(each, operand=snaplen or LONGEST) if each.code == RETURN and each.operand else each for each in found
    )


def compile_expression(expression: str, link: int) -> Program:
    """Compiles an expression with libpcap. Raises CaptureError."""
    logging.getLogger("scapy.runtime").setLevel(logging.ERROR)  # it warns about link types that we handle
    from scapy.arch.common import compile_filter, free_filter
    from scapy.error import Scapy_Exception

    try:
        made = compile_filter(expression, linktype=link)
    except (Scapy_Exception, ImportError, OSError) as error:
        raise CaptureError(f"-f {expression}: {extract_reason(str(error))}.") from None
    try:
        return _instructions(made)
    finally:
        free_filter(made)


def compile_for_interface(expression: str, interface: str) -> Program:
    """Compiles an expression for an interface, which libpcap opens. Raises CaptureError.

    The kernel removes VLAN tags before a filter sees a packet. libpcap makes the filter request them only if it has
    opened the interface.
    """
    from scapy.libs import winpcapy
    from scapy.libs.structures import bpf_program

    made, error_text = bpf_program(), ctypes.create_string_buffer(winpcapy.PCAP_ERRBUF_SIZE)
    opened = winpcapy.pcap_open_live(ctypes.create_string_buffer(interface.encode()), LONGEST, 0, 0, error_text)
    if not opened:
        raise CaptureError(f"Cannot capture on {interface}: {error_text.value.decode(errors='replace')}.")
    try:
        if winpcapy.pcap_compile(opened, ctypes.byref(made), ctypes.create_string_buffer(expression.encode()), 1, -1):
            why = ctypes.string_at(winpcapy.pcap_geterr(opened)).decode(errors="replace")
            raise CaptureError(f"-f {expression}: {why}.")
        try:
            return _instructions(made)
        finally:
            winpcapy.pcap_freecode(ctypes.byref(made))
    finally:
        winpcapy.pcap_close(opened)


def _instructions(made: bpf_program) -> Program:
    found = ctypes.string_at(made.bf_insns, made.bf_len * 8)
    return tuple(Instruction(*each) for each in struct.iter_unpack("=HBBI", found))


def encode_program(found: Program) -> bytes:
    """Encodes the program for the kernel."""
    return b"".join(struct.pack("=HBBI", each.code, each.yes, each.no, each.operand) for each in found)


def _without_header(each: Instruction, expression: str) -> Instruction:
    if each.code not in LOADS or each.operand >= ASK:
        return each
    if each.operand >= COOKED_HEADER:
        return replace(each, operand=each.operand - COOKED_HEADER)
    if each.operand in COOKED_FIELDS and each.code == LOAD_HALF:
        return replace(each, operand=COOKED_FIELDS[each.operand])
    raise CaptureError(
        f"-f {expression}: The filter has link-layer addresses, and the interfaces have different link layers. "
        "Give one interface with -i."
    )


def extract_reason(error_text: str) -> str:
    """Extracts libpcap's message about a filter, which scapy puts in parentheses."""
    if "libpcap is not" in error_text:
        return "Capture filters need libpcap. Install it (Debian, Ubuntu: apt install libpcap0.8), or leave out -f"
    _, found, reason = error_text.rpartition(" (")
    return reason.removesuffix(")") if found else error_text
