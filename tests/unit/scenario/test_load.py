"""Reading scenario files: every error names file and line, or the --set, the error and the remedy."""

import pytest
from from_the_world import FILES
from scenario_tools import ECHO, SHIPPED, loaded, written

from windtunnel.errors import UserError
from windtunnel.scenario import load

GOOD = """\
# What is asked?

title = "t"
[server]
ring_size = 1024
[server.batch]
app_rx = 32
disp_rx = 32
[server.mempool]
size = 8191

[[workload]]
handler = "l_app"

[[workload]]
handler = "t_app"
client.apps = 2
"""


def refused(directory, text, *sets):
    with pytest.raises(UserError) as caught:
        loaded(directory, text, *sets)
    assert caught.value.remedy
    return caught.value


def changed(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


def test_question_and_title_of_a_file(tmp_path):
    """The opening comment and the file's name, where the file says nothing else."""
    good, plain = loaded(tmp_path, GOOD), loaded(tmp_path, ECHO)
    assert (good.question, plain.question) == ("What is asked?", "")
    assert (good.title, plain.title) == ("t", "test")


@pytest.mark.parametrize(
    ("old", "new", "line", "what", "remedy"),
    [
        ('title = "t"', "title = 5", 3, "title is 5", "text"),
        ('title = "t"', 'titel = "t"', 3, 'unknown key "titel" in the scenario', 'did you mean "title"?'),
        ('title = "t"', 'duration = "5"', 3, 'duration: "5" is not a duration', 'from "1ms" to "24h"; default "5s"'),
        ('title = "t"', 'duration = "25h"', 3, "not between 1ms and 24h", "duration"),
        ("app_rx = 32", "app_rx = 0", 7, "server.batch.app_rx is 0", "from 1 to 1024; default 32"),
        ("disp_rx = 32", "disp_rx = true", 8, "server.batch.disp_rx is true", "a whole number"),
        ("disp_rx = 32", "dips_rx = 32", 8, 'unknown key "dips_rx" in [server.batch]', 'did you mean "disp_rx"?'),
        ("size = 8191", "size = 0", 10, "server.mempool.size", '"auto" or a whole number'),
        ('handler = "t_app"', "request = 86", 15, "workload 1 has no handler", "handler ="),
        (
            'handler = "t_app"',
            'packet_handler = "echo"\nextra_ticks = 5',
            17,
            "this workload has a packet handler alone",
            "no extra_ticks",
        ),
        ('handler = "t_app"', 'handler = "t_app"\nrequest = "15B"', 17, "workload.1.request", '"16B" to "4MiB"'),
        ("client.apps = 2", "client.apps = 0", 17, "workload.1.client.apps is 0", "from 1 to 64"),
        ("client.apps = 2", 'name = "a b"', 17, "workload.1.name", "text"),
        ("[server]", '[server]\nip = "224.0.0.1"', 5, "not the address of one host", "an IPv4 or IPv6 address"),
        ("[server]", '[server]\nmac = "01:00:5e:00:00:01"', 5, "not the MAC address of one station", "a MAC address"),
        ("[server]", "[server]\ncores = [1, 1]", 5, "names a CPU twice", '"separate" or a list'),
        ("[server]", '[server]\nresponse_mbuf = "old"', 5, 'server.response_mbuf is "old"', '"request" | "new"'),
        ("[server]", "[server]\nworker = [{ core = 1 }]", 5, "server.worker.0.stages is missing", "stages ="),
        ("[server]", "[wire]\nfaults.loss = nan\n[server]", 5, "wire.faults.loss", "from 0 to 1"),
        ('title = "t"', 'title = "a\\u0000b"', 3, "holds the control character", "text"),
        ('title = "t"', "title = ", 3, "invalid value", "TOML"),
        ('title = "t"', 'title = "t"\ntitle = "u"', 4, "is given twice", "one of them"),
        ('title = "t"', "duration = 5s  # short", 3, "duration: 5s has no quotes", 'duration = "5s"'),
        ('title = "t"', "title = \u201ct\u201d", 3, "column 9: \u201c is a typographic quotation mark", 'write "'),
        ('title = "t"', "title = \u2018t\u2019", 3, "column 9: \u2018 is a typographic", 'write "'),
        ('title = "t"', 'title = "t\u201d', 3, "column 11: \u201d is a typographic quotation mark", 'write "'),
        ('title = "t"', 'title\u00a0= "t"', 3, "column 6: U+00A0 is a typographic space", "plain space"),
        ('title = "t"', "window = \u20135", 3, "column 10: \u2013 is a typographic dash", "write -"),
        ('title = "t"', "title = 1 2  # it\u2019s", 3, "expected newline", "TOML"),
        ("[server]", '[wire]\nkind = "rign"\n[server]', 5, 'wire.kind is "rign"', 'did you mean "ring"?'),
        ("[server]", "wire = 1\n[server]", 4, "wire is 1", "write [wire]"),
    ],
)
def test_an_error_names_its_line(tmp_path, old, new, line, what, remedy):
    error = refused(tmp_path, changed(old, new))
    assert error.message.startswith(f"{tmp_path / 'test.toml'}:{line}: ")
    assert what in error.message
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("data", "path", "what"),
    [
        ({"duration": "24h", "window": "1ms"}, "window", "more than 100000 windows"),
        ({"accounting": {"sample_every": 32}}, "sample_every", "not a prime"),
        ({"record": "../x.pcap"}, "record", "not the name of a pcap"),
        ({"record": "run.json"}, "record", "not the name of a pcap"),
        ({"wire": {"kind": "null", "faults": {"loss": 0.1}}, "server": {}}, "faults", "cannot be emulated"),
        ({"wire": {"kind": "null"}}, "wire", "no endpoint"),
        ({"wire": {"kind": "null"}, "client": {}, "server": {}}, "client", "nothing connects"),
        ({"wire": {"kind": "null"}, "client": {}}, "client", "closed loop"),
        ({"wire": {"kind": "null"}, "client": {"rate": "1Mpps"}}, "timeout", "stays in flight until its timeout"),
        ({"wire": {"kind": "pcap", "replay": "x"}, "client": {}}, "client", "sends no responses to a client"),
        ({"wire": {"kind": "af_xdp"}, "server": {"interface": "x", "mtu": 1779}}, "mtu", "too much for XDP"),
        ({"server": {"ring_size": 1000}}, "ring_size", "not a power of two"),
        ({"server": {"tx_descriptors": 100}}, "tx_descriptors", "not a power of two"),
        (
            {"server": {"thresholds": {"rx_free": 2048}}},
            "rx_free",
            "rx_free is 2048, more than the 1024 descriptors of",
        ),
        ({"server": {"thresholds": {"tx_rs": -1}}}, "tx_rs", "tx_rs is -1"),
        ({"server": {"mempool": {"size": 100, "cache": 67}}}, "cache", "more than the pool's size / 1.5"),
        ({"server": {"port": 65535}, "workload": [{"handler": "l_app", "dispatchers": 2}]}, "port", "above 65535"),
        ({"server": {"cores": [0], "worker": [{"core": 0, "stages": ["nic_rx:0"]}]}}, "cores", "both cores"),
        ({"workload": [{"handler": "l_app", "dispatchers": 17}]}, "workload", "at most 16 queues"),
        ({"client": {"inflight": 16}}, "inflight", "a full batch can never be collected"),
        (
            {"client": {"batch": {"app_tx": 64}}, "workload": [{"handler": "x", "apps": 32}]},
            "app_tx",
            "only 32 messages",
        ),
        ({"workload": [{"handler": "l_app", "inflight": 8}]}, "inflight", "only 8 messages"),
        ({"client": {"mtu": 576}}, "mtu", "server.mtu 1500"),
        (
            {"client": {"rate": "1kpps"}, "workload": [{"handler": "a", "rate": "2kpps"}]},
            "rate",
            "client.rate has no effect",
        ),
        ({"client": {"ip": "10.77.0.2"}}, "ip", "the same ip"),
        ({"client": {"mac": "02:77:74:00:00:02"}}, "mac", "the same mac"),
        ({"client": {"mac": "nic"}}, "mac", 'a port on the wire "ring" has no MAC that could be the client\'s'),
        ({"wire": {"kind": "tap"}, "server": {"interface": "x", "mac": "nic"}}, "mac", "has no MAC that could be"),
        ({"workload": [{"packet_handler": "echo", "response": 22}]}, "response", "returns the bytes of the request"),
        ({"workload": [{"handler": "a", "packet_options": {"x": 1}}]}, "packet_options", "need a message handler"),
        ({"workload": [{"handler": "a", "name": "x"}, {"handler": "b", "name": "x"}]}, "name", 'are called "x"'),
        (
            {"client": {"mtu": 68}, "server": {"mtu": 68}, "workload": [{"handler": "a", "request": "4MiB"}]},
            "request",
            "at most 65535 are possible",
        ),
    ],
)
def test_an_impossible_scenario_is_refused(tmp_path, data, path, what):
    error = refused(tmp_path, ECHO | data)
    lines = written(tmp_path, ECHO | data).read_text().splitlines()
    place, _, said = error.message.removeprefix(f"{tmp_path / 'test.toml'}:").partition(": ")
    assert what in said
    assert f'"{path}"' in lines[int(place) - 1] or path in ("timeout",)


def test_of_several_errors_the_first_is_said_with_their_number(tmp_path):
    one = refused(tmp_path, {"colour": 1} | ECHO).message
    assert one.endswith('unknown key "colour" in the scenario')
    assert refused(tmp_path, {"colour": 1} | ECHO | {"sound": 1}).message == f"{one} (the first of 2 errors)"


def test_a_set_changes_one_key(tmp_path):
    scenario = loaded(
        tmp_path,
        GOOD,
        "server.batch.app_rx=64",
        "workload.1.request=1KiB",
        "duration=2s",
        'title="a = b"',
        "client.cores=[0]",
    )
    assert scenario.server.batch.app_rx == 64
    assert scenario.server.batch.disp_rx == 32
    assert [workload.request for workload in scenario.workload] == [86, 1024]
    assert (scenario.duration, scenario.title, scenario.client.cores) == (2 * 10**9, "a = b", (0,))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("server.batch.app_rx=0", "server.batch.app_rx is 0"),
        ("workload.2.request=86", "the list has 2 entries"),
        ("workload.x=86", "the list has 2 entries"),
        ("title.x=1", "title is not a table"),
        ("wire.speed.x=1", 'unknown key "speed" in [wire]'),
        ("server.batch=[]", "server.batch is a list"),
        ("server.ring_size=3", "not a power of two"),
        ("client.inflight=3", "a full batch can never be collected"),
        ("nothing", "not a key and its value"),
        ("=1", "not a key and its value"),
        ("a..b=1", "not a key and its value"),
        (".".join("abcdefghi") + "=1", "not a key and its value"),
    ],
)
def test_an_error_in_a_set_names_the_set(tmp_path, change, what):
    error = refused(tmp_path, GOOD, change)
    assert error.message.startswith(f"--set {change}: ")
    assert what in error.message


def test_a_key_of_a_list_without_its_place_is_written_with_it(tmp_path):
    assert refused(tmp_path, GOOD, "workload.request=1 KiB").remedy == "--set 'workload.0.request=1 KiB'"


def test_an_error_in_the_file_does_not_name_a_set(tmp_path):
    error = refused(tmp_path, changed("app_rx = 32", "app_rx = 0"), "server.batch.disp_rx=64")
    assert error.message.startswith(f"{tmp_path / 'test.toml'}:7: ")


@pytest.mark.parametrize("name", ["missing.toml", "", "\0"])
def test_a_file_that_cannot_be_read(tmp_path, name):
    with pytest.raises(UserError):
        load(tmp_path / name)


def test_a_word_is_a_shipped_scenario_and_else_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("echo", "echo.toml", "mine"):
        (tmp_path / name).write_text(GOOD)
    assert load("echo").source.file.samefile(SHIPPED / "echo.toml")
    for name in ("./echo", tmp_path / "echo", "echo.toml", "mine"):
        assert load(name).question == "What is asked?", name


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"title = 'x'\ny = '\xff'\n", ":2: byte 0xff is not UTF-8"),
        (b"#" * (1 << 17), "larger than"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
    ],
    ids=["binary", "large", "deep"],
)
def test_files_that_are_not_scenarios(tmp_path, content, words):
    file = tmp_path / "test.toml"
    file.write_bytes(content)
    with pytest.raises(UserError, match=words):
        load(file)


def test_every_shipped_scenario_opens_with_its_question():
    files = sorted(SHIPPED.glob("*.toml"))
    assert len(files) >= 20
    for file in files:
        assert "?" in load(file).question, file


@pytest.mark.parametrize(
    ("name", "words"),
    [("bom.toml", None), ("smart.toml", ":2: column 12: \u201c is a typographic quotation mark")],
)
def test_files_of_users(name, words):
    if words is None:
        assert load(FILES / name).title == "L-App echo"
        return
    with pytest.raises(UserError) as refused:
        load(FILES / name)
    assert words in refused.value.message and 'write "' in refused.value.remedy


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_texts_as_editors_save_them(tmp_path, encoding, end):
    text = (FILES / "bom.toml").read_text(encoding="utf-8-sig")
    (tmp_path / "x.toml").write_bytes(text.replace("\n", end).encode(encoding))
    assert load(tmp_path / "x.toml").title == "L-App echo"
