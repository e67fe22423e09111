//! Colours within the means of the terminal.

use run_report::inspect::Palette;

#[test]
fn the_environment_decides() {
    let palette = |variables: &[(&str, &str)]| {
        let variables = variables.to_vec();
        Palette::from_variables(move |name| {
            let entry = variables.iter().find(|(known, _)| *known == name);
            entry.map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(palette(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]), Palette::Plain);
    assert_eq!(palette(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]), Palette::Many);
    assert_eq!(palette(&[("TERM", "dumb")]), Palette::Plain);
    assert_eq!(palette(&[("TERM", "linux")]), Palette::Sixteen);
    assert_eq!(palette(&[("TERM", "screen"), ("COLORTERM", "truecolor")]), Palette::Many);
}

#[test]
fn without_colours_none_is_asked_for() {
    for strength in -3..=3 {
        let style = Palette::Plain.token(strength);
        assert_eq!((style.fg, style.bg), (None, None));
    }
    assert_ne!(Palette::Plain.token(3), Palette::Plain.token(0));
}
