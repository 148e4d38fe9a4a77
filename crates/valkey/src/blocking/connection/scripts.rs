//! Scripts and libraries of functions.

use onecopy_resp_proto::Reply;

use super::Connection;
use crate::parts::Parts;
use crate::script::{Load, LookUp, is_no_script};
use crate::{Error, Library, ScriptCall};

impl Connection {
    /// Calls a script by its digest. If the server does not know the script, it is loaded and called again, which takes one more
    /// round trip; nothing is executed twice.
    ///
    /// ```no_run
    /// use onecopy_valkey::Script;
    /// use onecopy_valkey::blocking::Connection;
    ///
    /// # fn main() -> Result<(), onecopy_valkey::Error> {
    /// let mut conn = Connection::connect("redis://localhost")?;
    /// let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    /// let sum = conn.run_script(&script.call().keys("sum").args(5))?.as_i64();
    /// # let _ = sum; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if the script does not compile.
    pub fn run_script(&mut self, call: &ScriptCall<'_>) -> Result<Reply<'_>, Error> {
        let mut observed = self.observe(call);
        let mut frame = observed.step(self.round_trip(call))?;
        if is_no_script(self.link.reply(frame)) {
            let (mut parts, load) = (Parts::new(), call.load());
            self.begin()?;
            self.link.queue(&load, &mut parts)?;
            self.link.queue(call, &mut parts)?;
            let loaded = observed.step(self.receive(&parts))?;
            observed.step(self.link.output::<Load<'_>>(loaded))?;
            frame = observed.step(self.receive(&parts))?;
        }
        observed.check(self.link.output::<ScriptCall<'_>>(frame))
    }

    /// Loads a library of functions, unless the server has it with the same code. It replaces a library of the same name. Returns
    /// whether it was loaded.
    ///
    /// # Errors
    /// Fails with the server's error, for example if the code does not compile or another library has a function of the same name;
    /// the server keeps its library then. Servers before 7.0 have no functions.
    pub fn load_library(&mut self, library: &Library) -> Result<bool, Error> {
        let frame = self.round_trip(&library.look_up())?;
        let reply = self.link.output::<LookUp<'_>>(frame)?;
        if library.is_in(reply) {
            return Ok(false);
        }
        self.run(&library.load())?;
        Ok(true)
    }
}
