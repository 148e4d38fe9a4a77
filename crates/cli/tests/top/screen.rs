//! What a terminal shows after the bytes of a program that draws a screen: as much of a terminal as such a program uses.

use unicode_width::UnicodeWidthChar;

/// The lines of the screen.
pub(crate) fn lines(bytes: &str, columns: usize, rows: usize) -> Vec<String> {
    let mut screen = Screen {
        cells: vec![vec![' '; columns]; rows],
        row: 0,
        column: 0,
    };
    let mut rest = bytes.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\x1b' if rest.next_if_eq(&'[').is_some() => {
                let mut parameters = String::new();
                let command = loop {
                    match rest.next() {
                        Some(part @ ('0'..='9' | ';' | '?')) => parameters.push(part),
                        Some(command) => break command,
                        // It comes with the next piece.
                        None => return screen.lines(),
                    }
                };
                screen.obey(command, &parameters);
            }
            '\r' => screen.column = 0,
            '\n' => screen.row = (screen.row + 1).min(rows - 1),
            shown => screen.put(shown),
        }
    }
    screen.lines()
}

struct Screen {
    cells: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn obey(&mut self, command: char, parameters: &str) {
        match command {
            'H' => {
                let mut numbers = parameters
                    .split(';')
                    .map(|number| number.parse().unwrap_or(1));
                let mut next = || numbers.next().unwrap_or(1_usize) - 1;
                (self.row, self.column) = (next(), next());
            }
            'J' => self.cells.iter_mut().for_each(|row| row.fill(' ')),
            'h' | 'l' if parameters == "?1049" => {
                self.cells.iter_mut().for_each(|row| row.fill(' '));
            }
            // Colours, the cursor's look, modes.
            'm' | 'h' | 'l' => {}
            _ => panic!("a command that this terminal does not know: {parameters:?}{command}"),
        }
    }

    fn put(&mut self, shown: char) {
        let Some(cell) = self
            .cells
            .get_mut(self.row)
            .and_then(|row| row.get_mut(self.column))
        else {
            return;
        };
        *cell = shown;
        self.column += shown
            .width()
            .unwrap_or_else(|| panic!("{shown:?} was written raw"));
    }

    fn lines(self) -> Vec<String> {
        let text = |row: Vec<char>| row.into_iter().collect::<String>().trim_end().to_owned();
        self.cells.into_iter().map(text).collect()
    }
}
