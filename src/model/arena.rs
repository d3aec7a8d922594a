//! Where nodes live: slots that are used again, with handles that notice it.

use super::node::Node;

/// A handle of a node. A handle of a node that is gone finds nothing, also when its slot is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIx {
    slot: u32,
    generation: u32,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    // Boxed, so that a growing arena moves 8 bytes for a node and never doubles half a gigabyte.
    node: Option<Box<Node>>,
}

/// All nodes of a model.
#[derive(Debug, Default)]
pub(super) struct Arena {
    slots: Vec<Slot>,
    free: Vec<u32>,
    count: usize,
}

impl Arena {
    pub fn insert(&mut self, node: Node) -> NodeIx {
        self.count += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let mut generation = 0;
        if let Some(place) = self.slots.get_mut(slot as usize) {
            place.node = Some(Box::new(node));
            generation = place.generation;
        }
        NodeIx { slot, generation }
    }

    pub fn remove(&mut self, ix: NodeIx) -> Option<Box<Node>> {
        let place = self.slots.get_mut(ix.slot as usize).filter(|place| place.generation == ix.generation)?;
        let node = place.node.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(ix.slot);
        self.count -= 1;
        Some(node)
    }

    pub fn get(&self, ix: NodeIx) -> Option<&Node> {
        let place = self.slots.get(ix.slot as usize)?;
        place.node.as_deref().filter(|_| place.generation == ix.generation)
    }

    pub fn get_mut(&mut self, ix: NodeIx) -> Option<&mut Node> {
        let place = self.slots.get_mut(ix.slot as usize)?;
        place.node.as_deref_mut().filter(|_| place.generation == ix.generation)
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns how many slots there are, used or not.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the nodes of some slots.
    pub fn slice(&self, from: usize, most: usize) -> impl Iterator<Item = (NodeIx, &Node)> {
        let first = u32::try_from(from).unwrap_or(u32::MAX);
        (first..).zip(self.slots.iter().skip(from).take(most)).filter_map(|(slot, place)| {
            place.node.as_deref().map(|node| (NodeIx { slot, generation: place.generation }, node))
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = (NodeIx, &Node)> {
        (0u32..).zip(&self.slots).filter_map(|(slot, place)| {
            place.node.as_deref().map(|node| (NodeIx { slot, generation: place.generation }, node))
        })
    }
}
