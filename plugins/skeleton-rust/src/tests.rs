//! `cargo test` needs no engine. Each segment of a body is allocated separately.

use super::*;

/// A body divided into segments of these lengths.
struct Body {
    pieces: Vec<Vec<u8>>,
    segments: Vec<abi::Segment>,
}

impl Body {
    fn new(bytes: &[u8], cuts: &[usize]) -> Self {
        let mut rest = bytes;
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        for &cut in cuts {
            let (piece, after) = rest.split_at(cut);
            pieces.push(piece.to_vec());
            rest = after;
        }
        let view = |piece: &mut Vec<u8>| abi::Segment { data: piece.as_mut_ptr(), length: piece.len() as u32 };
        let segments = pieces.iter_mut().map(view).collect();
        Body { pieces, segments }
    }

    fn message(&self) -> abi::Message {
        let length = self.segments.iter().map(|segment| segment.length).sum();
        abi::Message { segments: self.segments.as_ptr(), segment_count: self.segments.len() as u32, length }
    }

    fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

fn exchange_of(request: &Body, room: &Body) -> abi::Exchange {
    abi::Exchange {
        request: request.message(),
        response: room.message(),
        copies: std::ptr::null_mut(),
        workload: 0,
        flags: 0,
        reserved: 0,
    }
}

fn responded(request: &Body, room: &Body) -> u32 {
    let mut exchange = exchange_of(request, room);
    let mut mine = Mine { add: 250 };
    unsafe { message((&mut mine as *mut Mine).cast(), &mut exchange, 1) };
    exchange.response.length
}

fn added(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte.wrapping_add(250)).collect()
}

#[test]
fn segments_may_be_cut_anywhere() {
    let bytes: Vec<u8> = (0..10).collect();
    for first in 0..=10 {
        for second in 0..=8 {
            let request = Body::new(&bytes, &[first, 0, 10 - first]);
            let room = Body::new(&[0xa5; 8], &[second, 8 - second]);
            assert_eq!(responded(&request, &room), 8);
            assert_eq!(room.bytes(), added(&bytes[..8]));
        }
    }
}

#[test]
fn a_response_is_no_longer_than_its_request() {
    let (request, room) = (Body::new(&[1, 2, 3], &[3]), Body::new(&[0xa5; 5], &[5]));
    assert_eq!(responded(&request, &room), 3);
    assert_eq!(room.bytes(), [251, 252, 253, 0xa5, 0xa5]);
}

#[test]
fn a_response_may_share_its_request_s_memory() {
    let both = Body::new(&[1, 2, 3, 4], &[1, 3]);
    assert_eq!(responded(&both, &both), 4);
    assert_eq!(both.bytes(), added(&[1, 2, 3, 4]));
}

#[test]
fn a_copy_without_a_copier_is_made_at_once_wherever_the_segments_are_cut() {
    for first in 0..=6 {
        let (request, room) = (Body::new(&[], &[]), Body::new(&[0xa5; 6], &[first, 0, 6 - first]));
        let mut exchange = exchange_of(&request, &room);
        unsafe { exchange.response_copy(2, [1, 2, 3, 4, 5, 6].as_ptr(), 6) };
        assert_eq!(room.bytes(), [0xa5, 0xa5, 1, 2, 3, 4]);
    }
}

#[test]
fn a_copier_gets_as_many_copies_as_there_is_room_for() {
    let (request, room) = (Body::new(&[], &[]), Body::new(&[0xa5; 8], &[8]));
    let mut copies: abi::Copies = unsafe { std::mem::zeroed() };
    let mut exchange = exchange_of(&request, &room);
    exchange.copies = &mut copies;
    let bytes = [1, 2, 3, 4, 5];
    for i in 0..5 {
        unsafe { exchange.response_copy(i as u32, bytes[i..].as_ptr(), 1) };
    }
    assert_eq!(copies.count, abi::MAX_COPIES);
    assert_eq!((copies.list[3].position, copies.list[3].length), (3, 1));
    assert_eq!(room.bytes(), [0xa5, 0xa5, 0xa5, 0xa5, 5, 0xa5, 0xa5, 0xa5]);
}
