"""Every way of writing bytes down parses back to the same bytes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from textwrap import wrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analyzer.hexinput.forms import HexError, parse_dumps, parse_hex, strip_ip

MESSAGE = bytes.fromhex("0000001b000300010000000500036162630000000100066162636420316566")

PLAIN = [
    ("bare", "0000001b0003", "0000001b0003"),
    ("upper case", "DEADBEEF", "deadbeef"),
    ("groups", "0000001b 0003 00", "0000001b000300"),
    ("single spaces, first byte pairs like an offset", "00000019 0003 0001", "0000001900030001"),
    ("lines", "0000\n001b\r\n0003", "0000001b0003"),
    ("a line wrapped in the middle of a byte", "00000\n01b\n", "0000001b"),
    ("colons", "00:00:00:1b", "0000001b"),
    ("dashes", "00-00-00-1B", "0000001b"),
    ("commas", "00, 00, 00, 1b,", "0000001b"),
    ("0x before everything", "0x0000001b", "0000001b"),
    ("0x before each byte", "0x00 0x00,0x1,0x1b", "0000011b"),
    ("escapes", r"\x00\x00\x00\x1b", "0000001b"),
    ("escapes in C strings", '"\\x00\\x00" \\\n"\\x00\\x1b"', "0000001b"),
    ("a Python literal", r"b'\x00\x1b'", "001b"),
    ("xxd -i", "unsigned char a_bin[] = {\n  0x00, 0x1b,\n  0x03\n};\nunsigned int a_bin_len = 3;\n", "001b03"),
    ("Wireshark's C array", "char peer0_0[] = { /* Packet 7 */\n0x00, 0x1b, /* ..de */\n0x03 };", "001b03"),
    ("a byte order mark", "\ufeff001b", "001b"),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in PLAIN], ids=[case[0] for case in PLAIN])
def test_plain(text: str, expected: str) -> None:
    assert parse_hex(text).hex() == expected


ERRORS = [
    ("nothing", "", "there are no hex digits"),
    ("white space", " \n", "there are no hex digits"),
    ("a letter", "00 0g", "line 1, column 5: 'g' is neither"),
    ("on the second line", "00 01\n02 zz", "line 2, column 4: 'z' is neither"),
    ("half a byte", "00 012 03", "line 1, column 6: '2' is half a byte"),
    ("words", "hello", "line 1, column 1: 'h' is neither"),
    ("text in an escaped string", r"\x00 ab", "line 1, column 6: 'a' is neither"),
    ("a long escape", r"\x00a", "line 1, column 5: 'a' is not part"),
    ("a letter in a dump", "0000  00 01 0q 03\n0004  04", "line 1, column 13: '0' is not part of a pair"),
    ("a letter in a dump's last line", "0000: 0001\n0002: 00 zz", "line 2, column 10: 'z' is not a hex digit"),
    ("a missing line", "0000  00 01\n0008  04", "line 2, column 1: the offset 0008 does not follow the 2 bytes"),
    ("a line that is none", "0000: 0001\nquux", "line 2, column 1: 'q' does not begin"),
    (
        "repeated lines for ever",
        "0000: 00 01\n*\nffffffffffff:",
        "line 3, column 1: the offset ffffffffffff does not fit",
    ),
    ("bits", "00000000: 11100100 11001010  ..\n00000006: 10110100", "line 2, column 1: the offset 00000006 does not"),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in ERRORS], ids=[case[0] for case in ERRORS])
def test_errors_name_the_place(text: str, expected: str) -> None:
    with pytest.raises(HexError) as caught:
        parse_hex(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def shown(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)


def rows(data: bytes, width: int = 16) -> list[tuple[int, bytes]]:
    return [(at, data[at : at + width]) for at in range(0, len(data), width)]


def xxd(data: bytes, width: int = 16, group: int = 2) -> str:
    columns = width * 2 + (width + group - 1) // group
    return "".join(
        f"{at:08x}: {' '.join(wrap(part.hex(), 2 * group)):<{columns}} {shown(part)}\n"
        for at, part in rows(data, width)
    )


def xxd_bytes(data: bytes) -> str:
    return xxd(data, 8, 1)


def xxd_plain(data: bytes) -> str:
    return "".join(part.hex() + "\n" for _, part in rows(data, 30))


def hexdump_c(data: bytes) -> str:
    lines, previous, star = [], b"", False
    for at, part in rows(data):
        if part == previous and len(part) == 16:
            if not star:
                lines.append("*")
            star = True
            continue
        previous, star = part, False
        left, right = part[:8].hex(" "), part[8:].hex(" ")
        lines.append(f"{at:08x}  {left:<23}  {right:<23}  |{shown(part)}|")
    return "\n".join([*lines, f"{len(data):08x}"]) + "\n"


def hexdump_words(data: bytes) -> str:
    padded = data + b"\0" * (len(data) % 2)
    lines = [
        f"{at:07x} " + " ".join(part[i : i + 2][::-1].hex() for i in range(0, len(part), 2))
        for at, part in rows(padded)
    ]
    return "\n".join([*lines, f"{len(data):07x}"]) + "\n"


def od_x(data: bytes) -> str:
    return "".join(f"{at:06x} {part.hex(' '):<47}  >{shown(part)}<\n" for at, part in rows(data)) + f"{len(data):06x}\n"


def od_octal(data: bytes) -> str:
    return "".join(f"{at:07o} {part.hex(' ')}\n" for at, part in rows(data)) + f"{len(data):07o}\n"


def tcpdump_x(data: bytes) -> str:
    lines = [f"\t0x{at:04x}:  {' '.join(wrap(part.hex(), 4)):<39}  {shown(part)}\n" for at, part in rows(data)]
    return "14:17:51.898636 IP 127.0.0.1.39820 > 127.0.0.1.29092: Flags [P.], length 43\n" + "".join(lines)


def tcpdump_xx(data: bytes) -> str:
    return "".join(f"\t0x{at:04x}:  {' '.join(wrap(part.hex(), 4))}\n" for at, part in rows(data))


def wireshark(data: bytes) -> str:
    return "".join(f"{at:04x}  {part.hex(' '):<47}   {shown(part)}\n" for at, part in rows(data))


def wireshark_of_old(data: bytes) -> str:
    return "".join(
        f"{at:04x}  {part[:8].hex(' '):<23}  {part[8:].hex(' '):<23}   {shown(part[:8])} {shown(part[8:])}\n"
        for at, part in rows(data)
    )


def wireshark_bytes_only(data: bytes) -> str:
    return "".join(f"{at:04x}   {part.hex(' ')}\n" for at, part in rows(data))


def trimmed(form: Callable[[bytes], str]) -> Callable[[bytes], str]:
    def trim(data: bytes) -> str:
        return "\n".join(line.rstrip() for line in form(data).splitlines())

    trim.__name__ = f"{form.__name__} trimmed"
    return trim


FORMS: list[Callable[[bytes], str]] = [
    xxd, xxd_bytes, xxd_plain, hexdump_c, hexdump_words, od_x, od_octal, tcpdump_x, tcpdump_xx, wireshark,
    wireshark_of_old, wireshark_bytes_only,
]  # fmt: skip
FORMS += [trimmed(form) for form in FORMS]

LOOKS_LIKE_HEX = st.text("0123456789abcdef  ", min_size=1, max_size=80).map(str.encode)
DATA = st.binary(min_size=1, max_size=120) | LOOKS_LIKE_HEX | st.binary(min_size=1, max_size=9).map(lambda b: b * 9)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@given(data=DATA)
@example(data=MESSAGE)
@example(data=b"abcd ef01")
@example(data=b"61 62 63")
@example(data=b"  ")
@example(data=bytes(64))
def test_every_dump_parses_back(form: Callable[[bytes], str], data: bytes) -> None:
    assert parse_hex(form(data)) == data


@given(DATA, st.sampled_from(["", " ", ":", "-", ", ", "\n", "\r\n"]))
def test_every_separator_parses_back(data: bytes, separator: str) -> None:
    assert parse_hex(separator.join(f"{byte:02x}" for byte in data)) == data


@given(st.text(st.characters(codec="ascii"), max_size=80) | st.text("0123456789abcdefx: *|\n\\{}", max_size=80))
def test_anything_gives_bytes_or_one_sentence(text: str) -> None:
    output = ""
    try:
        parse_hex(text)
    except HexError as error:
        output = str(error)
    assert "\n" not in output


@pytest.mark.parametrize(
    "command", ["xxd", "xxd -p", "xxd -i", "hexdump -C", "hexdump", "od -A x -t x1z", "od -t x1", "od -A d -t x1"]
)
def test_the_real_tools(command: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if shutil.which(command.split(maxsplit=1)[0]) is None:
        pytest.skip(f"{command.split(maxsplit=1)[0]} is not installed")
    for data in (MESSAGE, bytes(range(256)), bytes(100) + b"abcd ef01"):
        file = tmp_path_factory.mktemp("dump") / "a.bin"
        file.write_bytes(data)
        dump = subprocess.run([*command.split(), str(file)], capture_output=True, text=True, check=True).stdout
        assert parse_hex(dump) == data


def test_packets_stay_apart() -> None:
    assert parse_dumps(tcpdump_x(MESSAGE) + tcpdump_x(b"ab" * 20)) == [MESSAGE, b"ab" * 20]
    assert parse_dumps(wireshark(MESSAGE) + "\n" + wireshark(MESSAGE)) == [MESSAGE, MESSAGE]


def test_a_followed_stream_with_its_answers_indented() -> None:
    first, second = wireshark(MESSAGE), "".join("    " + line for line in wireshark(b"answer").splitlines(True))
    rest = "00000020  61 62\n".replace("00000020", f"{len(MESSAGE):08x}")
    assert parse_dumps(first + second + rest) == [MESSAGE, b"answer", b"ab"]


def test_only_the_frame_of_tshark_is_taken() -> None:
    text = f"Frame (31 bytes):\n{wireshark(MESSAGE)}\nReassembled TCP (6 bytes):\n{wireshark(b'joined')}\n"
    assert parse_dumps(text) == [MESSAGE]


IPV4 = bytes.fromhex("4500 0000 cc1a 4000 4006 707c 7f000001 7f000001".replace(" ", ""))
IPV6 = bytes.fromhex("60000000 0000 06 40".replace(" ", "")) + bytes(32)
TCP = bytes.fromhex("9b8c71a4a9f73918a59e0a058018004000000000") + bytes(12)
ETHERNET = bytes(12) + b"\x08\x00"


def packet(payload: bytes, header: bytes = IPV4) -> bytes:
    size = len(TCP) + len(payload) + (20 if header[0] >> 4 == 4 else 0)
    at = 2 if header[0] >> 4 == 4 else 4
    return header[:at] + size.to_bytes(2) + header[at + 2 :] + TCP + payload


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (packet(MESSAGE), MESSAGE),
        (packet(b""), b""),
        (packet(MESSAGE, IPV6), MESSAGE),
        (ETHERNET + packet(MESSAGE), MESSAGE),
        (ETHERNET + packet(b"") + bytes(3), ETHERNET + packet(b"") + bytes(3)),
        (packet(MESSAGE)[:-1], packet(MESSAGE)[:-1]),
        (packet(MESSAGE) + b"x", packet(MESSAGE) + b"x"),
        (MESSAGE, MESSAGE),
        (b"", b""),
    ],
)
def test_strip_ip(data: bytes, expected: bytes) -> None:
    assert strip_ip(data) == expected


def test_padding_of_a_short_ethernet_frame_goes_too() -> None:
    short = IPV4[:2] + (41).to_bytes(2) + IPV4[4:] + TCP[:12] + b"\x50" + TCP[13:20] + b"x"
    assert strip_ip(ETHERNET + short + bytes(60 - len(ETHERNET + short))) == b"x"


@given(st.binary(max_size=120))
def test_strip_ip_takes_anything(data: bytes) -> None:
    assert data.endswith(strip_ip(data)) or len(data) <= 60
