//! A table as CSV (RFC 4180), for spreadsheets: what a spreadsheet would run as a formula is made text.

use super::table::Table;

/// Returns the table with its names in the first line.
pub fn table(table: &Table) -> String {
    let names = table.columns.iter().map(|name| (*name).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&names).chain(&table.rows) {
        let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

/// Returns a cell as it is written.
fn quoted(cell: &str) -> String {
    /// A spreadsheet takes what begins so for a formula; agents choose titles, so none may.
    const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];
    let safe = if cell.starts_with(FORMULA) { format!("'{cell}") } else { cell.to_owned() };
    if safe.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plain", "plain")]
    #[case("", "")]
    #[case("one, two", "\"one, two\"")]
    #[case("say \"hi\"", "\"say \"\"hi\"\"\"")]
    #[case("two\nlines", "\"two\nlines\"")]
    #[case("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\"")]
    #[case("+1", "'+1")]
    #[case("-1", "'-1")]
    #[case("@SUM(A1)", "'@SUM(A1)")]
    #[case("\t=1", "'\t=1")]
    #[case("a=b", "a=b")]
    fn cells_are_quoted_where_they_must_be_and_never_run(#[case] cell: &str, #[case] written: &str) {
        assert_eq!(quoted(cell), written);
    }

    #[test]
    fn lines_end_as_the_standard_says() {
        let table = Table { columns: vec!["a", "b"], rows: vec![vec!["1".into(), "2".into()]] };
        assert_eq!(super::table(&table), "a,b\r\n1,2\r\n");
    }
}
