//! What tests of commands share: the bytes of a request, the view of a reply.

use std::io::{IoSlice, Read};

use onecopy_resp_proto::{Limits, Reply, ReplyMode, Scanned, Scanner};
use onecopy_wire::{BufferConfig, Buffers, WriteQueue};

use crate::{Command, Request};

/// A command as it goes over the wire.
pub(crate) fn bytes(command: &impl Command) -> Vec<u8> {
    let (mut queue, mut parts) = (WriteQueue::new(), Vec::new());
    let mut request = Request::lending(&mut queue, &mut parts);
    command.encode(&mut request);
    request.end().unwrap();
    sent(&queue, &parts)
}

/// The same as text, CR LF as a space.
pub(crate) fn text(command: &impl Command) -> String {
    let text = String::from_utf8(bytes(command)).unwrap();
    text.replace("\r\n", " ").trim_end().to_owned()
}

/// All that waits in the queue.
pub(crate) fn sent(queue: &WriteQueue, parts: &[&[u8]]) -> Vec<u8> {
    let mut slices = [IoSlice::new(&[]); 64];
    let count = queue.slices(parts, &mut slices);
    slices[..count]
        .iter()
        .flat_map(|slice| slice.to_vec())
        .collect()
}

/// Shows the view of one reply.
pub(crate) fn with_reply<T>(mut bytes: &[u8], show: impl FnOnce(Reply<'_>) -> T) -> T {
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut scanner = Scanner::new(Limits::default());
    loop {
        match scanner.scan(&mut buffers, ReplyMode::Borrow).unwrap() {
            Scanned::Frame(frame) => return show(scanner.reply(frame, &buffers)),
            Scanned::NeedInput(_) => {
                buffers.prepare().unwrap();
                let n = bytes.read_vectored(buffers.targets().as_mut()).unwrap();
                assert!(n > 0, "the reply is cut");
                buffers.commit(n);
            }
            other => panic!("no reply but {other:?}"),
        }
    }
}
