//! One TCP connection of smoltcp behind a C interface. `../tcp.h` describes each function and type; this file
//! says only what stands behind them.

mod device;
mod track;

use core::slice;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Address, TcpPacket, TcpSeqNumber};

use device::{Device, TcpCopies};
use track::{Counters, acknowledged_by, segment_between};

#[repr(C)]
pub struct Settings {
    ip: u32,
    peer_ip: u32,
    port: u16,
    peer_port: u16,
    mtu: u16,
    checksums: bool,
    congestion: u8,
    seed: u64,
    send_buffer: *mut u8,
    receive_buffer: *mut u8,
    send_bytes: u64,
    receive_bytes: u64,
}

#[repr(u8)]
pub enum ConnectionState {
    Idle,
    Connecting,
    Listening,
    Open,
    PeerFinished,
    Finishing,
    Closed,
    Reset,
}

pub struct Connection {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    device: Device,
    local: (Ipv4Address, u16),
    peer: (Ipv4Address, u16),
    started: bool,
    /// The peer has acknowledged our FIN.
    finished: bool,
    committed: u64,
}

impl Connection {
    fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.socket)
    }

    fn socket_mut(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    fn listens(&self) -> bool {
        self.peer.0.is_unspecified()
    }

    /// A segment from the peer.
    fn segment<'a>(&self, packet: &'a [u8]) -> Option<TcpPacket<&'a [u8]>> {
        let socket = self.socket();
        segment_between(packet, socket.remote_endpoint()?, socket.local_endpoint()?)
    }

    /// Keeps what a closed socket does not tell: whether it was closed from both ends. `segment` has brought
    /// it here from `before`.
    fn note_end(&mut self, before: State, segment: &TcpPacket<&[u8]>) {
        self.finished |= match self.socket().state() {
            State::FinWait2 | State::TimeWait => true,
            State::Closed => before == State::LastAck && !segment.rst(),
            _ => false,
        };
    }
}

/// A smallest IP packet that every link carries (RFC 791).
const LEAST_MTU: u16 = 68;
/// smoltcp's limit for what it receives; what is sent must also stay within half of all sequence numbers.
const MOST_BUFFER: u64 = 1 << 30;

/// Whether smoltcp takes these, which it would else say by a panic.
fn is_possible(s: &Settings) -> bool {
    let unicast = |ip| IpAddress::Ipv4(Ipv4Address::from_bits(ip)).is_unicast();
    let peer = s.peer_ip == 0 || (unicast(s.peer_ip) && s.peer_port > 0);
    let buffer = |bytes| (1..=MOST_BUFFER).contains(&bytes);
    s.mtu >= LEAST_MTU
        && unicast(s.ip)
        && s.port > 0
        && peer
        && buffer(s.send_bytes)
        && buffer(s.receive_bytes)
}

fn buffer(at: *mut u8, bytes: u64) -> SocketBuffer<'static> {
    // The caller leaves the memory to the connection until it is freed.
    SocketBuffer::new(unsafe { slice::from_raw_parts_mut(at, bytes as usize) })
}

fn congestion(number: u8) -> CongestionControl {
    match number {
        1 => CongestionControl::Reno,
        2 => CongestionControl::Cubic,
        _ => CongestionControl::None,
    }
}

fn open(s: &Settings) -> Box<Connection> {
    let mut socket =
        Socket::new(buffer(s.receive_buffer, s.receive_bytes), buffer(s.send_buffer, s.send_bytes));
    socket.set_congestion_control(congestion(s.congestion));
    // A write is on its way at once, and so is the word that it arrived: one ACK answers a burst of packets.
    socket.set_nagle_enabled(false);
    socket.set_ack_delay(None);

    let mut device = Device::new(s.mtu, s.checksums);
    let mut config = Config::new(HardwareAddress::Ip);
    config.random_seed = s.seed;
    let mut interface = Interface::new(config, &mut device, Instant::ZERO);
    let ip = Ipv4Address::from_bits(s.ip);
    interface.update_ip_addrs(|all| {
        // of prefix 0: every peer is on the link, whose frames are the user's
        all.push(IpCidr::new(IpAddress::Ipv4(ip), 0)).expect("an interface has room for one address");
    });
    let mut sockets = SocketSet::new(Vec::from([SocketStorage::EMPTY]));
    let handle = sockets.add(socket);
    let mut connection = Box::new(Connection {
        interface,
        sockets,
        socket: handle,
        device,
        local: (ip, s.port),
        peer: (Ipv4Address::from_bits(s.peer_ip), s.peer_port),
        started: false,
        finished: false,
        committed: 0,
    });
    if connection.listens() {
        let local = connection.local;
        connection.socket_mut().listen(local).expect("a new socket listens on a port");
        connection.started = true;
    }
    connection
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_open(settings: &Settings) -> *mut Connection {
    if is_possible(settings) { Box::into_raw(open(settings)) } else { core::ptr::null_mut() }
}

/// # Safety
/// `c` is null, or comes from `wt_tcp_open` and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wt_tcp_free(c: *mut Connection) {
    if !c.is_null() {
        drop(unsafe { Box::from_raw(c) });
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_connect(c: &mut Connection) {
    if c.started {
        return;
    }
    c.started = true;
    let (peer, local) = (c.peer, c.local);
    let socket = c.sockets.get_mut::<Socket>(c.socket);
    socket.connect(c.interface.context(), peer, local).expect("a new socket connects to a peer with a port");
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_finish(c: &mut Connection) {
    c.socket_mut().close();
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_abort(c: &mut Connection) {
    c.socket_mut().abort();
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_state_of(c: &Connection) -> ConnectionState {
    match c.socket().state() {
        State::Closed if !c.started => ConnectionState::Idle,
        State::Closed if c.finished => ConnectionState::Closed,
        State::Closed => ConnectionState::Reset,
        State::Listen | State::SynReceived => ConnectionState::Listening,
        State::SynSent => ConnectionState::Connecting,
        State::Established => ConnectionState::Open,
        State::CloseWait => ConnectionState::PeerFinished,
        State::FinWait1 | State::LastAck | State::Closing => ConnectionState::Finishing,
        // our FIN is acknowledged: the peer has everything
        State::FinWait2 | State::TimeWait => ConnectionState::Closed,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_read_counters(c: &Connection, out: &mut Counters) {
    *out = c.device.track.counters;
}

/// # Safety
/// `packet` has `bytes` bytes, `reply` has room for an MTU of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wt_tcp_take_packet(
    c: &mut Connection,
    now_us: i64,
    packet: *const u8,
    bytes: u32,
    reply: *mut u8,
) -> u32 {
    let packet = unsafe { slice::from_raw_parts(packet, bytes as usize) };
    let segment = c.segment(packet);
    let (state, queued) = (c.socket().state(), c.socket().send_queue());
    if let Some(segment) = &segment {
        c.device.track.taken(segment);
    }
    c.device.take(packet, reply, now_us);
    c.interface.poll_ingress_single(Instant::from_micros(now_us), &mut c.device, &mut c.sockets);
    if let Some(segment) = &segment {
        c.note_end(state, segment);
        if c.socket().send_queue() < queued {
            c.device.track.acknowledged(segment.ack_number(), now_us);
        }
    }
    c.device.made()
}

/// # Safety
/// `to` has room for an MTU of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wt_tcp_make_packet(
    c: &mut Connection,
    now_us: i64,
    to: *mut u8,
    copies: Option<&mut TcpCopies>,
) -> u32 {
    c.device.make_at(to, copies, now_us);
    c.interface.poll_egress(Instant::from_micros(now_us), &mut c.device, &mut c.sockets);
    c.device.made()
}

/// # Safety
/// `packet` has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wt_tcp_would_empty(c: &Connection, packet: *const u8, bytes: u32) -> bool {
    let packet = unsafe { slice::from_raw_parts(packet, bytes as usize) };
    // numbers of sequence wrap, a stream's position does not
    let end = c.device.track.first_byte.map(|first| TcpSeqNumber(first.0.wrapping_add(c.committed as i32)));
    let acknowledged = || c.segment(packet).as_ref().and_then(acknowledged_by);
    c.socket().may_send() && c.socket().send_queue() > 0 && end.is_some() && acknowledged() == end
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_send_at(c: &mut Connection) -> *mut u8 {
    let socket = c.socket_mut();
    socket.send(|room| (0, room.as_mut_ptr())).unwrap_or(core::ptr::null_mut())
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_commit(c: &mut Connection, at: *const u8, bytes: u64) -> bool {
    let sent = c.socket_mut().send(|room| {
        let fits = core::ptr::eq(room.as_ptr(), at) && bytes <= room.len() as u64;
        (if fits { bytes as usize } else { 0 }, fits)
    });
    let fits = sent.unwrap_or(false);
    c.committed += if fits { bytes } else { 0 };
    fits
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_unacknowledged(c: &Connection) -> u64 {
    c.socket().send_queue() as u64
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_received(c: &mut Connection, at: &mut *const u8) -> u64 {
    let found = c.socket_mut().recv(|bytes| (0, (bytes.as_ptr(), bytes.len() as u64)));
    let (first, count) = found.unwrap_or((core::ptr::null(), 0));
    *at = first;
    count
}

#[unsafe(no_mangle)]
pub extern "C" fn wt_tcp_consume(c: &mut Connection, bytes: u64) {
    let consumed = c.socket_mut().recv(|all| (bytes as usize, all.len() as u64 >= bytes));
    debug_assert!(consumed == Ok(true));
}
