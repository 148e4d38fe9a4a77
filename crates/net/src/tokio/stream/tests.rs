use std::future::poll_fn;

use tokio::net::UnixStream;

use super::*;

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
