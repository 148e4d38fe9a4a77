//! Lua scripts that are sent once and then called by their digest.

use std::fmt;

use onecopy_resp_proto::Reply;
use sha1::{Digest, Sha1};

use crate::command::{Command, Flags};
use crate::part::Part;
use crate::request::Request;
use crate::{Arg, Args};

/// Bytes of a digest in hexadecimal.
const DIGEST: usize = 40;

/// A Lua script and its SHA-1 digest, which is computed once. Make one for each script of a program, for example in a
/// `LazyLock`, and call it as often as needed.
///
/// | method | what is sent |
/// |---|---|
/// | `run_script` of a connection or a shared handle | EVALSHA; only if the server does not know the script, SCRIPT LOAD and EVALSHA again, in one write |
/// | `push_script` of a pipeline | EVAL with the code for the first call of each script in the pipeline, then EVALSHA |
/// | `push_script` of a transaction | the same: no call of the transaction can fail because another client empties the server's script cache |
///
/// ```
/// use std::sync::LazyLock;
///
/// use onecopy_valkey::Script;
///
/// static LIMIT: LazyLock<Script> = LazyLock::new(|| {
///     Script::new(
///         "local n = redis.call('INCR', KEYS[1])
///          if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
///          return n <= tonumber(ARGV[2])",
///     )
/// });
///
/// let call = LIMIT.call().keys("limit:user:7").args([60, 100]);
/// assert_eq!(LIMIT.sha1().len(), 40);
/// # let _ = call;
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Script {
    code: Box<[u8]>,
    /// In lower-case hexadecimal, as servers have it.
    sha1: [u8; DIGEST],
}

impl Script {
    /// Takes the code of a script, and computes its digest.
    pub fn new(code: impl AsRef<[u8]>) -> Self {
        let code = code.as_ref();
        let mut sha1 = [0; DIGEST];
        let digits = Sha1::digest(code)
            .into_iter()
            .flat_map(|byte| [byte >> 4, byte & 0xF]);
        for (to, digit) in sha1.iter_mut().zip(digits) {
            *to = b"0123456789abcdef"[usize::from(digit)];
        }
        Self {
            code: code.into(),
            sha1,
        }
    }

    /// Returns the digest, 40 hexadecimal digits.
    pub fn sha1(&self) -> &str {
        // It is ASCII.
        std::str::from_utf8(&self.sha1).unwrap_or_default()
    }

    /// Returns the code.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// Returns a call without keys and arguments; add them.
    pub fn call(&self) -> ScriptCall<'_> {
        ScriptCall {
            script: self,
            keys: Args::none(),
            args: Args::none(),
            is_read_only: false,
        }
    }
}

/// Shows the digest and not the code.
impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("sha1", &self.sha1())
            .field("code", &format_args!("{} bytes", self.code.len()))
            .finish()
    }
}

/// A call of a [`Script`]. As a command by itself it is EVALSHA, and fails with [`Error::is_no_script`](crate::Error::is_no_script)
/// on a server that does not know the script: prefer `run_script` and `push_script`, which see to that.
#[derive(Clone, Debug)]
pub struct ScriptCall<'a> {
    script: &'a Script,
    keys: Args<'a>,
    args: Args<'a>,
    is_read_only: bool,
}

impl<'a> ScriptCall<'a> {
    /// `KEYS` of the script.
    #[must_use]
    pub fn keys(mut self, keys: impl Into<Args<'a>>) -> Self {
        self.keys = keys.into();
        self
    }

    /// `ARGV` of the script.
    #[must_use]
    pub fn args(mut self, args: impl Into<Args<'a>>) -> Self {
        self.args = args.into();
        self
    }

    /// Lets the server refuse writes of the script, and replicas execute it: EVALSHA_RO, since 7.0.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// The command that makes the server know the script.
    pub(crate) fn load(&self) -> Load<'_> {
        Load(self.script)
    }

    /// The same call with the code.
    pub(crate) fn with_code(&self) -> WithCode<'_> {
        WithCode(self)
    }

    fn flags(&self) -> Flags {
        match self.is_read_only {
            true => Flags::READONLY,
            false => Flags::NONE,
        }
    }

    fn encode_rest<'r>(&'r self, request: &mut Request<'_, 'r>) {
        request.number_of(&self.keys);
        request.part(&self.keys);
        request.part(&self.args);
    }

    /// Words of the command.
    fn count(&self) -> usize {
        3 + self.keys.count() + self.args.count()
    }
}

impl Command for ScriptCall<'_> {
    type Output<'r> = Reply<'r>;

    fn name(&self) -> &str {
        match self.is_read_only {
            true => "EVALSHA_RO",
            false => "EVALSHA",
        }
    }

    fn flags(&self) -> Flags {
        ScriptCall::flags(self)
    }

    fn encode<'r>(&'r self, request: &mut Request<'_, 'r>) {
        match self.is_read_only {
            true => request.begin(self.count(), b"*0\r\n$10\r\nEVALSHA_RO\r\n"),
            false => request.begin(self.count(), b"*0\r\n$7\r\nEVALSHA\r\n"),
        }
        request.borrowed(&self.script.sha1);
        self.encode_rest(request);
    }

    fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {
        self.keys.each(visit);
    }
}

/// EVAL.
#[derive(Debug)]
pub(crate) struct WithCode<'a>(&'a ScriptCall<'a>);

impl Command for WithCode<'_> {
    type Output<'r> = Reply<'r>;

    fn name(&self) -> &str {
        match self.0.is_read_only {
            true => "EVAL_RO",
            false => "EVAL",
        }
    }

    fn flags(&self) -> Flags {
        self.0.flags()
    }

    fn encode<'r>(&'r self, request: &mut Request<'_, 'r>) {
        match self.0.is_read_only {
            true => request.begin(self.0.count(), b"*0\r\n$7\r\nEVAL_RO\r\n"),
            false => request.begin(self.0.count(), b"*0\r\n$4\r\nEVAL\r\n"),
        }
        request.borrowed(&self.0.script.code);
        self.0.encode_rest(request);
    }

    fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {
        self.0.keys.each(visit);
    }
}

/// SCRIPT LOAD.
#[derive(Debug)]
pub(crate) struct Load<'a>(&'a Script);

impl Command for Load<'_> {
    type Output<'r> = Reply<'r>;

    fn name(&self) -> &str {
        "SCRIPT LOAD"
    }

    fn flags(&self) -> Flags {
        Flags::KEYLESS
    }

    fn encode<'r>(&'r self, request: &mut Request<'_, 'r>) {
        request.fixed(b"*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n");
        request.borrowed(&self.0.code);
    }
}

/// Whether the server does not know a script: it has executed nothing.
#[inline]
pub(crate) fn is_no_script(reply: Reply<'_>) -> bool {
    let error = reply.as_error();
    error.is_some_and(|text| text.starts_with(b"NOSCRIPT"))
}

/// The scripts whose code is in the pipeline or transaction already. Few: they are searched one by one.
#[derive(Debug, Default)]
pub(crate) struct Sent(Vec<[u8; DIGEST]>);

impl Sent {
    pub(crate) const fn none() -> Self {
        Self(Vec::new())
    }

    /// Whether the call needs the code.
    pub(crate) fn is_first(&self, call: &ScriptCall<'_>) -> bool {
        !self.0.contains(&call.script.sha1)
    }

    /// The code is in it.
    pub(crate) fn add(&mut self, call: &ScriptCall<'_>) {
        self.0.push(call.script.sha1);
    }
}

/// A library of functions, for `load_library`. Its name is the one in the first line of its code.
///
/// ```
/// use onecopy_valkey::Library;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let library = Library::new(
///     "#!lua name=shop
///     redis.register_function('buy', function(keys, args) return redis.call('DECRBY', keys[1], args[1]) end)",
/// )?;
/// assert_eq!(library.name(), "shop");
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Library {
    name: Box<str>,
    code: Box<[u8]>,
}

impl Library {
    /// Takes the code of a library.
    ///
    /// # Errors
    /// Fails if its first line is not `#!ENGINE name=NAME`.
    pub fn new(code: impl AsRef<[u8]>) -> Result<Self, crate::Error> {
        let code = code.as_ref();
        let name = name_of(code).ok_or_else(|| {
            crate::Error::config(
                "the first line of a library must be `#!lua name=NAME`, and this one's is not"
                    .into(),
            )
        })?;
        Ok(Self {
            name: name.into(),
            code: code.into(),
        })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its code.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// The command that asks for the server's library of this name; names are patterns there.
    pub(crate) fn look_up(&self) -> LookUp<'_> {
        LookUp(self)
    }

    /// Whether the reply has this library, with this code.
    pub(crate) fn is_in(&self, reply: Reply<'_>) -> bool {
        reply.children().any(|library| {
            let field = |name: &[u8]| {
                let mut words = library.children();
                while let (Some(key), Some(value)) = (words.next(), words.next()) {
                    if key.bytes() == name {
                        return value.bytes();
                    }
                }
                &[]
            };
            field(b"library_name") == self.name.as_bytes() && field(b"library_code") == &*self.code
        })
    }

    /// The command that loads it, in the place of one of the same name.
    pub(crate) fn load(&self) -> crate::command::scripting::FunctionLoad<'_> {
        crate::command::scripting::function_load(Arg::from(&*self.code)).replace()
    }
}

fn name_of(code: &[u8]) -> Option<&str> {
    let line = code.split(|&byte| byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.strip_prefix("#!")?;
    let name = line
        .split_ascii_whitespace()
        .find_map(|word| word.strip_prefix("name="))?;
    Some(name).filter(|name| !name.is_empty())
}

/// Shows the name and not the code.
impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("name", &self.name)
            .field("code", &format_args!("{} bytes", self.code.len()))
            .finish()
    }
}

/// FUNCTION LIST of one library, with its code.
#[derive(Debug)]
pub(crate) struct LookUp<'a>(&'a Library);

impl Command for LookUp<'_> {
    type Output<'r> = Reply<'r>;

    fn name(&self) -> &str {
        "FUNCTION LIST"
    }

    fn flags(&self) -> Flags {
        Flags::KEYLESS
    }

    fn encode<'r>(&'r self, request: &mut Request<'_, 'r>) {
        request.fixed(b"*5\r\n$8\r\nFUNCTION\r\n$4\r\nLIST\r\n$11\r\nLIBRARYNAME\r\n");
        request.borrowed(self.0.name.as_bytes());
        request.token(b"$8\r\nWITHCODE\r\n");
    }
}

#[cfg(test)]
mod tests;
