"""What is exported for others: no file of it says whose host it was, and it is a run all the same."""

import json
from ipaddress import IPv4Address, IPv6Address

import pytest
from comparing import made
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import windtunnel as library
from windtunnel.errors import UserError
from windtunnel.exchange import redacted
from windtunnel.exchange.redacted import Redaction, redaction_of
from windtunnel.exchange.tables import restore
from windtunnel.runs import load

HEX = "0123456789abcdef"
NAME = st.from_regex(r"\A[a-z]{3,6}q[0-9]{2}\Z")
DIGITS = st.text(HEX, min_size=2, max_size=2)
MAC = st.lists(DIGITS, min_size=6, max_size=6).filter(lambda m: len({*m}) > 1)
KEPT = ("is_loopback", "is_unspecified", "is_multicast")
ADDRESS = st.one_of(
    st.integers(1 << 24, (1 << 32) - 2).map(IPv4Address), st.integers(1 << 112, (1 << 128) - 1).map(IPv6Address)
).filter(lambda address: not any(getattr(address, kept) for kept in KEPT))
PCI = st.builds(
    lambda d, b, s, f: f"{d}{b}:{s:02x}.{f}",
    st.sampled_from(["", "0000:", "10000:"]),
    DIGITS,
    st.integers(0, 31),
    st.integers(0, 7),
)
SECRETS = st.fixed_dictionaries(
    {
        "host": NAME,
        "domain": st.sampled_from(["", ".corp.example"]),
        "user": NAME,
        "directory": NAME,
        "mac": st.builds(lambda m, between: between.join(m), MAC, st.sampled_from(":-")),
        "long_mac": st.lists(DIGITS, min_size=20, max_size=20).map(":".join),
        "address": st.one_of(ADDRESS.map(str), ADDRESS.map(lambda a: a.exploded.upper())),
        "mapped": st.integers(1 << 24, (1 << 32) - 2).map(lambda n: f"::ffff:{IPv4Address(n)}"),
        "pci": PCI,
    }
)
AROUND = st.sampled_from(["{}", "at {}, {}", "'{}'", "[{}]", "x={};", "({}).", "a/[{}]:9000", "to {}\nand {}", "-{}-"])


def planted(directory, secrets, around):
    """A run that has each secret in every text that is free, and in files of its own."""
    home = f"/home/{secrets['user']}/{secrets['directory']}/a b/echo.toml"
    said = [secrets[kind] for kind in ("mac", "long_mac", "address", "mapped", "pci")] + [home, f"file://{home}"]
    said += [f"enx{secrets['mac'].replace(':', '').replace('-', '')}", secrets["user"], secrets["host"]]
    texts = [around.format(each, each) for each in said]
    host = {"hostname": secrets["host"] + secrets["domain"], "nics": texts, "cpus": {"model": texts[0]}, texts[1]: 1}
    scenario = {"title": texts[0], "client": {"peer": texts[2], "mac": secrets["mac"]}, "workload": [{"handler": home}]}
    run = made(
        directory, title=texts[3], question=" ".join(texts), host=host, scenario=scenario, versions={"x": texts[8]}
    )
    for file in (run / "run.json", run / "windows.jsonl"):
        file.write_text(file.read_text().replace('"windtunnel"', f'"of {secrets["host"]}"'))
    (run / "engine.log").write_text("\n".join(texts))
    (run / f"{secrets['host']}.jsonl").write_text("".join(json.dumps({each: [each, 0.25]}) + "\n" for each in texts))
    (run / "trace.json").write_text('{"cut": "' + home)
    (run / "recorded.pcap").write_bytes(b"\xd4\xc3\xb2\xa1" + secrets["host"].encode())
    return run


def leaves(secrets) -> set[str]:
    """What must be in no file: parts that say as much as the whole."""
    return {secrets[kind].lower() for kind in secrets if kind != "domain"} | {
        secrets["mac"].replace(":", "").replace("-", ""),
        secrets["mapped"].removeprefix("::ffff:"),
    }


@pytest.mark.slow
@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(secrets=SECRETS, around=AROUND, form=st.sampled_from(["json", "csv"]))
def test_no_secret_is_in_any_file(tmp_path_factory, secrets, around, form):
    assume(len({secrets[each] for each in ("host", "user", "directory")}) == 3)
    directory = tmp_path_factory.mktemp("redacted")
    run = planted(directory / "run", secrets, around)
    out = library.export(run, directory / "out", form, redact=True)
    for file in out.rglob("*"):
        content = (file.name.encode() + (b"" if file.is_dir() else file.read_bytes())).lower()
        for secret in leaves(secrets):
            assert secret.encode() not in content, (file.name, secret, content[:2000])
    again = restore(out, directory / "again")
    assert again.record.verdict.valid and [*again.windows.values()] == [*load(run).windows.values()]


def test_a_record_without_secrets_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(redacted.platform, "node", lambda: "somewhere")
    record = load(
        made(tmp_path / "run", host={"hostname": "localhost", "cpus": {"model": "a cpu"}}, labels={"on": "10.1.2.3"})
    ).record
    kept = redaction_of(record).record(record)
    for name in ("verdict", "labels", "versions", "scenario", "started", "question"):
        assert getattr(kept, name) == getattr(record, name)


@pytest.mark.parametrize(
    ("words", "then"),
    [
        ("10.1.2.3 and 10.1.2.4, 10.1.2.3 again", "198.18.0.1 and 198.18.0.2, 198.18.0.1 again"),
        ("fe80::1%eth0 [FE80:0::1]:80", "2001:db8::1%eth0 [2001:db8::1]:80"),
        ("addr:2a02:1234::77 x_2a02:1234::77", "addr:2001:db8::1 x_2001:db8::1"),
        ("b859:9f03:00a1:b2c3", "0200:0000:0000:0001"),
        ("3b:00.1 is not 0000:3b:00.0", "00:01.0 is not 0000:00:02.0"),
        ("0000:3B:00.1 is 3b:00.1", "0000:00:01.0 is 00:01.0"),
        ("in /root/plans/x.toml, /rootfs", "in /home/user/x.toml, /rootfs"),
        ("open /home/bob/acme, inc/merger plan/x.so: no", "open /home/user/x.so: no"),
        ("in /home/bob/x.so, and /usr/lib/y.so", "in /home/user/x.so, and /usr/lib/y.so"),
        ("wlx00c0ca123456 enx00c0ca123456", "wlx020000000001 enx020000000001"),
        ("rocex0c42a1659a2e 0c.42.a1.65.9a.2e 0c42.a165.9a2e", "rocex020000000001 02.00.00.00.00.01 0200.0000.0001"),
        ("enp59s0f0np0 rocep59s0f0 is 0000:3b:00.0", "enp0s1np0 rocep0s1 is 0000:00:01.0"),
        ("wlp3s0 enP2p1s0", "wlp0s1 enp0s2"),
        ("010.001.002.003 is 10.1.2.3", "198.18.0.1 is 198.18.0.1"),
        ("in /home/anna /home/anna/ /home/anna/a/b.toml:3", "in /home/user /home/user /home/user/b.toml:3"),
        ("Box1, box1.local; inbox1", "host-1, host-1.local; inbox1"),
        ("kiss, \u212ai\u017fs", "host-2, host-2"),
        ("ki\u0130", "host"),
        ("127.0.0.1 ::1 0.0.0.0 ff:ff:ff:ff:ff:ff 224.0.0.1", None),
        ("07:08:32 2026-11-27T07-08-32Z wt::add 22.11.7 1.2.3.4.5 999.1.1.1 00:61.0", None),
    ],
)
def test_what_stands_for_a_secret(words, then):
    assert Redaction({"box1": "host-1", "kiss": "host-2", "kii": "host-3"}, []).text(words) == (then or words)


def test_what_is_no_json_in_a_file_of_json_is_a_text(tmp_path):
    file = tmp_path / "x.json"
    file.write_text('/home/anna/a on box1\n{"a": [1e3, true, "box1"], box1: 10.0}\n')
    assert Redaction({"box1": "host-1"}, []).file(file)
    assert file.read_text() == '/home/user/a on host-1\n{"a": [1e3, true, "host-1"], host-1: 10.0}\n'


def test_the_name_of_a_host_is_replaced_however_short(tmp_path):
    run = made(tmp_path / "run", host={"hostname": "n1"}, question="is n1 faster?")
    library.export(run, tmp_path / "out", redact=True)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["host"]["hostname"].startswith("host-")


def test_a_record_of_too_many_users_is_refused(tmp_path):
    """Each word of each text would be compared with each of them."""
    users = redacted.MOST_NAMES + 1
    run = made(tmp_path / "run", question=" ".join(f"/home/user-{n}/x" for n in range(users)))
    with pytest.raises(UserError, match=r"it names \d+ hosts and users, and at most 64 are replaced"):
        library.export(run, tmp_path / "out", redact=True)
    assert not (tmp_path / "out").exists()


def test_a_text_is_redacted_line_by_line(tmp_path):
    text = tmp_path / "x.txt"
    text.write_text("in /root/a\n\nkiss\r\nbox1")
    redaction = Redaction({"box1": "host-1", "kiss": "host-2"}, [])
    assert redaction.file(text)
    assert text.read_bytes() == b"in /home/user/a\n\nhost-2\r\nhost-1"
    text.write_bytes(b"x" * (redacted.MOST_RECORD_BYTES + 1))
    with pytest.raises(UserError, match="x.txt:1: longer than"):
        redaction.file(text)


def test_a_host_with_the_name_of_a_key_is_refused(tmp_path):
    run = made(tmp_path / "run", host={"hostname": "client"})
    with pytest.raises(UserError, match="has a word that is also the name of a host"):
        library.export(run, tmp_path / "out", redact=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words", ["::" + "1" * 200_000 + "g", ":" * 200_000 + "g", "1." * 100_000 + "g", '"' + '"\\' * 100_000]
)
def test_a_text_that_others_chose_is_read_once(tmp_path, words):
    """Not once for each of its characters: this would not end."""
    assert Redaction({}, []).text(words) == words
    (tmp_path / "notes.json").write_text(words)
    assert Redaction({}, []).file(tmp_path / "notes.json")
