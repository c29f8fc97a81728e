//! smoltcp's device: one packet in, or one packet out, in memory of the caller.

use core::slice;

use smoltcp::phy::{self, Checksum, ChecksumCapabilities, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

use crate::track::Track;

#[repr(C)]
pub struct TcpCopies {
    ticks: u64,
    packets: u64,
}

pub struct Device {
    capabilities: DeviceCapabilities,
    /// The packet to be taken, once.
    packet: Option<(*const u8, usize)>,
    /// Where the packet to be made goes, once.
    room: Option<*mut u8>,
    copies: *mut TcpCopies,
    made: u32,
    now_us: i64,
    pub track: Track,
}

impl Device {
    pub fn new(mtu: u16, checksums: bool) -> Device {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = usize::from(mtu);
        capabilities.checksum = ChecksumCapabilities::default();
        if !checksums {
            capabilities.checksum.tcp = Checksum::None;
        }
        Device {
            capabilities,
            packet: None,
            room: None,
            copies: core::ptr::null_mut(),
            made: 0,
            now_us: 0,
            track: Track::default(),
        }
    }

    pub fn take(&mut self, packet: &[u8], reply: *mut u8, now_us: i64) {
        self.packet = Some((packet.as_ptr(), packet.len()));
        self.make_at(reply, None, now_us);
    }

    pub fn make_at(&mut self, to: *mut u8, copies: Option<&mut TcpCopies>, now_us: i64) {
        self.room = Some(to);
        self.copies = copies.map_or(core::ptr::null_mut(), |c| c);
        self.made = 0;
        self.now_us = now_us;
    }

    /// Bytes of the packet that was made since.
    pub fn made(&self) -> u32 {
        self.made
    }
}

impl phy::Device for Device {
    type RxToken<'a> = Packet;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Packet, Room<'_>)> {
        let (at, bytes) = self.packet.take()?;
        Some((Packet { at, bytes }, Room(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
        self.room?;
        Some(Room(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.capabilities.clone()
    }
}

pub struct Packet {
    at: *const u8,
    bytes: usize,
}

impl phy::RxToken for Packet {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        // the caller's packet lives until its call returns, and so longer than this token
        f(unsafe { slice::from_raw_parts(self.at, self.bytes) })
    }
}

pub struct Room<'a>(&'a mut Device);

impl phy::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, f: F) -> R {
        let device = self.0;
        assert!(bytes <= device.capabilities.max_transmission_unit);
        let room = device.room.take().expect("one packet is made by a call");
        // the caller's room holds an MTU of bytes
        let packet = unsafe { slice::from_raw_parts_mut(room, bytes) };
        let result = match unsafe { device.copies.as_mut() } {
            None => f(packet),
            Some(copies) => timed(copies, || f(packet)),
        };
        device.made = bytes as u32;
        device.track.made(unsafe { slice::from_raw_parts(room, bytes) }, device.now_us);
        result
    }
}

fn timed<R>(copies: &mut TcpCopies, f: impl FnOnce() -> R) -> R {
    let start = ticks();
    let result = f();
    copies.ticks += ticks().wrapping_sub(start);
    copies.packets += 1;
    result
}

/// As rte_rdtsc() counts.
#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
fn ticks() -> u64 {
    let count: u64;
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
    count
}
