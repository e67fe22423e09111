//! Files of a data set that belong to a configuration and a split, by the rules of `datasets` for names.

use std::collections::BTreeMap;

/// Endings of files with rows, the preferred first.
const ENDINGS: [&str; 5] = [".parquet", ".jsonl", ".jsonl.zst", ".json", ".csv"];

/// Files that describe a data set, and hold no rows.
const DESCRIPTIONS: [&str; 4] =
    ["dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"];

/// Words for a split in names of files and folders.
const SPLITS: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "val", "dev"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];

/// Largest number of choices that a message lists.
const LISTED: usize = 12;

/// Returns the files of `part`, in order: a file, `CONFIGURATION/SPLIT`, one of both, or empty where there is one choice. The error
/// lists the choices.
pub(crate) fn chosen(files: &[String], part: &str) -> Result<Vec<String>, String> {
    if ENDINGS.iter().any(|ending| part.ends_with(ending)) {
        let is_there = files.iter().any(|file| file == part);
        return if is_there { Ok(vec![part.to_owned()]) } else { Err(format!("no file {part}")) };
    }
    let groups = groups(files);
    let fits = |(configuration, split): (&str, &str)| {
        part.is_empty()
            || part == split
            || part == configuration
            || part.rsplit_once('/') == Some((configuration, split))
    };
    let mut fitting =
        groups.iter().filter(|((configuration, split), _)| fits((configuration, split)));
    if let (Some((_, group)), None) = (fitting.next(), fitting.next()) {
        return Ok(group.clone());
    }
    let name = |(configuration, split): &(String, String)| match configuration.as_str() {
        "" => split.clone(),
        _ => format!("{configuration}/{split}"),
    };
    let mut names: Vec<String> = groups.keys().take(LISTED).map(name).collect();
    if groups.len() > LISTED {
        names.push(format!("{} more", groups.len() - LISTED));
    }
    Err(match names.as_slice() {
        [] => format!("no file with rows, expected one of {}", ENDINGS.join(", ")),
        _ => format!("{part:?} is not one split, expected :{}", names.join(" or :")),
    })
}

/// Returns the first shard that a list of files lacks: `x-00001-of-00002` beside `x-00000-of-00002`.
pub(crate) fn missing_shard(files: &[String]) -> Option<String> {
    let (before, _, count) = files.iter().find_map(|file| shard(file))?;
    let has = |wanted: usize| {
        files.iter().filter_map(|file| shard(file)).any(|(_, number, _)| number == wanted)
    };
    let wanted = (0..count).find(|&wanted| !has(wanted))?;
    Some(format!("{before}-{wanted:05}-of-{count:05}"))
}

/// Files with rows by configuration and split.
fn groups(files: &[String]) -> BTreeMap<(String, String), Vec<String>> {
    let mut by_configuration: BTreeMap<String, Vec<(Option<String>, &String)>> = BTreeMap::new();
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        let has_rows = ENDINGS.iter().any(|ending| name.ends_with(ending))
            && !DESCRIPTIONS.contains(&name)
            && !file.split('/').any(|part| part.starts_with('.'));
        if has_rows {
            let (configuration, split) = place(file);
            by_configuration.entry(configuration).or_default().push((split, file));
        }
    }
    let mut groups: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (configuration, files) in by_configuration {
        let is_named = files.iter().any(|(split, _)| split.is_some());
        for (split, file) in files {
            let split = match split {
                Some(split) => split,
                // Beside named splits, other files are something else.
                None if is_named => continue,
                None => "train".to_owned(),
            };
            groups.entry((configuration.clone(), split)).or_default().push(file.clone());
        }
    }
    for files in groups.values_mut() {
        // The same rows in several formats.
        let kind = ENDINGS.iter().find(|ending| files.iter().any(|file| file.ends_with(*ending)));
        files.retain(|file| kind.is_some_and(|ending| file.ends_with(ending)));
        files.sort();
    }
    groups
}

/// Configuration and split of a file: its folder without `data` and the split's own, and a word in its path.
fn place(file: &str) -> (String, Option<String>) {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let mut folders: Vec<&str> =
        folder.split('/').filter(|part| !part.is_empty() && *part != "data").collect();
    let of_shard = shard(name).map(|(before, ..)| before.to_owned());
    let split = of_shard.or_else(|| split_word(name)).or_else(|| {
        let index = folders.iter().rposition(|folder| split_word(folder).is_some())?;
        split_word(folders.remove(index))
    });
    (folders.join("/"), split)
}

/// The split that a word of a name stands for.
fn split_word(name: &str) -> Option<String> {
    let words: Vec<String> =
        name.split(|c: char| !c.is_alphanumeric()).map(str::to_ascii_lowercase).collect();
    let split = SPLITS.iter().find(|(_, known)| words.iter().any(|word| known.contains(&&**word)));
    split.map(|(split, _)| (*split).to_owned())
}

/// Reads `BEFORE-NNNNN-of-NNNNN.ENDING`, as `push_to_hub` names shards: what stands before, number and count.
fn shard(name: &str) -> Option<(&str, usize, usize)> {
    let stem = name.split('.').next()?;
    let (before, count) = stem.rsplit_once("-of-")?;
    let (before, number) = before.rsplit_once('-')?;
    Some((before, number.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// Layouts of data sets of the hub; the expected files are those that `datasets.load_dataset` takes.
    #[test]
    fn configuration_and_split_are_read_off_the_names() {
        let gsm8k = files(&[
            "README.md",
            "main/test-00000-of-00001.parquet",
            "main/train-00000-of-00001.parquet",
            "socratic/test-00000-of-00001.parquet",
            "socratic/train-00000-of-00001.parquet",
        ]);
        let train = files(&["main/train-00000-of-00001.parquet"]);
        assert_eq!(chosen(&gsm8k, "main/train"), Ok(train.clone()));
        assert_eq!(chosen(&gsm8k, "main/train-00000-of-00001.parquet"), Ok(train));
        let choices = "expected :main/test or :main/train or :socratic/test or :socratic/train";
        for part in ["", "main", "train", "main/validation"] {
            assert_eq!(chosen(&gsm8k, part), Err(format!("{part:?} is not one split, {choices}")));
        }
        let pushed = files(&[
            "data/test-00000-of-00001.parquet",
            "data/train-00001-of-00002.parquet",
            "data/train-00000-of-00002.parquet",
            "dataset_infos.json",
        ]);
        let shards = ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"];
        assert_eq!(chosen(&pushed, "train"), Ok(files(&shards)));
        let lines = files(&["test.jsonl", "README.md", ".gitattributes"]);
        assert_eq!(chosen(&lines, ""), Ok(files(&["test.jsonl"])));
        assert_eq!(chosen(&lines, "test"), Ok(files(&["test.jsonl"])));
        let one = files(&["aime24.jsonl", "aime24.parquet"]);
        assert_eq!(chosen(&one, "train"), Ok(files(&["aime24.parquet"])), "one of two formats");
        let converted = files(&["main/train/0000.parquet", "main/test/0000.parquet"]);
        assert_eq!(chosen(&converted, "main/test"), Ok(files(&["main/test/0000.parquet"])));
        let odd = files(&["data/level3_5-00000-of-00001.parquet"]);
        assert_eq!(chosen(&odd, "level3_5"), Ok(odd.clone()), "a split of another name");
    }

    #[test]
    fn a_set_without_rows_and_a_missing_shard_are_named() {
        let expected =
            "no file with rows, expected one of .parquet, .jsonl, .jsonl.zst, .json, .csv";
        assert_eq!(chosen(&files(&["README.md"]), "train"), Err(expected.to_owned()));
        assert_eq!(chosen(&files(&["a.csv"]), "b.csv"), Err("no file b.csv".to_owned()));
        let shards = files(&["data/train-00000-of-00002.parquet"]);
        assert_eq!(missing_shard(&shards).as_deref(), Some("data/train-00001-of-00002"));
        assert_eq!(missing_shard(&files(&["train.parquet"])), None);
    }
}
