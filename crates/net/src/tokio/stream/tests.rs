use std::future::poll_fn;

use tokio::net::UnixStream;

use super::*;
use crate::tokio::drive::start_tls;
use crate::{DriveError, TlsCache, TlsOptions, Verify};
use onecopy_wire::{BufferConfig, Buffers, WireError};

fn run(test: impl Future<Output = io::Result<()>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    runtime.unwrap().block_on(test).unwrap();
}

#[test]
fn bytes_come_through_in_order_and_are_counted() {
    run(async {
        let (ours, theirs) = UnixStream::pair()?;
        let (mut ours, mut theirs) = (Stream::from(ours), Stream::from(theirs));
        assert!(ours.is_unix() && ours.is_plain() && !ours.is_tls() && !ours.has_unsent());
        assert_eq!(ours.bytes_copied_by_tls(), 0);

        let parts = [IoSlice::new(b"first "), IoSlice::new(b"second")];
        let n = poll_fn(|context| ours.poll_write(context, &parts)).await?;
        assert_eq!(n, 12);
        let mut place = [0; 6];
        let mut slices = [IoSliceMut::new(&mut place)];
        let n = poll_fn(|context| theirs.poll_read(context, &mut slices)).await?;
        assert_eq!((n, &place[..]), (6, &b"first "[..]));
        let mut home = Vec::with_capacity(64);
        let n = poll_fn(|context| theirs.poll_read_spare(context, &mut home)).await?;
        assert_eq!((n, &home[..]), (6, &b"second"[..]));

        // Nothing waits: a read does, until something comes.
        let mut place = [0; 64];
        let mut slices = [IoSliceMut::new(&mut place)];
        let waits =
            poll_fn(|context| Poll::Ready(theirs.poll_read(context, &mut slices).is_pending()));
        assert!(waits.await);
        poll_fn(|context| ours.poll_write(context, &[IoSlice::new(b"third")])).await?;
        let n = poll_fn(|context| theirs.poll_read(context, &mut slices)).await?;
        assert_eq!(n, 5);

        ours.shutdown();
        let n = poll_fn(|context| theirs.poll_read(context, &mut slices)).await?;
        assert_eq!(n, 0);
        Ok(())
    });
}

#[test]
fn tls_that_was_not_offered_is_an_error() {
    run(async {
        let (ours, _theirs) = UnixStream::pair()?;
        let (mut ours, mut buffers) = (Stream::from(ours), Buffers::new(BufferConfig::default()));
        let started = start_tls::<WireError>(&mut buffers, &mut ours, &(), None).await;
        assert!(matches!(started, Err(DriveError::TlsUnavailable)));
        Ok(())
    });
}

#[test]
fn tls_begins_with_a_hello_that_can_be_dropped_and_leaves_no_memory() {
    run(async {
        let (ours, theirs) = UnixStream::pair()?;
        let mut ours = Stream::from(ours);
        let options = TlsOptions {
            verify: Verify::None,
            ..TlsOptions::default()
        };
        let connector = TlsConnector::new(&options, "localhost", &TlsCache::default()).unwrap();
        ours.offer_tls(connector);
        assert!(ours.offers_tls() && !ours.is_tls());
        assert!(ours.start_tls().unwrap() && ours.is_tls() && !ours.is_plain());
        assert!(!ours.shake_hands().unwrap() && ours.has_unsent());
        ours.drop_unsent();
        assert!(!ours.has_unsent());

        let received = |ours: &mut Stream, context: &mut Context<'_>| ours.poll_receive(context);
        let waits = poll_fn(|context| Poll::Ready(received(&mut ours, context).is_pending()));
        assert!(waits.await, "nothing has come");
        assert_eq!(theirs.try_write(b"abc")?, 3);
        assert_eq!(poll_fn(|context| received(&mut ours, context)).await?, 3);
        drop(theirs);
        assert_eq!(poll_fn(|context| received(&mut ours, context)).await?, 0);

        let held = |stream: &Stream| {
            stream
                .layers
                .as_ref()
                .unwrap()
                .tls
                .as_ref()
                .unwrap()
                .buffer_bytes()
        };
        let before = held(&ours);
        ours.release(0);
        assert!(held(&ours) < before, "{} of {before}", held(&ours));
        Ok(())
    });
}
