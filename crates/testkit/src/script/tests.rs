use std::io::{IoSlice, IoSliceMut};

use onecopy_net::blocking::Transport;

use super::*;

const PING: &str = "
    # COM_PING
    C 01 00 00 00 0e
    S 07 00 00 01              | a header
      00 00 00 02  not a byte
      00 00 00";

fn player(delivery: Delivery, fault: Option<Fault>) -> Player {
    Player::new(Script::parse(PING).into(), delivery, fault)
}

fn write(player: &mut Player, bytes: &[u8]) -> std::io::Result<usize> {
    player.write_vectored(&[IoSlice::new(bytes)])
}

fn read(player: &mut Player) -> std::io::Result<Vec<u8>> {
    let (mut a, mut b) = ([0; 2], [0; 100]);
    let n = player.read_vectored(&mut [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)])?;
    Ok([&a[..n.min(2)], &b[..n.saturating_sub(2)]].concat())
}

#[test]
fn a_script_is_read_step_by_step() {
    let script = Script::parse(PING);
    assert_eq!(script.client, b"\x01\0\0\0\x0e");
    assert_eq!(script.server, b"\x07\0\0\x01\0\0\0\x02\0\0\0");
    assert_eq!(script.gates, [(0, 5)]);
    assert_eq!(script.server_marks, [0, 4, 11]);
    let twice = script.clone().then(&script);
    assert_eq!(twice.gates, [(0, 5), (11, 10)]);
}

#[test]
fn the_server_answers_once_it_was_asked_as_the_network_delivers() {
    let mut player = player(Delivery::AtMost(3), None);
    assert_eq!(write(&mut player, b"\x01\0\0\0\x0e").unwrap(), 3);
    assert_eq!(write(&mut player, b"\0\x0e").unwrap(), 2);
    assert_eq!(read(&mut player).unwrap(), b"\x07\0\0");
    assert!(player.finished().is_err());
    for _ in 0..3 {
        read(&mut player).unwrap();
    }
    assert_eq!(player.finished(), Ok(()));
}

#[test]
#[should_panic(expected = "the client's byte 4 differs")]
fn a_client_that_sends_another_byte_is_told_which() {
    let _ = write(&mut player(Delivery::Whole, None), b"\x01\0\0\0\x0f");
}

#[test]
#[should_panic(
    expected = "the client waits for byte 0 of the server, which waits for byte 0 of the client"
)]
fn two_sides_that_wait_for_each_other_are_told() {
    let _ = read(&mut player(Delivery::Whole, None));
}

#[test]
fn a_fault_comes_at_its_place() {
    use std::io::ErrorKind;
    let ping = b"\x01\0\0\0\x0e";
    let fault = |place, kind| Some(Fault { place, kind });
    for (kind, failed) in [
        (FaultKind::Eof, None),
        (FaultKind::Reset, Some(ErrorKind::ConnectionReset)),
        (FaultKind::Silence, Some(ErrorKind::WouldBlock)),
    ] {
        let mut player = player(Delivery::Whole, fault(Place::Server(5), kind));
        write(&mut player, ping).unwrap();
        assert_eq!(read(&mut player).unwrap().len(), 5);
        match failed {
            None => assert_eq!(read(&mut player).unwrap(), b""),
            Some(failed) => assert_eq!(read(&mut player).unwrap_err().kind(), failed),
        }
        player.repair();
        assert_eq!(read(&mut player).unwrap().len(), 6);
    }
    let mut player = player(Delivery::Whole, fault(Place::Client(2), FaultKind::Pipe));
    assert_eq!(write(&mut player, ping).unwrap(), 2);
    let refused = write(&mut player, &ping[2..]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::BrokenPipe);
    assert_eq!(read(&mut player).unwrap(), b"", "then the end");
}

#[test]
fn packets_end_with_an_empty_one_after_a_full_one() {
    let mut sequence = 255;
    let bytes = packets(&mut sequence, noise(0xFF_FFFF));
    assert_eq!(bytes[..4], [0xFF, 0xFF, 0xFF, 255]);
    assert_eq!(bytes[4 + 0xFF_FFFF..], [0, 0, 0, 0]);
    assert_eq!(sequence, 1);
    assert_eq!(lenenc(250), [250]);
    assert_eq!(lenenc(251), [0xFC, 251, 0]);
    assert_eq!(lenenc(0x1_0000), [0xFD, 0, 0, 1]);
    assert_eq!(lenenc(0x100_0000), [0xFE, 0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(text_row(&[Some(b"a"), None]), b"\x01a\xfb");
}

#[test]
fn steps_are_what_the_client_says_and_what_the_server_says_to_it() {
    let script = Script::parse("S 01\nC 02 03\nC 04\nS 05\nS 06\nC 07\nS 08\nC 09");
    let expected: [(&[u8], &[u8]); 4] = [
        (&[], &[1]),
        (&[2, 3, 4], &[5, 6]),
        (&[7], &[8]),
        (&[9], &[]),
    ];
    assert_eq!(script.steps(), expected);
    assert!(Script::new().steps().is_empty());
}
