//! Adds the inputs that fuzzing starts from to the corpora: `cargo run -p onecopy-fuzz --example seeds`.
//!
//! They are the conversations captured from servers that the client's tests play, and what our own encoders write.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use onecopy_fuzz::corpus;
use onecopy_fuzz::stream::{ANSWERED, RAW, REPEAT, RESTART};
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::codec::Put;
use onecopy_mysql_proto::compression::{Algorithm, Encoder, Method};
use onecopy_mysql_proto::packet::{
    AuthMoreData, AuthSwitchRequest, ConnectAttributes, Greeting, HandshakeResponse, SslRequest,
};
use onecopy_net::proxy_protocol::Addresses;
use onecopy_testkit::script::hex;

/// DEPRECATE_EOF, SESSION_TRACK, CACHE_METADATA and PROGRESS as bits of `reply_capabilities`.
const DEPRECATE_EOF: u8 = 1;
const SESSION_TRACK: u8 = 2;
const CACHE_METADATA: u8 = 4;
const PROGRESS: u8 = 32;

/// Ways to cut a stream: whole, byte by byte, in random pieces.
const PIECES: [u8; 3] = [0, 1, 77];

fn main() -> io::Result<()> {
    let mut seeds = Seeds::default();
    seeds.scripts()?;
    seeds.other_commands()?;
    seeds.logins()?;
    seeds.exchanges()?;
    seeds.conversations()?;
    seeds.resp()?;
    seeds.proxy_protocol()?;
    seeds.messages();
    seeds.compression()?;
    for (target, mut inputs) in seeds.inputs {
        if corpus::file(&target).exists() {
            inputs.extend(corpus::read(&target)?);
        }
        println!("{target}: {} inputs", corpus::write(&target, inputs)?);
    }
    Ok(())
}

#[derive(Default)]
struct Seeds {
    inputs: BTreeMap<String, Vec<Vec<u8>>>,
}

/// One packet of a capture.
struct Packet {
    is_server: bool,
    sequence: u8,
    payload: Vec<u8>,
}

impl Seeds {
    fn write(&mut self, target: &str, bytes: &[u8]) -> io::Result<()> {
        let inputs = self.inputs.entry(target.to_owned()).or_default();
        inputs.push(bytes.to_vec());
        Ok(())
    }

    /// Headers of the PROXY protocol, both versions of each.
    fn proxy_protocol(&mut self) -> io::Result<()> {
        let tcp = |source: &str, destination: &str| Addresses::Tcp {
            source: source.parse().expect("an address"),
            destination: destination.parse().expect("an address"),
        };
        for addresses in [
            Addresses::Local,
            Addresses::Unknown,
            tcp("192.0.2.7:50000", "192.0.2.1:3306"),
            tcp("[2001:db8::7]:50000", "[::1]:3306"),
            Addresses::Unix {
                source: b"\0abstract",
                destination: b"/run/mysqld.sock",
            },
        ] {
            // Of the others version 1 says that they are unknown.
            if matches!(addresses, Addresses::Tcp { .. } | Addresses::Unknown) {
                self.write("proxy_protocol", &addresses.to_v1())?;
            }
            self.write("proxy_protocol", &addresses.to_v2())?;
        }
        Ok(())
    }

    /// What servers send in streams and to subscribers; more is in the corpus.
    fn messages(&mut self) {
        let entries =
            "*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$6\r\namount\r\n$1\r\n7\r\n*2\r\n$3\r\n2-1\r\n*-1\r\n";
        for (reader, text) in [
            (0, format!("*1\r\n*2\r\n$6\r\norders\r\n{entries}")),
            (1, format!("%1\r\n$6\r\norders\r\n{entries}")),
            (
                2,
                format!("*3\r\n$3\r\n0-0\r\n{entries}*1\r\n$3\r\n4-0\r\n"),
            ),
            (
                3,
                ">3\r\n$8\r\nsmessage\r\n$6\r\nroom:1\r\n$5\r\nhello\r\n".to_owned(),
            ),
            (4, "main 127.0.0.1 7000 127.0.0.1 7001".to_owned()),
            (5, "1700000000000-1".to_owned()),
        ] {
            let inputs = self.inputs.entry("messages".to_owned()).or_default();
            inputs.push([&[reader], text.as_bytes()].concat());
        }
    }

    /// Streams of RESP of every type, good and bad, and calls of its client.
    fn resp(&mut self) -> io::Result<()> {
        let replies: [&[u8]; 12] = [
            b"+OK\r\n-ERR no\r\n:-5\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n_\r\n#t\r\n,1.5e3\r\n(-123\r\n",
            b"!5\r\nERR x\r\n=7\r\ntxt:abc\r\n",
            b"*3\r\n:1\r\n*0\r\n*2\r\n:2\r\n$30\r\nabcdefghijklmnopqrstuvwxyz0123\r\n",
            b"%1\r\n+k\r\n~1\r\n:1\r\n>2\r\n+invalidate\r\n_\r\n",
            b"|1\r\n+ttl\r\n:9\r\n*2\r\n|1\r\n+a\r\n:1\r\n:7\r\n:8\r\n",
            b"$?\r\n;4\r\nHell\r\n;5\r\no wor\r\n;0\r\n*?\r\n:1\r\n%?\r\n+k\r\n_\r\n.\r\n.\r\n",
            b"*1\r\n*1\r\n*1\r\n*1\r\n,inf\r\n,nan\r\n,-1e-5\r\n",
            b"$100\r\nabc",
            b"HTTP/1.1 400 Bad Request\r\n",
            b"*2\r\n:1\r\n>1\r\n+x\r\n",
            b"+a\nb\r\n",
            b":9223372036854775808\r\n",
        ];
        for (pieces, flags) in [(0, 0), (77, 15), (78, 16), (79, 32)] {
            for stream in replies {
                self.write("resp_replies", &[&[pieces, flags], stream].concat())?;
            }
        }
        let requests: [&[u8]; 7] = [
            b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n",
            b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$30\r\nabcdefghijklmnopqrstuvwxyz0123\r\n",
            b"SET k \"a \\x41\\n\" 'b\\'' pre\"fix\"\r\n\r\nPING\n",
            b"*0\r\n*-1\r\n*1\r\n:1\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\n",
            b"*1\r\n$-1\r\n",
            b"SET \"k",
        ];
        for (pieces, flags) in [(0, 0), (77, 7)] {
            for stream in requests {
                self.write("resp_requests", &[&[pieces, flags], stream].concat())?;
            }
        }
        for shape in 0..10 {
            for call in 0..9 {
                let calls = [
                    0,
                    shape,
                    0,
                    2,
                    3,
                    0,
                    call,
                    shape * 20,
                    8,
                    7,
                    call,
                    3,
                    0,
                    8,
                    2,
                    0,
                    0,
                    shape,
                    8,
                    255,
                ];
                self.write(
                    "resp_conversation",
                    &[&[shape * 25], calls.as_slice()].concat(),
                )?;
            }
        }
        Ok(())
    }

    fn scripts(&mut self) -> io::Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut paths: Vec<_> = fs::read_dir(root.join("../crates/mysql/tests/scripts/data"))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        paths.sort();
        for path in paths {
            let name = path.to_string_lossy().into_owned();
            let packets = parse(&fs::read_to_string(&path)?);
            let mut bits = SESSION_TRACK;
            if name.contains("deprecate_eof") || name.contains("cached") {
                bits |= DEPRECATE_EOF;
            }
            if name.contains("cached") {
                bits |= CACHE_METADATA;
            }
            if name.contains("progress") {
                bits |= DEPRECATE_EOF | PROGRESS;
            }
            self.each_packet(&packets, bits)?;
            self.replies(&packets, bits)?;
            self.commands(&packets)?;
            self.hostile(&packets, bits)?;
            self.relayed(&packets, bits)?;
        }
        Ok(())
    }

    /// Commands that no capture has: of bulks, cursors, local files, and with attributes.
    fn other_commands(&mut self) -> io::Result<()> {
        const COLUMN: &[u8] = b"\x03def\0\0\0\x01n\0\x0c\x2d\0\x04\0\0\0\xfd\0\0\0\0\0";
        const OK: &[u8] = b"\0\x02\0\x02\0\0\0";
        // Whether it is the server's, the sequence id, the payload.
        let conversations: [&[(bool, u8, &[u8])]; 3] = [
            &[
                (false, 0, b"\x16INSERT INTO t VALUES (?, ?)"),
                (true, 1, b"\0\x05\0\0\0\0\0\x02\0\0\0\0"),
                (true, 2, COLUMN),
                (true, 3, COLUMN),
                // A number and a text, NULL and DEFAULT.
                (
                    false,
                    0,
                    b"\xfa\x05\0\0\0\x80\0\x08\0\xfd\0\0\x07\0\0\0\0\0\0\0\0\x02hi\x01\x02",
                ),
                (true, 1, OK),
            ],
            &[
                (false, 0, b"\x16SELECT n"),
                (true, 1, b"\0\x07\0\0\0\x01\0\0\0\0\0\0"),
                (true, 2, COLUMN),
                (false, 0, b"\x17\x07\0\0\0\x01\x01\0\0\0"),
                (true, 1, b"\x01"),
                (true, 2, COLUMN),
                (true, 3, b"\xfe\0\0\x42\0\0\0"),
                (false, 0, b"\x1c\x07\0\0\0\x02\0\0\0"),
                (true, 1, b"\0\0\x01a"),
                (true, 2, b"\0\0\x01b"),
                (true, 3, b"\xfe\0\0\xc2\0\0\0"),
                (false, 0, b"\x1a\x07\0\0\0"),
                (true, 1, OK),
            ],
            &[
                (false, 0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t"),
                (true, 1, b"\xfb/etc/passwd"),
                (false, 2, b"1\ta\n2\tb\n"),
                (false, 3, b""),
                (true, 4, OK),
            ],
        ];
        for conversation in conversations {
            let packet = |&(is_server, sequence, payload): &(bool, u8, &[u8])| Packet {
                is_server,
                sequence,
                payload: payload.to_vec(),
            };
            let packets: Vec<_> = conversation.iter().map(packet).collect();
            self.each_packet(&packets, DEPRECATE_EOF)?;
            self.commands(&packets)?;
            self.hostile(&packets, DEPRECATE_EOF)?;
            self.relayed(&packets, DEPRECATE_EOF)?;
        }
        // One attribute, of a query and of an execution with no parameters.
        let attributes = Capabilities::QUERY_ATTRIBUTES | Capabilities::PROTOCOL_41;
        let query = b"\x03\x01\x01\0\x01\xfe\0\x0btraceparent\x0200SELECT 1";
        let execute = b"\x17\x07\0\0\0\x08\x01\0\0\0\x01\0\x01\xfe\0\x0btraceparent\x0200";
        self.packet(17, attributes, query)?;
        self.packet(7, attributes, query)?;
        self.packet(8, attributes, execute)
    }

    /// The whole capture as what a hostile peer says, and the calls that it answers.
    fn hostile(&mut self, packets: &[Packet], bits: u8) -> io::Result<()> {
        for (how, pieces) in [(0, 0), (1, 1), (2, 77), (3, 9), (4, 0)] {
            let mut calls = Vec::new();
            let mut groups = Vec::new();
            let mut is_first = false;
            for packet in packets {
                if packet.is_server {
                    let restart = if is_first { RESTART } else { 0 };
                    put_chunk(&mut groups, restart, &packet.payload);
                    is_first = false;
                    continue;
                }
                if is_first {
                    // The command before has no reply.
                    put_chunk(&mut groups, RESTART | RAW, b"");
                }
                is_first = true;
                if packet.sequence > 0 || packet.payload.first() == Some(&0x1C) {
                    continue; // the call before sends it
                }
                let call = match packet.payload.first() {
                    Some(0x03) if packet.payload.starts_with(b"\x03LOAD") => 0x8F,
                    Some(0x03) => how,
                    Some(0x16) => 4,
                    // A cursor, and what is fetched from it.
                    Some(0x17) if packet.payload.get(5) == Some(&1) => 0x8D,
                    Some(0x17) => 5,
                    Some(0xFA) => 0x8C,
                    Some(0x18) => 9,
                    Some(0x19) => 8,
                    Some(0x1F) => 12,
                    Some(0x02) => 11,
                    _ => 10,
                };
                calls.extend([call, how]);
            }
            let timeout_every = how * 3;
            let mut input = vec![1 | bits << 1, pieces, timeout_every, 0];
            put_short(&mut input, &calls);
            input.extend(groups);
            self.write("conversation", &input)?;
        }
        Ok(())
    }

    /// The whole capture in turns, as what passes between the two.
    fn relayed(&mut self, packets: &[Packet], bits: u8) -> io::Result<()> {
        let mut turns = Vec::new();
        let mut was_server = true;
        for (index, packet) in packets.iter().enumerate() {
            if !packet.is_server && !was_server {
                // The command before has no reply.
                put_chunk(&mut turns, RESTART | RAW, b"");
            }
            let is_turn = index > 0 && (packet.is_server != was_server || !packet.is_server);
            let restart = if is_turn { RESTART } else { 0 };
            put_chunk(&mut turns, restart, &packet.payload);
            was_server = packet.is_server;
        }
        for pieces in PIECES {
            self.write("relay", &[&[bits, pieces], &turns[..]].concat())?;
        }
        Ok(())
    }

    /// Frames of each algorithm, stored and compressed.
    fn compression(&mut self) -> io::Result<()> {
        let mut encoder = Encoder::new();
        for (kind, algorithm) in [(0, Algorithm::Zlib), (1, Algorithm::Zstd)] {
            let mut stream = Vec::new();
            for (id, length) in (0..).zip([5, 0, 49, 50, 300, 70_000]) {
                let content = b"a row, and another row; ".repeat(length / 24 + 1);
                let method = Method::new(algorithm, 6);
                let frame = encoder.frame(method, id, &content[..length]);
                let (frame, _) = frame.map_err(io::Error::other)?;
                stream.extend_from_slice(frame);
                for pieces in PIECES {
                    self.write("compression", &[&[kind, pieces, pieces], frame].concat())?;
                }
            }
            self.write("compression", &[&[kind | 4, 77, 78], &stream[..]].concat())?;
        }
        Ok(())
    }

    /// Every packet as each kind that it can be.
    fn each_packet(&mut self, packets: &[Packet], bits: u8) -> io::Result<()> {
        let capabilities = onecopy_fuzz::session::reply_capabilities(bits);
        for packet in packets {
            for kind in 0..onecopy_fuzz::packets::KINDS {
                if onecopy_fuzz::packets::decode(kind, capabilities, &packet.payload).is_ok() {
                    self.packet(kind, capabilities, &packet.payload)?;
                }
            }
        }
        Ok(())
    }

    fn packet(&mut self, kind: u8, capabilities: Capabilities, payload: &[u8]) -> io::Result<()> {
        let mut input = vec![kind];
        input.put_u64(capabilities.0);
        input.put(payload);
        self.write("packets", &input)
    }

    /// The server's packets behind each command: a reply to a query, an execution or a ping.
    fn replies(&mut self, packets: &[Packet], bits: u8) -> io::Result<()> {
        for (protocol, command) in [("text_rows", 0x03), ("binary_rows", 0x17)] {
            let mut all = Vec::new();
            for reply in replies_to(packets, command) {
                let chunks = chunks(reply, true);
                for pieces in PIECES {
                    self.write(protocol, &[&[bits, 0, pieces], &chunks[..]].concat())?;
                }
                let large: Vec<_> = repeat_long(&chunks);
                self.write(protocol, &[&[bits, 0, 9], &large[..]].concat())?;
                all.extend(chunks);
            }
            self.write(protocol, &[&[bits, 0, 200], &all[..]].concat())?;
        }
        let mut oks = vec![bits, 5];
        for packet in packets {
            if packet.is_server && matches!(packet.payload.first(), Some(0)) {
                put_long(&mut oks, &packet.payload);
            }
        }
        self.write("ok", &oks)
    }

    /// The client's packets, for a server behind its login.
    fn commands(&mut self, packets: &[Packet]) -> io::Result<()> {
        let own: Vec<_> = packets.iter().filter(|packet| !packet.is_server).collect();
        for pieces in PIECES {
            let mut input = vec![1, 1, pieces];
            let replies = [0, 18, 0, 4, 1, 5, 0, 3];
            put_short(&mut input, &replies);
            for packet in &own {
                put_chunk(&mut input, RESTART, &packet.payload);
            }
            self.write("server", &input)?;
        }
        Ok(())
    }

    fn logins(&mut self) -> io::Result<()> {
        for plugin in [
            &b"mysql_native_password"[..],
            b"caching_sha2_password",
            b"client_ed25519",
            b"sha256_password",
            b"mysql_clear_password",
            b"parsec",
        ] {
            let greeting = greeting(plugin);
            self.packet(0, Capabilities(0), &greeting)?;
            for (flags, pieces) in [(0, 0), (2, 1), (3, 77), (4, 2), (0x7A, 1)] {
                for tail in tails(plugin) {
                    let mut input = vec![flags, 0x3F, pieces];
                    put_chunk(&mut input, 0, &greeting);
                    for (head, payload) in tail {
                        put_chunk(&mut input, head, &payload);
                    }
                    self.write("greeting", &input)?;
                }
            }
            self.responses(plugin)?;
        }
        Ok(())
    }

    /// What clients answer, for the decoder and for a server.
    fn responses(&mut self, plugin: &[u8]) -> io::Result<()> {
        let mut attributes = Vec::new();
        ConnectAttributes::push(&mut attributes, b"_client_name", b"onecopy");
        for extra in [
            Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA,
            Capabilities::CONNECT_WITH_DB,
            Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        ] {
            let response = HandshakeResponse {
                capabilities: extra
                    | Capabilities::PLUGIN_AUTH
                    | Capabilities::CONNECT_ATTRS
                    | Capabilities::SESSION_TRACK,
                max_packet_bytes: 1 << 30,
                collation: 45,
                user: b"ada",
                auth_response: &[],
                database: (extra == Capabilities::CONNECT_WITH_DB).then_some(b"shop"),
                auth_plugin: Some(plugin),
                attributes: ConnectAttributes::from_encoded(&attributes),
                zstd_level: None,
            };
            let mut payload = Vec::new();
            response.encode(&mut payload).map_err(io::Error::other)?;
            self.packet(1, Capabilities(0), &payload)?;
            let mut ssl = Vec::new();
            SslRequest {
                capabilities: response.capabilities,
                max_packet_bytes: 1 << 30,
                collation: 45,
            }
            .encode(&mut ssl);
            self.packet(11, Capabilities(0), &ssl)?;
            for flags in [0_u8, 1, 3, 17, 33] {
                let mut input = vec![flags, 0, 1];
                put_short(&mut input, &[0, 1, 2]);
                if flags & 2 != 0 {
                    put_chunk(&mut input, 0, &ssl);
                }
                put_chunk(&mut input, 0, &payload);
                put_chunk(&mut input, ANSWERED, b"");
                for command in [&b"\x03SELECT 1"[..], b"\x0E", b"\x16SELECT ?", b"\x01"] {
                    // Behind a login a command's packets start at 0.
                    let mut raw = vec![command.len().to_le_bytes()[0], 0, 0, 0];
                    raw.put(command);
                    put_chunk(&mut input, RAW, &raw);
                }
                self.write("server", &input)?;
            }
        }
        Ok(())
    }

    fn exchanges(&mut self) -> io::Result<()> {
        for flags in 0..64_u8 {
            let mut honest = vec![0, flags, 0x3F];
            put_short(&mut honest, b"lovelace");
            put_short(&mut honest, if flags & 1 == 0 { b"" } else { b"byron" });
            put_short(&mut honest, b"caching_sha2_password");
            self.write("auth", &honest)?;
        }
        for plugin in [
            &b"mysql_native_password"[..],
            b"caching_sha2_password",
            b"client_ed25519",
            b"sha256_password",
            b"mysql_clear_password",
            b"mysql_old_password",
            b"parsec",
        ] {
            for channel in 0..4 {
                let mut switch = Vec::new();
                AuthSwitchRequest {
                    plugin,
                    data: b"0123456789abcdefghij\0",
                }
                .encode(&mut switch)
                .map_err(io::Error::other)?;
                let mut more = Vec::new();
                AuthMoreData { data: &[4] }.encode(&mut more);
                let mut server = vec![1, channel, 0x3F, 0];
                put_short(&mut server, plugin);
                put_short(&mut server, b"0123456789abcdefghij");
                put_long(&mut server, &switch);
                put_long(&mut server, &more);
                put_long(&mut server, b"\0\0\0\x02\0\0\0");
                self.write("auth", &server)?;
                let mut client = vec![2, channel | 0x18, 0, 0];
                put_short(&mut client, plugin);
                client.put_u8(1);
                put_short(&mut client, &[7; 32]);
                put_short(&mut client, b"password\0");
                self.write("auth", &client)?;
            }
        }
        self.keys()
    }

    /// Servers that offer a key, and those that send a salt.
    fn keys(&mut self) -> io::Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut paths: Vec<_> =
            fs::read_dir(root.join("../crates/mysql-proto/src/auth/public_key/data"))?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<_, _>>()?;
        paths.sort();
        let mut offers = vec![(&b"parsec"[..], b"P\0abcdefghijklmnopqr".to_vec())];
        for path in paths {
            let key = [&[1], &fs::read(path)?[..]].concat();
            offers.push((b"sha256_password", key.clone()));
            offers.push((b"caching_sha2_password", key));
        }
        for (plugin, offer) in offers {
            let nonce: &[u8] = match plugin {
                b"parsec" => b"0123456789abcdefghijklmnopqrstuv",
                _ => b"0123456789abcdefghij",
            };
            let mut switch = Vec::new();
            let data = &[nonce, b"\0"].concat()[..nonce.len() + usize::from(nonce.len() == 20)];
            AuthSwitchRequest { plugin, data }
                .encode(&mut switch)
                .map_err(io::Error::other)?;
            let ok = b"\0\0\0\x02\0\0\0";
            let full: &[&[u8]] = if plugin == b"caching_sha2_password" {
                &[&[1, 4]]
            } else {
                &[]
            };
            for channel in [0x40, 0x42] {
                let mut server = vec![1, channel, 0x3F, 0];
                put_short(&mut server, b"mysql_native_password");
                put_short(&mut server, b"0123456789abcdefghij");
                for packet in [&[&switch[..]], full, &[&offer, ok]].concat() {
                    put_long(&mut server, packet);
                }
                self.write("auth", &server)?;
            }
            let mut login = vec![0, 0xBF, 1];
            put_chunk(&mut login, 0, &greeting(b"mysql_native_password"));
            for packet in [&[&switch[..]], full, &[&offer, ok]].concat() {
                put_chunk(&mut login, ANSWERED, packet);
            }
            self.write("greeting", &login)?;
        }
        Ok(())
    }

    /// Operations for the targets whose inputs are lists of them: each alone, and all of them in several orders.
    fn conversations(&mut self) -> io::Result<()> {
        for target in ["round_trip", "conversation"] {
            for start in 0..48_u8 {
                let mut input = vec![start, start.wrapping_mul(5), start.wrapping_mul(37)];
                for step in 0..160_u8 {
                    input.push(
                        start
                            .wrapping_mul(7)
                            .wrapping_add(step.wrapping_mul(start | 1)),
                    );
                }
                self.write(target, &input)?;
            }
        }
        Ok(())
    }
}

fn parse(text: &str) -> Vec<Packet> {
    let mut steps: Vec<(bool, Vec<u8>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        let rest = match line.split_at_checked(2) {
            _ if line.is_empty() || line.starts_with('#') => continue,
            Some((side @ ("S " | "C "), rest)) => {
                steps.push((side == "S ", Vec::new()));
                rest
            }
            _ => line,
        };
        if let Some((_, bytes)) = steps.last_mut() {
            bytes.extend(hex(rest));
        }
    }
    let packets = steps.iter().flat_map(|(is_server, bytes)| {
        let mut rest = &bytes[..];
        std::iter::from_fn(move || {
            let ([low, high, _, sequence], behind) = rest.split_first_chunk()?;
            let (payload, later) =
                behind.split_at_checked(usize::from(u16::from_le_bytes([*low, *high])))?;
            rest = later;
            Some(Packet {
                is_server: *is_server,
                sequence: *sequence,
                payload: payload.to_vec(),
            })
        })
    });
    packets.collect()
}

/// The server's packets behind each command of that byte.
fn replies_to(packets: &[Packet], command: u8) -> Vec<Vec<&Packet>> {
    let mut replies = Vec::new();
    let mut wanted = false;
    for packet in packets {
        if !packet.is_server {
            wanted = packet.payload.first() == Some(&command);
            if wanted {
                replies.push(Vec::new());
            }
        } else if wanted && let Some(reply) = replies.last_mut() {
            reply.push(packet);
        }
    }
    replies
}

fn chunks(packets: Vec<&Packet>, restarts: bool) -> Vec<u8> {
    let mut input = Vec::new();
    for packet in packets {
        let restart = restarts && packet.sequence == 1;
        put_chunk(
            &mut input,
            if restart { RESTART } else { 0 },
            &packet.payload,
        );
    }
    input
}

/// The same with every chunk of more than 40 bytes repeated, which makes rows large and mostly malformed.
fn repeat_long(chunks: &[u8]) -> Vec<u8> {
    let mut input = onecopy_fuzz::input::Input::new(chunks);
    let mut large = Vec::new();
    while !input.is_empty() {
        let head = input.u16();
        let payload = input.slice(usize::from(head & 0x0FFF));
        let repeat = if payload.len() > 40 { REPEAT } else { 0 };
        put_chunk(&mut large, head & RESTART | repeat, payload);
    }
    large
}

fn put_chunk(input: &mut Vec<u8>, flags: u16, payload: &[u8]) {
    input.put_u16(flags | u16::try_from(payload.len()).unwrap_or(0));
    input.put(payload);
}

fn put_long(input: &mut Vec<u8>, bytes: &[u8]) {
    put_chunk(input, 0, bytes);
}

fn put_short(input: &mut Vec<u8>, bytes: &[u8]) {
    input.put_u8(u8::try_from(bytes.len()).unwrap_or(0));
    input.put(bytes);
}

fn greeting(plugin: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    let encoded = Greeting {
        server_version: b"5.5.5-10.11.19-MariaDB",
        connection_id: 3,
        nonce_head: *b"01234567",
        nonce_tail: b"89abcdefghij",
        // Everything but LONG_PASSWORD, as MariaDB says it.
        capabilities: Capabilities(0x0000_001D_81FF_FFFE),
        collation: 8,
        status_flags: onecopy_mysql_proto::StatusFlags::AUTOCOMMIT,
        auth_plugin: Some(plugin),
    }
    .encode(&mut payload);
    encoded.expect("a good greeting");
    payload
}

/// How servers continue behind a response.
fn tails(plugin: &[u8]) -> Vec<Vec<(u16, Vec<u8>)>> {
    let ok = vec![0, 0, 0, 2, 0, 0, 0];
    let denied = b"\xFF\x15\x04#28000Access denied".to_vec();
    let mut switch = Vec::new();
    let encoded = AuthSwitchRequest {
        plugin,
        data: b"abcdefghij0123456789\0",
    }
    .encode(&mut switch);
    encoded.expect("a good request");
    vec![
        vec![(ANSWERED, ok.clone())],
        vec![(ANSWERED, denied)],
        vec![(ANSWERED, switch.clone()), (ANSWERED, ok.clone())],
        vec![(ANSWERED, vec![1, 3]), (0, ok.clone())],
        vec![(ANSWERED, vec![1, 4]), (ANSWERED, ok.clone())],
        vec![(ANSWERED, switch), (ANSWERED, vec![1, 4]), (ANSWERED, ok)],
    ]
}
