//! Where each file of a session lies. Nothing else in this room builds a path.

use std::path::PathBuf;

/// A session's folder, and where each file lies in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// `spec.json`
    pub fn spec(&self) -> PathBuf {
        self.0.join("spec.json")
    }

    /// `orders`
    pub fn orders(&self) -> PathBuf {
        self.0.join("orders")
    }

    /// `in`
    pub fn input(&self) -> PathBuf {
        self.0.join("in")
    }

    /// `out`
    pub fn out(&self) -> PathBuf {
        self.0.join("out")
    }

    /// `err`
    pub fn err(&self) -> PathBuf {
        self.0.join("err")
    }

    /// `lock`
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// `bell`
    pub fn bell(&self) -> PathBuf {
        self.0.join("bell")
    }

    /// `host.json`
    pub fn host(&self) -> PathBuf {
        self.0.join("host.json")
    }

    /// `host.jsonl`
    pub fn answers(&self) -> PathBuf {
        self.0.join("host.jsonl")
    }

    /// `host.err`
    pub fn last_words(&self) -> PathBuf {
        self.0.join("host.err")
    }

    /// `exit.json`
    pub fn exit(&self) -> PathBuf {
        self.0.join("exit.json")
    }
}
