//! What a session does next, and the commands that it is made of.

/// What a session does next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Query(String),
    /// Behind so many bytes of a comment.
    LongQuery(usize, String),
    /// In one write.
    Pipeline(Vec<String>),
    Ping,
    Statistics,
    Reset,
    /// To the same user, with another database or none.
    ChangeUser(&'static str),
    InitDb(String),
    /// COM_SET_OPTION: several statements in one are on, or off.
    SetOption(bool),
    FieldList(String),
    /// A command that there is not.
    Unknown(u8),
    /// In a place of the session's own.
    Prepare(usize, String),
    Execute(Execution),
    LongData(usize, u16, String),
    Fetch(usize, u8),
    ResetStatement(usize),
    Close(usize),
    /// Prepares, and goes on before the reply.
    PrepareBehind(usize, String, String),
    /// Its socket closes without a word; a new client comes in its place.
    Die,
    /// As before, behind a goodbye.
    Quit,
    /// Its socket closes when so much of a statement was sent, in percent.
    Slam(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Execution {
    pub(crate) slot: usize,
    pub(crate) cursor: bool,
    /// The types go along.
    pub(crate) with_types: bool,
    pub(crate) parameters: Vec<(Type, Value)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Tiny,
    Int,
    Double,
    Text,
    Blob,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Number(i64),
    /// It was sent before, piece by piece.
    Sent,
}

/// How a reply is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Nothing,
    Results,
    One,
    Text,
    Prepared,
    Rows,
    Fields,
    Login,
}

impl Step {
    pub(crate) fn query(sql: impl Into<String>) -> Self {
        Self::Query(sql.into())
    }

    /// Whether a new client comes in the place of this one.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Die | Self::Quit | Self::Slam(_))
    }

    /// Whether it runs no statement and prepares none.
    pub(crate) fn is_no_statement(&self) -> bool {
        matches!(
            self,
            Self::Ping
                | Self::Reset
                | Self::InitDb(_)
                | Self::SetOption(_)
                | Self::ResetStatement(_)
        )
    }

    /// Whether it says which schema the session is to be in.
    pub(crate) fn sets_schema(&self) -> bool {
        let uses = |sql: &str| sql.to_ascii_uppercase().contains("USE ");
        match self {
            Self::Query(sql) | Self::LongQuery(_, sql) | Self::PrepareBehind(_, sql, _) => {
                uses(sql)
            }
            Self::InitDb(_) | Self::ChangeUser(_) => true,
            _ => false,
        }
    }

    /// Whether the session may have another schema behind it.
    pub(crate) fn may_change_schema(&self) -> bool {
        let changes = |sql: &str| {
            let sql = sql.to_ascii_uppercase();
            // Not the function.
            sql.contains("USE ") || sql.contains("DATABASE ") || sql.contains("SCHEMA ")
        };
        match self {
            Self::Query(sql) | Self::LongQuery(_, sql) => changes(sql),
            Self::PrepareBehind(_, sql, _) => changes(sql),
            Self::InitDb(_) | Self::ChangeUser(_) => true,
            _ => false,
        }
    }

    /// The commands; the number of a statement is to be put behind their first byte where there is one.
    pub(crate) fn commands(&self) -> Vec<(Option<usize>, Vec<u8>)> {
        let text = |byte: u8, text: &str| (None, [&[byte], text.as_bytes()].concat());
        match self {
            Self::Query(sql) => vec![text(0x03, sql)],
            Self::LongQuery(len, sql) => {
                let sql = format!("/* {} */ {sql}", "long ".repeat(len / 5));
                vec![text(0x03, &sql)]
            }
            Self::Pipeline(all) => all.iter().map(|sql| text(0x03, sql)).collect(),
            Self::Ping => vec![text(0x0E, "")],
            Self::Statistics => vec![text(0x09, "")],
            Self::Reset => vec![text(0x1F, "")],
            Self::InitDb(name) => vec![text(0x02, name)],
            Self::SetOption(on) => vec![(None, vec![0x1B, u8::from(!on), 0])],
            Self::FieldList(table) => vec![text(0x04, &format!("{table}\0"))],
            Self::Unknown(byte) => vec![text(*byte, "?")],
            Self::Prepare(_, sql) => vec![text(0x16, sql)],
            Self::Execute(execution) => vec![(Some(execution.slot), execution.encode())],
            Self::LongData(slot, parameter, data) => {
                let [a, b] = parameter.to_le_bytes();
                vec![(Some(*slot), [&[0x18, a, b], data.as_bytes()].concat())]
            }
            Self::Fetch(slot, rows) => vec![(Some(*slot), vec![0x1C, *rows, 0, 0, 0])],
            Self::ResetStatement(slot) => vec![(Some(*slot), vec![0x1A])],
            Self::Close(slot) => vec![(Some(*slot), vec![0x19])],
            Self::PrepareBehind(_, before, sql) => vec![text(0x03, before), text(0x16, sql)],
            Self::Quit => vec![text(0x01, "")],
            Self::Slam(_) => vec![text(0x03, "SELECT 'nobody reads this'")],
            Self::ChangeUser(_) | Self::Die => Vec::new(),
        }
    }

    pub(crate) fn shapes(&self) -> Vec<Shape> {
        match self {
            Self::Query(_) | Self::LongQuery(..) | Self::Execute(_) => vec![Shape::Results],
            Self::Pipeline(all) => vec![Shape::Results; all.len()],
            Self::Ping
            | Self::Reset
            | Self::InitDb(_)
            | Self::SetOption(_)
            | Self::Unknown(_)
            | Self::ResetStatement(_) => vec![Shape::One],
            Self::Statistics => vec![Shape::Text],
            Self::FieldList(_) => vec![Shape::Fields],
            Self::Prepare(..) => vec![Shape::Prepared],
            Self::PrepareBehind(..) => vec![Shape::Results, Shape::Prepared],
            Self::Fetch(..) => vec![Shape::Rows],
            Self::ChangeUser(_) => vec![Shape::Login],
            Self::LongData(..) | Self::Close(_) => vec![Shape::Nothing],
            Self::Die | Self::Quit | Self::Slam(_) => Vec::new(),
        }
    }

    /// The slot that a statement comes to, and its text.
    pub(crate) fn prepares(&self) -> Option<(usize, &str)> {
        match self {
            Self::Prepare(slot, sql) | Self::PrepareBehind(slot, _, sql) => Some((*slot, sql)),
            _ => None,
        }
    }
}

impl Execution {
    /// COM_STMT_EXECUTE without the statement's number.
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![0x17, u8::from(self.cursor), 1, 0, 0, 0];
        if self.parameters.is_empty() {
            return out;
        }
        let mut nulls = vec![0u8; self.parameters.len().div_ceil(8)];
        for (at, (_, value)) in self.parameters.iter().enumerate() {
            if *value == Value::Null {
                nulls[at / 8] |= 1 << (at % 8);
            }
        }
        out.extend_from_slice(&nulls);
        out.push(u8::from(self.with_types));
        if self.with_types {
            for (kind, _) in &self.parameters {
                out.extend_from_slice(&[kind.byte(), 0]);
            }
        }
        for (kind, value) in &self.parameters {
            if let Value::Number(number) = value {
                kind.put(*number, &mut out);
            }
        }
        out
    }
}

impl Type {
    fn byte(self) -> u8 {
        match self {
            Self::Tiny => 0x01,
            Self::Int => 0x08,
            Self::Double => 0x05,
            Self::Text => 0xFD,
            Self::Blob => 0xFC,
        }
    }

    fn put(self, number: i64, out: &mut Vec<u8>) {
        match self {
            Self::Tiny => out.extend_from_slice(&number.to_le_bytes()[..1]),
            Self::Int => out.extend_from_slice(&number.to_le_bytes()),
            Self::Double => {
                let number = f64::from(i32::try_from(number).unwrap()) + 0.5;
                out.extend_from_slice(&number.to_le_bytes());
            }
            Self::Text | Self::Blob => {
                let text = number.to_string();
                out.push(u8::try_from(text.len()).unwrap());
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}
