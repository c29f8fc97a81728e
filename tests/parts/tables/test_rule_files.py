"""Rules from files: what a line means, what is refused with its line, and that expanded ranges match what the ranges match."""

import ipaddress
import os

import pytest
from from_the_world import FILES
from hypothesis import given
from hypothesis import strategies as st
from sample_rules import FILTER

from windtunnel.errors import UserError
from windtunnel.parts.tables import rule_files
from windtunnel.parts.tables.rule_files import kept, key_of_filters, read_rules


def rules(tmp_path, text: str, kind: str, key_bytes: int = 4):
    file = tmp_path / "rules.txt"
    file.write_text(text)
    return read_rules(file, kind, key_bytes)


def written(read) -> list[str]:
    """The rules for the engine, without the file that they come from."""
    head, *lines = read.text.splitlines()
    assert head.startswith("from /")
    return lines


def refused(tmp_path, text: str, kind: str, key_bytes: int = 4) -> str:
    with pytest.raises(UserError) as caught:
        rules(tmp_path, text, kind, key_bytes)
    assert caught.value.remedy
    return caught.value.message.removeprefix(f"{tmp_path}/")


def test_prefixes(tmp_path):
    text = "# a table\n10.0.0.0/8,7\n\n192.168.0.0/255.255.0.0 , 9 # two\n1.2.3.4/32\n"
    read = rules(tmp_path, text, "lpm")
    assert written(read) == ["10.0.0.0/8,7,2", "192.168.0.0/16,9,4", "1.2.3.4/32,4,5"]
    assert read.text.startswith(f"from {tmp_path}/rules.txt\n")
    assert (read.rules, read.catches_all) == (3, False)
    assert rules(tmp_path, "0.0.0.0/0,1\n", "lpm").catches_all


def test_prefixes_of_ipv6(tmp_path):
    read = rules(tmp_path, "2001:DB8:0::/32,7\n::/0 , 9\n::ffff:10.0.0.1/128\n", "lpm", 16)
    assert written(read) == ["2001:db8::/32,7,1", "::/0,9,2", "::ffff:10.0.0.1/128,2,3"]
    assert (read.rules, read.catches_all) == (3, True)


@given(st.integers(0, 2**128 - 1), st.integers(0, 128), st.integers(0, 2**31 - 2))
def test_every_prefix_of_ipv6_is_read_as_it_is_written(tmp_path_factory, address, length, data):
    net = ipaddress.IPv6Network((address, length), strict=False)
    for text in (net.compressed, net.exploded):
        read = rules(tmp_path_factory.mktemp("rules"), f"{text},{data}\n", "lpm", 16)
        (line,) = written(read)
        prefix, written_data, _ = line.split(",")
        assert (ipaddress.IPv6Network(prefix), int(written_data)) == (net, data)


@pytest.mark.parametrize(
    ("kind", "key_bytes", "text", "words"),
    [
        ("lpm", 4, "10.0.0.0/8,1\n10.0.0.0/8,2\n", "rules.txt:2: conflicts with line 1: the same rule"),
        ("lpm", 4, "10.0.0.0/8,1\n10.0.0.0/255.0.0.0,2\n", "rules.txt:2: conflicts with line 1"),
        ("lpm", 4, "10.0.0.1/8,1\n", "rules.txt:1: 10.0.0.1/8 has bits set outside its mask"),
        ("lpm", 4, "10.0.0.0/255.0.255.0,1\n", "rules.txt:1: the mask 255.0.255.0 is not contiguous"),
        ("lpm", 4, "10.0.0.0/33,1\n", "rules.txt:1: '33' is not a prefix length from 0 to 32"),
        ("lpm", 4, "10.0.0.0,1\n", "rules.txt:1: '10.0.0.0' has no prefix length"),
        ("lpm", 4, "10.0.0/8,1\n", "rules.txt:1: '10.0.0' is not an IPv4 address"),
        ("lpm", 4, "\n10.0.0.0/8,x\n", "rules.txt:2: 'x' is not a number from 0 to 2147483646"),
        ("lpm", 4, "10.0.0.0/8,-1\n", "rules.txt:1: '-1' is not a number"),
        ("lpm", 4, "10.0.0.0/8,2147483647\n", "rules.txt:1: '2147483647' is not a number from 0 to 2147483646"),
        ("lpm", 4, "10.0.0.0/8,2147483648\n", "rules.txt:1: '2147483648' is not a number"),
        ("lpm", 4, "# nothing\n", "rules.txt: no rules"),
        ("lpm", 16, "2001:db8::/32,1\n2001:db8:0::/32,2\n", "rules.txt:2: conflicts with line 1: the same rule"),
        ("lpm", 16, "2001:db8::1/32,1\n", "rules.txt:1: 2001:db8::1/32 has bits set outside its mask"),
        ("lpm", 16, "fd00::/129,1\n", "rules.txt:1: '129' is not a prefix length from 0 to 128"),
        ("lpm", 16, "fd00::/ffff::,1\n", "rules.txt:1: 'ffff::' is not a prefix length from 0 to 128"),
        ("lpm", 16, "10.0.0.0/8,1\n", "rules.txt:1: '10.0.0.0' is not an IPv6 address"),
        ("lpm", 16, "fe80::1%eth0/128,1\n", "rules.txt:1: 'fe80::1%eth0' is not an IPv6 address"),
        ("lpm", 16, "fd00::,1\n", "rules.txt:1: 'fd00::' has no prefix length"),
        ("exact", 4, "0a0001,7\n", "rules.txt:1: the key '0a0001' is not 8 hexadecimal digits"),
        ("exact", 4, "0A000001,7\n0a000001,8\n", "rules.txt:2: conflicts with line 1"),
        ("ternary", 4, "0a000001/ff000000\n", "rules.txt:1: 0a000001/ff000000 has bits set outside its mask"),
        ("ternary", 4, "0a000001\n", "rules.txt:1: '0a000001' has no mask"),
        ("lpm", 4, "10.0.0.0/8,1 # a\u2028b\n\x0cx\n", "rules.txt:2: 'x' has no prefix length"),
    ],
)
def test_invalid_rules_are_refused_with_the_line_of_an_editor(tmp_path, monkeypatch, kind, key_bytes, text, words):
    monkeypatch.chdir(tmp_path)
    assert refused(tmp_path, text, kind, key_bytes).startswith(words)


def test_line_ends_and_marks_of_editors_are_passed_over(tmp_path):
    read = rules(tmp_path, "\ufeff10.0.0.0/8,1\r\n11.0.0.0/8\r\n", "lpm")
    assert written(read) == ["10.0.0.0/8,1,1", "11.0.0.0/8,1,2"]


def test_what_stands_in_a_file_elsewhere_is_not_said(tmp_path, monkeypatch):
    """A scenario may name any file; whoever reads the log of a CI may have no right to read that one."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here/link").symlink_to(tmp_path / "token")
    (tmp_path / "token").write_text("ghp_0123SECRET\n")
    monkeypatch.chdir(tmp_path / "here")
    for file in (tmp_path / "token", tmp_path / "here/link"):
        for kind in ("exact", "lpm", "ternary"):
            with pytest.raises(UserError) as refused:
                read_rules(file, kind, 4)
            assert refused.value.message == f"{file}:1: this line is no rule"


def test_a_pipe_is_refused_as_a_rule_file(tmp_path):
    os.mkfifo(tmp_path / "rules.txt")
    with pytest.raises(UserError, match="not a regular file"):
        read_rules(tmp_path / "rules.txt", "lpm", 4)


def test_exact_and_ternary_keys(tmp_path):
    assert written(rules(tmp_path, "0A000001,7\n0a000002\n", "exact")) == ["0a000001,7,1", "0a000002,1,2"]
    assert written(rules(tmp_path, "0a000000/ff000000,7\n", "ternary")) == ["0a000000/ff000000,7,1"]
    assert rules(tmp_path, "00000000/00000000\n", "ternary").catches_all


def test_filters(tmp_path):
    read = rules(tmp_path, FILTER, "ternary", 16)
    lines = written(read)
    assert read.rules == len(lines) == 6  # 1024 : 65535 is six prefixes
    assert lines[0] == "c0a804000a0000010000040006000000/ffffff00ffffffff0000fc00ff000000,0,1"
    assert all(line.endswith(",0,1") for line in lines), "each of them is of the filter in line 1"
    assert key_of_filters(tmp_path / "rules.txt") == rule_files.FILTER_KEY


def test_repeated_filters_lose_to_the_first(tmp_path):
    """The expansion of a later filter that an earlier one has already is left out: it could never win."""
    wide, narrow = FILTER.replace("1024 : 65535", "0 : 65535"), FILTER.replace("1024 : 65535", "0 : 32767")
    assert rules(tmp_path, wide + narrow, "ternary", 16).rules == 2
    again = narrow + wide.replace("0 : 65535\t0 : 65535", "0 : 65535\t0 : 32767").replace("0x0200", "0x0100")
    read = rules(tmp_path, again, "ternary", 16)
    assert read.rules == 1 and read.text.endswith(",0,1\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (FILTER.replace("0 : 65535", "9 : 3"), "9 : 3 is not a range of ports"),
        (FILTER.replace("65535", "65536"), "0 : 65536 is not a range of ports"),
        (FILTER.replace("/24", "/40"), "'40' is not a prefix length"),
        (FILTER.replace("10.0.0.1", "10.0.0.256"), "'10.0.0.256' is not an IPv4 address"),
        (FILTER.replace("0x06/0xFF", "6"), "not a filter"),
        (FILTER.replace("0x06/0xFF", "256/0xFF"), "256 is not a protocol"),
        (FILTER + FILTER.replace("0x06/0xFF", "6/255"), "the same filter"),
        (FILTER.replace("1024 : ", f"{5000 * '9'} : "), "not a filter"),
        (FILTER + "00/00,1\n", "rules.txt:2: not a filter: '00/00,1'"),
        (f"{32 * '0'}/{32 * '0'},1\n" + FILTER, "rules.txt:2: the mask '24"),
        (FILTER * 2, "conflicts with line 1: the same filter"),
    ],
)
def test_invalid_filters(tmp_path, monkeypatch, line, words):
    monkeypatch.chdir(tmp_path)
    assert words in refused(tmp_path, line, "ternary", 16)


ports = st.integers(0, 65535)


@given(st.tuples(ports, ports).map(sorted), st.lists(ports, max_size=30))
def test_a_range_matches_exactly_its_ports(bounds, probes):
    low, high = bounds
    prefixes = rule_files._range(str(low), str(high))
    assert len(prefixes) <= 30
    for port in {*probes, low, high, max(low - 1, 0), min(high + 1, 65535)}:
        assert sum(port & mask == value for value, mask in prefixes) == (low <= port <= high)
    for value, mask in prefixes:
        assert value & ~mask == 0 and (~mask & 0xFFFF) & ((~mask & 0xFFFF) + 1) == 0


@given(
    st.text(alphabet="0123456789abcdef./,:@#% x\t\n", max_size=200),
    st.sampled_from([("exact", 4), ("lpm", 4), ("lpm", 16), ("ternary", 4)]),
)
def test_any_text_is_rules_or_a_refusal(tmp_path_factory, text, table):
    file = tmp_path_factory.getbasetemp() / "any.txt"
    file.write_text(text)
    rule_files._read.cache_clear()
    rule_files._key_of_filters.cache_clear()
    try:
        read = read_rules(file, *table)
    except UserError as error:
        assert str(file) in error.message and error.remedy
    else:
        assert read.rules == len(written(read)) > 0


def test_prefixes_of_any_mask(tmp_path):
    for bits in range(33):
        net = ipaddress.IPv4Network((0xC0A80000 if bits >= 16 else 0, bits))
        read = rules(tmp_path, f"{net.with_netmask},1\n", "lpm")
        assert written(read) == [f"{net},1,1"]
        rule_files._read.cache_clear()


def test_rules_are_kept_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read = rules(tmp_path, "10.0.0.0/8,7\n", "lpm")
    file = kept(read)
    before = file.stat().st_ino
    assert file.read_text() == read.text and kept(read) == file and file.stat().st_ino == before
    assert [p.name for p in file.parent.iterdir()] == [file.name]
    file.unlink()
    os.mkfifo(file)
    assert kept(read) == file and file.is_file() and file.read_text() == read.text
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    with pytest.raises(UserError, match="Not a directory"):
        kept(read)


def test_old_rules_are_forgotten_if_they_take_too_much(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    files = []
    for n in range(4):
        text = rules(tmp_path, f"10.0.0.0/8,{n}\n", "lpm")
        rule_files._read.cache_clear()
        files.append(kept(text))
        os.utime(files[-1], (n, n))
    monkeypatch.setattr(rule_files, "MOST_KEPT_BYTES", 2 * files[0].stat().st_size)
    monkeypatch.setattr(rule_files, "IN_USE_S", 1e12)
    newest = kept(rules(tmp_path, "10.0.0.0/8,5\n", "lpm"))
    assert all(file.exists() for file in files), "an engine may still read them"
    monkeypatch.setattr(rule_files, "IN_USE_S", 3600.0)
    rule_files._read.cache_clear()
    assert kept(rules(tmp_path, "10.0.0.0/8,5\n", "lpm")) == newest
    newest.unlink()
    assert kept(rules(tmp_path, "10.0.0.0/8,5\n", "lpm")) == newest
    assert [file.exists() for file in files] == [False, False, False, True]


def test_filters_expand_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(rule_files, "MAX_EXPANDED", 1000)
    wide = "".join(f"@10.0.0.{n}/32 10.0.0.0/8 1 : 65534 1 : 65534 0x11/0xFF\n" for n in range(2))
    with pytest.raises(UserError, match=r":2: more than 1,000 rules"):
        rules(tmp_path, wide, "ternary", 13)


ACL = "@192.0.2.0/24 198.51.100.0/24 0 : 65535 80 : 80 "
AS_RULE = "c0000200c633640000000050{}000000/ffffff00ffffff000000ffff{}000000,{},1"
V6 = "2001:db8::/32 2001:db8:1::1/128 0 : 65535 80 : 80 "


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ((FILES / "cb-dec-proto.txt").read_text(), AS_RULE.format("06", "ff", 0)),
        (ACL + "6/0xff\n", AS_RULE.format("06", "ff", 0)),
        (ACL + "0x06/0xFF\n", AS_RULE.format("06", "ff", 0)),
        (ACL + "006/255\n", AS_RULE.format("06", "ff", 0)),
        (ACL + "17/0xfe\n", AS_RULE.format("10", "fe", 0)),
        (ACL + "0/0\n", AS_RULE.format("00", "00", 0)),
        (ACL.replace(" : ", ":") + "0x06/0xff\r\n", AS_RULE.format("06", "ff", 0)),
        (ACL.replace(" ", "\t") + "6/0xff\t0x0000/0x0200\n", AS_RULE.format("06", "ff", 0)),
        (ACL.replace("192.0.2.0", "192.0.2.77") + "6/0xff\n", AS_RULE.format("06", "ff", 0)),
        ("\ufeff" + ACL + "6/0xff # web\n", AS_RULE.format("06", "ff", 0)),
        ("R" + ACL[1:] + "6/0xff 2\n", AS_RULE.format("06", "ff", 2)),
        ("R" + ACL[1:] + "0x06/0xff 0x1f\n", AS_RULE.format("06", "ff", 31)),
    ],
)
def test_a_rule_of_l3fwd_acl(tmp_path, text, rule):
    assert written(rules(tmp_path, text, "ternary", 16)) == [rule]


def test_rules_and_routes_stand_in_the_order_of_the_file(tmp_path):
    text = "# l3fwd\n" + ACL + "6/0xff\nR" + ACL[1:] + "17/0xff 3\n@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0/0\n"
    read = rules(tmp_path, text, "ternary", 16)
    assert [line.rpartition("/")[2].split(",", 1)[1] for line in written(read)] == ["1,2", "3,3", "3,4"]
    assert read.catches_all


@pytest.mark.parametrize(("lead", "last", "data"), [("@", "6/0xff", 0), ("R", "6/0xff 2", 2)])
def test_a_filter_of_ipv6(tmp_path, lead, last, data):
    (line,) = written(rules(tmp_path, f"{lead}{V6}{last}\n", "ternary", 40))
    key = "20010db8" + 24 * "0" + "20010db80001" + 19 * "0" + "1" + "00000050" + "06000000"
    mask = 8 * "f" + 24 * "0" + 32 * "f" + "0000ffff" + "ff000000"
    assert line == f"{key}/{mask},{data},1"
    assert key_of_filters(tmp_path / "rules.txt") == rule_files.FILTER_KEY_IPV6


@pytest.mark.parametrize(
    ("text", "key_bytes", "words"),
    [
        ("R" + ACL[1:] + "6/0xff\n", 16, "rules.txt:1: a route ends in the port that it leads to"),
        ("R" + ACL[1:] + "6/0xff 2147483647\n", 16, "rules.txt:1: 2147483647 is not a number from 0 to 2147483646"),
        (ACL + "6/0xff 2\n", 16, "rules.txt:1: not a filter"),
        (ACL + "6/0x1ff\n", 16, "rules.txt:1: not a filter"),
        (ACL + "6/256\n", 16, "rules.txt:1: 256 is not a protocol or its mask"),
        (f"@{V6}6/0xff\n", 16, "rules.txt:1: a filter of IPv6 does not fit the table's key of 16 bytes"),
        (f"@{V6}6/0xff\n{ACL}6/0xff\n", 40, "rules.txt:2: a filter of IPv4 does not fit the table's key of 40 bytes"),
        (f"@{V6}6/0xff\n".replace("2001:db8::/32", "10.0.0.0/8"), 16, "one address is of IPv4, and the other one"),
        (f"@{V6}6/0xff\n".replace("/32", "/129"), 40, "'129' is not a prefix length from 0 to 128"),
        (ACL.replace("80 : 80", "80 – 80") + "6/0xff\n", 16, "– is a typographic dash"),
    ],
)
def test_a_rule_of_l3fwd_acl_that_is_none(tmp_path, monkeypatch, text, key_bytes, words):
    monkeypatch.chdir(tmp_path)
    assert words in refused(tmp_path, text, "ternary", key_bytes)
