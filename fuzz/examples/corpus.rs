//! Unpacks a target's corpus into a folder for libFuzzer, or packs the files of a folder into the corpus:
//!
//!     cargo run -p onecopy-fuzz --example corpus -- unpack TARGET FOLDER
//!     cargo run -p onecopy-fuzz --example corpus -- pack TARGET FOLDER    # replaces the corpus
//!     cargo run -p onecopy-fuzz --example corpus -- add TARGET FOLDER     # keeps what the corpus has

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use onecopy_fuzz::{TARGETS, corpus};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["unpack", target, folder] if is_target(target) => unpack(target, Path::new(folder)),
        ["pack", target, folder] if is_target(target) => pack(target, Path::new(folder), false),
        ["add", target, folder] if is_target(target) => pack(target, Path::new(folder), true),
        _ => {
            eprintln!("usage: corpus unpack|pack|add TARGET FOLDER");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(count) => {
            println!("{count} inputs");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("corpus: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_target(name: &str) -> bool {
    TARGETS.iter().any(|(target, _)| *target == name)
}

fn unpack(target: &str, folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let inputs = corpus::read(target)?;
    for (index, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("{index:05}")), input)?;
    }
    Ok(inputs.len())
}

fn pack(target: &str, folder: &Path, keep: bool) -> io::Result<usize> {
    let mut inputs = if keep && corpus::file(target).exists() {
        corpus::read(target)?
    } else {
        Vec::new()
    };
    for file in fs::read_dir(folder)? {
        inputs.push(fs::read(file?.path())?);
    }
    corpus::write(target, inputs)
}
