//! What a request's body, a plan file or the inbox may hold: it is taken or refused in words, and what is taken is read
//! again as it was written.

use quarterdeck::model::command::Command;
use quarterdeck::serve::plan::{self, Otherwise};
use serde_json::{Map, Value};

pub fn read(bytes: &[u8]) {
    if let Ok(command) = serde_json::from_slice::<Command>(bytes) {
        let text = serde_json::to_vec(&command).expect("a command can be written");
        assert_eq!(serde_json::from_slice::<Command>(&text).ok(), Some(command));
    }
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(bytes) else { return };
    let otherwise = Otherwise::default();
    for told in [plan::read(fields.clone(), &otherwise), plan::read_file(fields, &otherwise)] {
        if let Err(why) = told {
            assert!(!why.trim().is_empty());
        }
    }
}
