//! What the adapter makes of streams as the real program writes them.
