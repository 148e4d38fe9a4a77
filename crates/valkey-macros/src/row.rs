//! A command as a row of the table of all commands.

use crate::code::flags;
use crate::declaration::Declaration;

/// Its place among all commands, a value of type `Entry`, and a comma.
pub(crate) fn row(family: &str, declaration: &Declaration) -> String {
    let Declaration {
        name,
        since,
        complexity,
        ..
    } = declaration;
    let (usage, arity) = (declaration.usage(), declaration.arity());
    let flags = flags(&declaration.flags);
    let deprecated = declaration.deprecated.as_ref();
    let deprecated = deprecated.map_or("None".to_owned(), |version| format!("Some({version:?})"));
    let place = place(name);
    format!(
        "({place:#034x}, Entry {{ name: {name:?}, usage: {usage:?}, family: {family:?}, since: {since:?}, \
         complexity: {complexity:?}, arity: {arity}, flags: {flags}, deprecated_since: {deprecated} }}),"
    )
}

/// The first bytes of a name as one number. The table is sorted by it when it is put together from those of all families.
fn place(name: &str) -> u128 {
    let mut bytes = [0; size_of::<u128>()];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    u128::from_be_bytes(bytes)
}
