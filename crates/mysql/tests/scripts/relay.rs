//! The captured conversations as a proxy sees them: whose commands, replies and statements it knows without reading them.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::{CommandByte, Greeting, HandshakeResponse};
use onecopy_mysql_proto::relay::login::{Login, LoginPacket};
use onecopy_mysql_proto::relay::{Event, Relay};
use onecopy_testkit::script::Script;

use crate::login::{Style, login, login_multi};
use crate::text::both_styles;

fn scripts() -> Vec<Script> {
    let mut scripts = Vec::new();
    scripts.extend(both_styles!(login, "text"));
    scripts.extend(both_styles!(login_multi, "multi"));
    scripts.extend(both_styles!(login, "error_in_rows"));
    scripts.extend(both_styles!(login, "prepared"));
    scripts.extend(both_styles!(login, "changed_columns"));
    scripts.extend(both_styles!(login, "returning"));
    scripts.extend(both_styles!(login, "session"));
    scripts.extend(both_styles!(login, "long_data"));
    let cached = Script::parse(include_str!("data/cached_metadata.txt"));
    scripts.push(login(Style::CachedMetadata).then(&cached));
    scripts
}

#[test]
fn every_captured_conversation_is_followed_however_it_is_cut() {
    for script in scripts() {
        let (agreed, conversation) = logged_in(&script);
        let expected = conversation.expected();
        assert!(expected.commands.len() > 1 && expected.ends.len() > 1);
        let mut ways = vec![usize::MAX, 1, 2, 3, 7, 100];
        ways.extend(4096..4100);
        for most in ways {
            let seen = conversation.play(agreed, |bytes| bytes.chunks(most).collect());
            assert_eq!(seen, expected, "in pieces of {most}");
        }
        let longest = conversation.steps.iter().map(|(_, server)| server.len());
        for place in 0..longest.max().unwrap() {
            let seen = conversation.play(agreed, |bytes| {
                let (head, tail) = bytes.split_at(place.min(bytes.len()));
                vec![head, tail]
            });
            assert_eq!(seen, expected, "cut at {place}");
        }
    }
}

/// What is to be seen in a conversation.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// Where each begins in all that the client sends.
    commands: Vec<(usize, u8)>,
    /// Where each reply ends in all that the server sends, and whether with an error.
    ends: Vec<(usize, bool)>,
    statements: usize,
}

/// The command phase: what the client sends, and what the server says to it.
struct Conversation {
    steps: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The login, packet by packet: what was agreed on, and the rest.
fn logged_in(script: &Script) -> (Capabilities, Conversation) {
    let mut steps = script.steps();
    let (_, greeting) = steps.remove(0);
    let (response, reply) = steps.remove(0);
    let offered = Greeting::decode(&greeting[4..]).unwrap().capabilities;
    let response_payload = HandshakeResponse::decode(&response[4..]).unwrap();
    let agreed = offered & response_payload.capabilities;
    let mut login = Login::new(agreed, false, false);
    let mut response = response.to_vec();
    login.client(&mut response).unwrap();
    let mut reply = reply.to_vec();
    let said = login.server(&mut reply).unwrap();
    assert!(matches!(said, LoginPacket::Ok { .. }) && login.is_over());
    let own = |(client, server): (&[u8], &[u8])| (client.to_vec(), server.to_vec());
    let steps = steps.into_iter().map(own).collect();
    (agreed, Conversation { steps })
}

impl Conversation {
    /// What the capture itself says: a command's packets count from 0, a reply continues until the next command.
    fn expected(&self) -> Seen {
        let mut seen = Seen::default();
        let (mut client_at, mut server_at) = (0, 0);
        for (client, server) in &self.steps {
            let mut last = 0;
            for (place, packet) in packets(client) {
                assert_eq!(packet[3], 0, "no command of these has two packets");
                last = packet[4];
                seen.commands.push((client_at + place, last));
                match CommandByte(last) {
                    CommandByte::STMT_CLOSE => seen.statements -= 1,
                    CommandByte::RESET_CONNECTION => seen.statements = 0,
                    _ => {}
                }
            }
            client_at += client.len();
            server_at += server.len();
            if let Some((_, end)) = packets(server).last() {
                let failed = end[4] == 0xFF;
                seen.ends.push((server_at, failed));
                let prepares = last == CommandByte::STMT_PREPARE.0 && !failed;
                seen.statements += usize::from(prepares);
            }
        }
        seen
    }

    fn play<'b>(
        &'b self,
        capabilities: Capabilities,
        cut: impl Fn(&'b [u8]) -> Vec<&'b [u8]>,
    ) -> Seen {
        let mut relay = Relay::new(capabilities);
        let mut seen = Seen::default();
        let (mut client_at, mut server_at) = (0, 0);
        for (client, server) in &self.steps {
            let mut bytes = Vec::new();
            for piece in cut(client) {
                bytes.extend_from_slice(piece);
                loop {
                    let passage = relay.client(&bytes).unwrap();
                    bytes.drain(..passage.pass);
                    if let Some(Event::Command { at, command }) = passage.event {
                        seen.commands.push((client_at + at, command.0));
                    }
                    client_at += passage.pass;
                    if passage.event.is_none() {
                        break;
                    }
                }
            }
            assert!(bytes.is_empty(), "all that came has passed");
            for piece in cut(server) {
                bytes.extend_from_slice(piece);
                loop {
                    let passage = relay.server(&bytes).unwrap();
                    bytes.drain(..passage.pass);
                    server_at += passage.pass;
                    match passage.event {
                        Some(Event::Done { failed, .. }) => seen.ends.push((server_at, failed)),
                        Some(event) => panic!("{event:?}"),
                        None => break,
                    }
                }
            }
            assert!(bytes.is_empty() && relay.is_idle());
        }
        assert_eq!(relay.commands(), seen.commands.len() as u64);
        seen.statements = relay.statements();
        seen
    }
}

/// Packets that lie together, with their headers, and where each begins.
fn packets(bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut packets = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0]);
        let end = at + 4 + usize::try_from(length).unwrap();
        packets.push((at, &bytes[at..end]));
        at = end;
    }
    packets
}
