//! A table as Markdown, for issues and notes: whatever a cell holds, it stays in its cell.

use super::table::Table;

/// Returns the table.
pub fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(table.columns.iter().map(|name| (*name).to_owned()).collect());
    text.push_str(&line(table.columns.iter().map(|_| "---".to_owned()).collect()));
    for row in &table.rows {
        text.push_str(&line(row.iter().map(|cell| escaped(cell)).collect()));
    }
    text
}

/// Returns a cell as it is written: no pipe ends it, no line break, no markup, no tag.
fn escaped(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    for c in cell.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_leave_its_cell() {
        let row = vec!["a | b".to_owned(), "two\nlines".to_owned(), "<b>\\".to_owned()];
        let table = Table { columns: vec!["x", "y", "z"], rows: vec![row] };
        let lines = super::table(&table);
        assert_eq!(lines, "| x | y | z |\n| --- | --- | --- |\n| a \\| b | two lines | \\<b\\>\\\\ |\n");
    }
}
