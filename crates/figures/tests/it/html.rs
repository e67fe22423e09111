//! Text and tables as HTML that no input can break out of.

use figures::html::{Table, escape};

#[test]
fn hostile_text_stays_text() {
    assert_eq!(
        escape("</script><img onerror=\"x('1')\">&\u{0}\u{1b}"),
        "&lt;/script&gt;&lt;img onerror=&quot;x(&#39;1&#39;)&quot;&gt;&amp;\u{fffd}\u{fffd}"
    );
}

#[test]
fn a_table_marks_numbers_and_row_headings() {
    let mut table = Table::new("A & B", &["name", "value"], |column| column == 1);
    table.row(&["x<y".to_owned(), "1".to_owned()]);
    let html = table.html();
    assert!(html.contains("<caption><span>A &amp; B</span></caption>"));
    assert!(html.contains("<th scope=\"row\">x&lt;y</th><td class=\"n\">1</td>"), "{html}");
}
