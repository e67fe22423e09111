//! Files of a model with edits: read or refused, without a panic and in time.

use model_files::chat_template::{ChatTemplate, Message};
use model_files::model_config::ModelConfig;
use model_files::text_tokenizer::TextTokenizer;
use proptest::prelude::*;
use workspace_tests::files::folder;
use workspace_tests::fuzz::{edited, in_time};

use crate::data;

fn samples(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| std::fs::read(data(name)).expect("it is there")).collect()
}

fn templates() -> Vec<Vec<u8>> {
    let mut all = samples(&[
        "chat_templates/qwen2.5.jinja",
        "chat_templates/smollm2.jinja",
        "chat_templates/turns.jinja",
    ]);
    for loops in [
        "{% set n = namespace(s='ab', l=[1]) %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% set n.l = n.l + n.l %}\
         {% endfor %}{{ n.s|replace('a', n.s)|upper|list|join(',') }}",
        "{% macro f(x) %}{{ x }}{% if x %}{{ f(x[1:]) }}{% endif %}{% endmacro %}{{ f(messages) }}{{ f('abc') }}",
        "{% for a in range(99999) %}{% for m in messages %}{{ loop.index ~ m['content'].split('a')[0] }}{% endfor %}{% endfor %}",
        "{{ messages|tojson(indent=4)|length }}{{ '%5d'|format(3) }}{{ '{:>9}'.format('a') }}{{ 'a\\nb'|indent(3) }}",
    ] {
        all.push(loops.as_bytes().to_vec());
    }
    all
}

proptest! {
    #[test]
    fn fuzz_chat_template(bytes in edited(templates())) {
        let text = String::from_utf8_lossy(&bytes);
        let folder = folder(&[("chat_template.jinja", &text)]);
        in_time(|| {
            let template = ChatTemplate::load(folder.path()).ok().flatten();
            template.map(|template| template.render(&[Message::new("user", "banana")], true))
        });
    }

    #[test]
    fn fuzz_model_config(bytes in edited(samples(&["tiny_qwen2/config.json"]))) {
        let text = String::from_utf8_lossy(&bytes);
        let _read = in_time(|| ModelConfig::parse(&text, "config.json".as_ref()));
    }

    #[test]
    fn fuzz_tokenizer(bytes in edited(samples(&["tiny_qwen2/tokenizer.json"]))) {
        let text = String::from_utf8_lossy(&bytes);
        let folder = folder(&[("tokenizer.json", &text)]);
        in_time(|| {
            let tokenizer = TextTokenizer::load(folder.path()).ok();
            tokenizer.map(|tokenizer| tokenizer.encode("banana 47+38="))
        });
    }
}
