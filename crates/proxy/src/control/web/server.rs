//! The thread with the sockets: it accepts clients and runs their connections.
//!
//! One request a connection, as monitoring does it, which keeps the limits simple: 8 KiB of request, 5 seconds from the connect to the
//! last byte of the response, so many clients at a time. Only those who watch a page stay, and have places of their own.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use onecopy_net::evented::{Address, Listener};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Notify;
use tokio::task::LocalSet;

use super::Offer;
use super::maker::Maker;
use super::route::Site;
use super::seat::{Claim, Seated, Seats};
use crate::control::View;
use crate::log::Log;
use crate::open_files;

/// Bytes of a request's head. It is also the least that hyper takes.
const MAX_HEAD: usize = 8 << 10;

/// How long nobody is accepted when the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(100);

/// A listener, as tokio watches it.
struct Watched {
    socket: Socket,
    /// It removes the file of a Unix socket in the end.
    _listener: Listener,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Bytes of a client.
trait Duplex: AsyncRead + AsyncWrite {}

impl<T: AsyncRead + AsyncWrite> Duplex for T {}

/// Starts the threads.
pub(super) fn start(
    listeners: Vec<(Listener, Offer)>,
    view: &Arc<View>,
    closing: Arc<Notify>,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let listeners: Vec<_> = {
        let _inside = runtime.enter();
        let watch = |(listener, offer)| Ok((Watched::new(listener)?, offer));
        listeners
            .into_iter()
            .map(watch)
            .collect::<io::Result<_>>()?
    };
    let maker = Maker::start(view)?;
    let view = Arc::clone(view);
    let thread = std::thread::Builder::new().name("web".into());
    thread.spawn(move || {
        let tasks = LocalSet::new();
        for (listener, offer) in listeners {
            let site = Rc::new(Site::new(offer, maker.clone(), &view));
            tasks.spawn_local(accept(listener, site, view.log().clone()));
        }
        tasks.block_on(&runtime, closing.notified());
    })
}

impl Watched {
    /// In the context of a runtime.
    fn new(listener: Listener) -> io::Result<Self> {
        let socket = listener.as_fd().try_clone_to_owned()?;
        let socket = match listener.address()? {
            Address::Tcp(_) => Socket::Tcp(TcpListener::from_std(socket.into())?),
            Address::Unix(_) => Socket::Unix(UnixListener::from_std(socket.into())?),
        };
        Ok(Self {
            socket,
            _listener: listener,
        })
    }

    /// A client, and where it is.
    async fn accept(&self) -> io::Result<(Pin<Box<dyn Duplex>>, String)> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, mut address) = listener.accept().await?;
                address.set_ip(address.ip().to_canonical());
                Ok((Box::pin(stream), address.to_string()))
            }
            Socket::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Box::pin(stream), "unix".to_owned()))
            }
        }
    }
}

/// Accepts clients until the task is dropped.
async fn accept(listener: Watched, site: Rc<Site>, log: Log) {
    let seats = Rc::new(Seats::default());
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                let seated = seats.admit();
                let run = serve(stream, seated, Rc::clone(&seats), Rc::clone(&site), client);
                tokio::task::spawn_local(run);
            }
            Err(error) if open_files::are_used_up(&error) => {
                log.out_of_files("control listeners wait for one");
                tokio::time::sleep(BREATH).await;
            }
            // The client has gone meanwhile. Where it is something else, it is tried again, but not all the time.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// One client, until its response is sent or it has to go.
async fn serve(
    stream: Pin<Box<dyn Duplex>>,
    seated: Seated,
    seats: Rc<Seats>,
    site: Rc<Site>,
    client: String,
) {
    let seat = seated.seat();
    let service = service_fn(|request| {
        let (site, seats, seat) = (Rc::clone(&site), Rc::clone(&seats), Rc::clone(seat));
        let client = client.clone();
        async move {
            seat.claim(Claim::Waiting);
            let response = site.answer(request, &client, &seats, &seat).await;
            seat.claim(Claim::Reading);
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        // One that has sent its request may close its sending side.
        .half_close(true)
        .title_case_headers(true)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let (mut connection, mut ended) = (pin!(connection), pin!(seat.ended()));
    // What went wrong is the client's affair: it is gone.
    poll_fn(|context| {
        let is_over = connection.as_mut().poll(context).is_ready();
        match is_over || ended.as_mut().poll(context).is_ready() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}
