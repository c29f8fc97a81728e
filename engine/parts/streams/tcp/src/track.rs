//! What smoltcp does not count, read from the packets that pass.

use smoltcp::wire::{IpAddress, IpEndpoint, IpProtocol, Ipv4Packet, TcpPacket, TcpSeqNumber};

#[repr(C)]
#[derive(Default, Clone, Copy)]
pub struct Counters {
    sent_segments: u64,
    retransmitted_segments: u64,
    timeouts: u64,
    window_probes: u64,
    acknowledged_bytes: u64,
}

/// smoltcp's least retransmission time-out (RTTE_MIN_RTO), which no setting changes.
const LEAST_RTO_US: i64 = 1_000_000;

#[derive(Default)]
pub struct Track {
    pub counters: Counters,
    /// Of the stream: what follows our SYN.
    pub first_byte: Option<TcpSeqNumber>,
    /// What the peer acknowledged last, and where our FIN stands.
    last_ack: Option<TcpSeqNumber>,
    fin: Option<TcpSeqNumber>,
    /// Behind the last segment, and behind the furthest one.
    next: Option<TcpSeqNumber>,
    furthest: Option<TcpSeqNumber>,
    /// When the retransmission timer began: at the last new acknowledgement, or the first segment after all
    /// were acknowledged.
    progress_us: i64,
    acknowledged_all: bool,
    peer_window_is_zero: bool,
}

impl Track {
    /// The peer has sent this segment.
    pub fn taken(&mut self, tcp: &TcpPacket<&[u8]>) {
        self.peer_window_is_zero = tcp.window_len() == 0 && !tcp.syn();
        self.acknowledged_all = tcp.ack() && Some(tcp.ack_number()) == self.furthest;
    }

    /// TCP has taken this number for an acknowledgement. How many bytes it acknowledges is reckoned here from
    /// the peer's numbers alone, so that the send buffer's account has a witness.
    pub fn acknowledged(&mut self, ack: TcpSeqNumber, now_us: i64) {
        self.progress_us = now_us;
        let Some(last) = self.last_ack.or(self.first_byte).filter(|last| ack > *last) else { return };
        let of_fin = self.fin.is_some_and(|fin| ack > fin && last <= fin);
        self.counters.acknowledged_bytes += (ack - last) as u64 - u64::from(of_fin);
        self.last_ack = Some(ack);
    }

    pub fn made(&mut self, packet: &[u8], now_us: i64) {
        let Some(tcp) = segment(packet) else { return };
        let bytes = tcp.segment_len();
        if tcp.rst() || bytes == 0 {
            return;
        }
        if self.peer_window_is_zero && tcp.payload().len() == 1 {
            self.counters.window_probes += 1;
            return;
        }
        let begin = tcp.seq_number();
        if tcp.syn() && self.first_byte != Some(begin + 1) {
            // a listener's next peer, after one that did not complete its handshake
            *self = Track { counters: self.counters, first_byte: Some(begin + 1), ..Track::default() };
        }
        if tcp.fin() {
            self.fin = Some(begin + tcp.payload().len());
        }
        self.counters.sent_segments += 1;
        self.retransmission(begin, now_us);
        let end = begin + bytes;
        self.next = Some(end);
        self.furthest = Some(self.furthest.map_or(end, |f| if end > f { end } else { f }));
        self.acknowledged_all = false;
    }

    fn retransmission(&mut self, begin: TcpSeqNumber, now_us: i64) {
        let again = self.furthest.is_some_and(|furthest| begin < furthest);
        self.counters.retransmitted_segments += u64::from(again);
        let goes_back = self.next.is_some_and(|next| begin < next);
        if goes_back && now_us - self.progress_us >= LEAST_RTO_US {
            self.counters.timeouts += 1;
        }
        if goes_back || self.acknowledged_all || self.next.is_none() {
            self.progress_us = now_us;
        }
    }
}

fn segment(packet: &[u8]) -> Option<TcpPacket<&[u8]>> {
    let ip = Ipv4Packet::new_checked(packet).ok()?;
    let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
    (ip.next_header() == IpProtocol::Tcp).then_some(tcp)
}

pub fn segment_between(packet: &[u8], from: IpEndpoint, to: IpEndpoint) -> Option<TcpPacket<&[u8]>> {
    let tcp = segment(packet)?;
    let ip = Ipv4Packet::new_unchecked(packet);
    let end = |address, port| IpEndpoint::new(IpAddress::Ipv4(address), port);
    let matches = end(ip.src_addr(), tcp.src_port()) == from && end(ip.dst_addr(), tcp.dst_port()) == to;
    matches.then_some(tcp)
}

/// What a segment acknowledges, but for one that ends the connection.
pub fn acknowledged_by(tcp: &TcpPacket<&[u8]>) -> Option<TcpSeqNumber> {
    (tcp.ack() && !tcp.rst()).then(|| tcp.ack_number())
}
