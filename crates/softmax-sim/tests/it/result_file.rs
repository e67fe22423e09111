//! Files of results, in folders that are made if need be, and errors that name them.

use std::fs;

use softmax_sim::result_file::write_whole;

#[test]
fn a_file_is_replaced_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/on/the/way.txt");
    write_whole(&path, b"old and longer").unwrap();
    write_whole(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_is_named_and_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("verify.json");
    fs::create_dir(&path).unwrap();
    let error = write_whole(&path, b"x").unwrap_err();
    assert!(
        error.to_string().starts_with(&format!("{}: cannot write: ", path.display())),
        "{error}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
}
