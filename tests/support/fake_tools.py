"""Executables with the names of tools of the host, which print recorded texts: they show how the monitor starts, stops and keeps, and count nothing."""

import os
from pathlib import Path

from windtunnel.measure.monitor.monitor import Monitor
from windtunnel.measure.monitor.tools import Processor

XEON = Processor("GenuineIntel", virtual=False, has_iio=True, root=True)
PERF = "1200,,LLC-loads,9,100.00,,\n132,,LLC-load-misses,9,100.00,,\n"
IOSTAT = (
    "   port             Inbound Read(MB)    Inbound Write(MB)    Outbound Read(MB)   Outbound Write(MB)\n"
    "0000:16                      6400                12800                    0                  112\n"
    "      10.000000000 seconds time elapsed\n"
)
TEXTS = {
    "pcm-pcie": "Skt,PCIRdCur,ItoM,RFO\n0,9,60,40(Total)\n0,1,20,5(Miss)\n0,8,40,35(Hit)\n",
    "pcm-memory": ",,System,System,System\nDate,Time,Read,Write,Memory\n2026-11-29,10:00:00.125,2000.00,600.00,2600.00\n",
    "pcm-iio": "Socket,Root Port,Name,Part,IB write,IB read,OB read,OB write,IOTLB Lookup,IOTLB Miss\n"
    "Socket0,16:02.0,IIO Stack 1 - PCIe0,Part0,1280000000,640000000,0,11200000,900,45\n",
    "pcm": "System;;\nDate;Time;EXEC\n2026-11-29;10:00:00;1.2\n",
}


def tool(folder: Path, name: str, body: str) -> Path:
    """An executable shell script."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / name
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return script


def printing(folder: Path, name: str, text: str) -> None:
    """A tool that prints a text, and notes in `order` that it began and ended."""
    (folder / f"{name}.txt").write_text(text)
    order = folder / "order"
    tool(folder, name, f'echo "begins $0 $@" >> {order}\ncat {folder}/{name}.txt\necho "ends $0" >> {order}')


def all_tools(folder: Path) -> Path:
    """A directory with all of them; perf prints by its arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        printing(folder, name, text)
    (folder / "perf.txt").write_text(PERF)
    (folder / "iostat.txt").write_text(IOSTAT)
    order = folder / "order"
    body = f'echo "begins $0 $@" >> {order}\ncase "$*" in *--iostat*) cat {folder}/iostat.txt;; *) cat {folder}/perf.txt;; esac'
    tool(folder, "perf", f'{body}\necho "ends $0" >> {order}')
    tool(folder, "ethtool", 'test "$1" = -S && printf "NIC statistics:\\n     rx_packets: 9\\n     rx_pause: 4\\n"')
    return folder


def monitor(request, place: Path, folder: Path, processor: Processor = XEON, **more) -> Monitor:
    """A monitor that looks programs up in `folder` alone, and is never stopped from outside."""
    place.mkdir(parents=True, exist_ok=True)
    never, _ = os.pipe()
    return Monitor(request, place, never, (folder,), processor, **more)
