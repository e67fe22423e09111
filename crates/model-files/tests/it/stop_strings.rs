use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use proptest::prelude::*;
use workspace_tests::files::folder;

use crate::data;

/// The byte tokenizer with tokens that begin or end within stop strings, and a special one, 260, without a text.
fn tokenizer() -> TextTokenizer {
    let text = std::fs::read_to_string(data("tiny_qwen2/tokenizer.json")).expect("a fixture");
    let added = |id: u32, content: &str, special: bool| {
        serde_json::json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": special})
    };
    let added = serde_json::json!([
        added(256, "EN", false),
        added(257, "D\n", false),
        added(258, "xEND", false),
        added(259, "字E", false),
        added(260, "<|im_end|>", true),
    ]);
    let text = text.replace("\"added_tokens\": []", &format!("\"added_tokens\": {added}"));
    let folder = folder(&[("tokenizer.json", &text)]);
    TextTokenizer::load(folder.path()).expect("a tokenizer with added tokens")
}

fn strings(texts: &[&str]) -> StopStrings {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    StopStrings::split(&tokenizer(), &texts).expect("good texts").1.expect("not special tokens")
}

/// Tokens drawn until a stop string is complete.
fn drawn(strings: &StopStrings, ids: &[u32]) -> usize {
    (1..=ids.len())
        .find(|&count| strings.completed_by_last(&ids[..count]).expect("bytes have a text"))
        .unwrap_or(ids.len() + 1)
}

#[test]
fn a_stop_string_is_found_with_its_last_byte() {
    let bytes = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
    assert_eq!(drawn(&strings(&["END"]), &bytes("abENDx")), 5);
    assert_eq!(drawn(&strings(&["END", "b"]), &bytes("abENDx")), 2);
    // Three bytes a character: neither half is a match, whatever the tokenizer writes for it.
    assert_eq!(drawn(&strings(&["字"]), &bytes("漢字漢")), 6);
    assert_eq!(drawn(&strings(&["é"]), &bytes("e\u{301} é!")), 6);
    assert_eq!(drawn(&strings(&["\n\nUser:"]), &bytes("a\n\n\nUser: ")), 9);
    assert_eq!(drawn(&strings(&["absent"]), &bytes("a text")), 7);
}

#[test]
fn tokens_may_begin_and_end_within_a_stop_string() {
    let end = strings(&["END"]);
    assert_eq!(drawn(&end, &[97, 256, 257, 97]), 3, "EN + D\\n");
    assert_eq!(drawn(&end, &[97, 258, 97]), 2, "xEND as one");
    assert_eq!(drawn(&end, &[0xe5, 0xad, 0x97, 259, 78, 68]), 6, "within a character and a token");
    assert_eq!(drawn(&end, &[69, 260, 260, 78, 260, 68]), 6, "special tokens have no text");
    // The last token completes the string and begins a character that is not there yet.
    let mark = strings(&["D\n"]);
    assert_eq!(drawn(&mark, &[68, 10, 0xc3]), 2);
    assert_eq!(end.cut("xEND\n"), "x");
    assert_eq!(end.cut("x"), "x");
    assert_eq!(strings(&["b", "ab"]).cut("xabc"), "x");
}

#[test]
fn special_tokens_are_told_from_texts() {
    let texts = ["<|im_end|>".to_owned(), "User:".to_owned()];
    let (ids, strings) = StopStrings::split(&tokenizer(), &texts).unwrap();
    assert_eq!(ids, [260]);
    assert_eq!(strings.unwrap().cut("a User: b"), "a ");
    let (ids, strings) = StopStrings::split(&tokenizer(), &texts[..1]).unwrap();
    assert!(ids == [260] && strings.is_none());
    let refused = |text: &str| {
        let texts = ["a".to_owned(), text.to_owned()];
        StopStrings::split(&tokenizer(), &texts).unwrap_err().to_string()
    };
    assert_eq!(refused(""), "stop string 1 is empty, expected at least one character");
    assert!(refused("\u{fffd}").contains("U+FFFD"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against the definition: the first token after which the text of all tokens holds a stop string.
    #[test]
    fn the_end_of_a_response_tells_as_much_as_the_whole(
        ids in proptest::collection::vec(
            prop_oneof![Just(69_u32), Just(78), Just(68), Just(0xe5), Just(0xad), Just(0x97), Just(10), 256_u32..261],
            1..60,
        ),
    ) {
        let (tokenizer, texts) = (tokenizer(), ["END", "D字", "\n\n"]);
        let stop = strings(&texts);
        let holds = |count: &usize| {
            let text = tokenizer.decode(&ids[..*count]).unwrap();
            texts.iter().any(|stop| text.contains(stop))
        };
        let expected = (1..=ids.len()).find(holds).unwrap_or(ids.len() + 1);
        prop_assert_eq!(drawn(&stop, &ids), expected);
    }
}
