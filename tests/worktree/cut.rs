//! Cut off at every step, and repeated.

use quarterdeck::worktree::{Failed, Fuse, Made};

use super::place::{Place, files, which, write};

/// More steps than any piece of work has.
const MOST: u32 = 100;

#[test]
fn a_work_tree_whose_making_was_cut_off_is_made_anew_and_whole() {
    let mut cuts = 0;
    for step in 0..MOST {
        let place = Place::new(&[("a", "1\n"), ("sub/b", "2\n")]);
        place.write("untracked", "u\n");
        let (own, mine) = (place.own(), place.files());
        let cut = place.shop().with(Fuse::at(step)).make(&which("st-1"), &place.path(""), &[]);
        let is_cut = matches!(cut, Err(Failed::Cut));
        assert!(is_cut || matches!(cut, Ok(Made::Tree(_))), "{cut:?}");
        // The person goes on meanwhile: what is made anew has that, what is there already has not.
        if is_cut {
            place.write("later", "l\n");
        }
        let record = place.make("st-1", &[]);
        assert_eq!(files(&record.path), if is_cut { place.files() } else { mine });
        assert_eq!(place.git(&["worktree", "list"]).lines().count(), 2, "cut at {step}");
        assert_eq!(place.own(), own);
        if !is_cut {
            break;
        }
        cuts += 1;
    }
    assert!((5..MOST).contains(&cuts), "{cuts} steps were cut");
}

/// Makes a place in which a step changed four files.
fn changed() -> Place {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n"), ("mine", "1\n")]);
    let record = place.make("st-1", &[]);
    write(&record.path, "a", "2\n");
    write(&record.path, "b", "2\n");
    write(&record.path, "new", "2\n");
    std::fs::remove_file(record.path.join("c")).unwrap();
    place.write("mine", "changed\n");
    place
}

#[test]
fn a_merge_that_was_cut_off_is_finished() {
    let mut cuts = 0;
    for step in 0..MOST {
        let place = changed();
        let own = place.own();
        let cut = place.merge_with("st-1", Fuse::at(step));
        assert!(place.merge("st-1").is_ok(), "cut at {step}");
        let expected = [("a", "2\n"), ("b", "2\n"), ("mine", "changed\n"), ("new", "2\n")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(place.files(), expected.into(), "cut at {step}");
        assert_eq!(place.own(), own);
        assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
        if cut.is_some() {
            break;
        }
        cuts += 1;
    }
    assert!((10..MOST).contains(&cuts), "{cuts} steps were cut");
}

#[test]
fn a_merge_that_was_cut_off_is_taken_back_where_the_person_changed_its_files_since() {
    let mut taken_back = 0;
    for step in 0..MOST {
        let place = changed();
        let before = place.files();
        let cut = place.merge_with("st-1", Fuse::at(step));
        if cut.is_some() {
            break;
        }
        place.write("b", "mine since\n");
        match place.merge("st-1") {
            Err(paths) => {
                assert_eq!(paths, ["b"], "cut at {step}");
                let mut expected = before;
                expected.insert("b".into(), "mine since\n".into());
                assert_eq!(place.files(), expected, "cut at {step}: nothing is half done");
                taken_back += 1;
            }
            // It was all there already: the person changed what was merged.
            Ok(_) => assert_eq!(place.read("b"), "mine since\n", "cut at {step}"),
        }
    }
    assert!(taken_back >= 5, "{taken_back}");
}
