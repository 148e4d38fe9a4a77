//! What a cache reads from: one server, a cluster, or the primary that sentinels watch.

use std::future::Future;

use super::flights::Read;
use crate::aio::{Cluster, Response, Sentinel, Shared};
use crate::caching::may_be_missing;
use crate::command::Command;
use crate::{Error, OwnedReply};

/// A connection that a cache can be in front of: [`Shared`], [`Cluster`] or [`Sentinel`]. Only this crate implements it.
pub trait Source: Clone + Send + Sync + 'static {
    /// Runs any command.
    #[doc(hidden)]
    fn run<C: Command + Sync>(
        &self,
        command: &C,
    ) -> impl Future<Output = Result<Response<C>, Error>>;

    /// Reads. `bind` is called with the line of the connection before the command is written to it, if there are several. Returns whether
    /// that connection's server says when the reply is out of date.
    #[doc(hidden)]
    fn read(
        &self,
        read: &Read<'_>,
        bind: &(dyn Fn(u64) + Sync),
    ) -> impl Future<Output = Result<(OwnedReply, bool), Error>> + Send;
}

impl Source for Shared {
    async fn run<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        Self::run(self, command).await
    }

    async fn read(
        &self,
        read: &Read<'_>,
        _: &(dyn Fn(u64) + Sync),
    ) -> Result<(OwnedReply, bool), Error> {
        Ok((self.run_here(read).await?.into_reply(), true))
    }
}

impl Source for Cluster {
    async fn run<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        Self::run(self, command).await
    }

    async fn read(
        &self,
        read: &Read<'_>,
        bind: &(dyn Fn(u64) + Sync),
    ) -> Result<(OwnedReply, bool), Error> {
        let (response, is_tracked) = self.run_tracked(read, bind).await?;
        let is_cached = is_tracked && !may_be_missing(response.reply());
        Ok((response.into_reply(), is_cached))
    }
}

impl Source for Sentinel {
    async fn run<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        Self::run(self, command).await
    }

    async fn read(
        &self,
        read: &Read<'_>,
        bind: &(dyn Fn(u64) + Sync),
    ) -> Result<(OwnedReply, bool), Error> {
        let (response, is_tracked) = self.run_tracked(read, bind).await?;
        Ok((response.into_reply(), is_tracked))
    }
}
