//! The planner, asked for a start that names a task and no steps. It is a delegation of its own, seen in the tree, whose
//! id follows from that of the start: the same request asked again finds it, and asks nobody twice.

use std::time::Duration;

use super::super::Api;
use super::control::{Sent, send};
use crate::decide::plan::asking;
use crate::decide::settings::Settings;
use crate::model::command::{Command, Limits, ReceiptState, Verb};
use crate::model::id::{CommandId, DelegationId};
use crate::model::key::NodeKey;

/// How soon it is looked again whether the plan is there.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Who is asked, and for which start.
#[derive(Debug, Clone)]
pub(super) struct Planner {
    pub name: String,
    pub delegation: DelegationId,
    pub key: CommandId,
    pub by: String,
}

impl Planner {
    /// Returns the delegation in which the plan is made.
    pub fn planning(&self) -> DelegationId {
        format!("{}-plan", self.delegation).into()
    }

    /// Asks, and waits for the end of it; an error says why there is no plan.
    pub async fn ask(
        &self,
        api: &Api,
        whole: &str,
        settings: &Settings,
        limits: &Limits,
    ) -> Result<String, String> {
        let left = |_| "the engine is ending".to_owned();
        let id = self.planning();
        let spec = Box::new(asking(&self.name, whole, settings, limits));
        let now = api.0.door.look(|view| view.now).await.map_err(left)?;
        let command = Command {
            id: format!("{}-plan", self.key).into(),
            verb: Verb::Start { spec },
            delegation_id: id.clone(),
            subtask_id: None,
            by: Some(self.by.clone()),
            at: now,
        };
        match send(api, command).await {
            Ok(Sent::Final(receipt)) => {
                if let ReceiptState::Refused { reason, .. } = receipt.state {
                    return Err(reason.map_or_else(|| "it was refused".into(), Into::into));
                }
            }
            Ok(Sent::Pending(_)) => {}
            Err(_) => return Err("it could not be asked".into()),
        }
        let patience = Duration::from_millis(settings.limits.subtask_timeout.value);
        match tokio::time::timeout(patience, said(api, &id)).await {
            Ok(said) => said,
            Err(_) => Err(format!("{id} takes too long")),
        }
    }
}

/// Waits for the end of the planner's step, and returns what it said.
async fn said(api: &Api, id: &DelegationId) -> Result<String, String> {
    let key = NodeKey::Subtask(id.clone(), "st-1".into());
    loop {
        let key = key.clone();
        let ended = api.0.door.look(move |view| {
            let node = view.model.get(view.model.find(&key)?)?;
            let said = node.summary().map(str::to_owned);
            node.status.is_ended().then(|| (node.status.word().as_str(), said))
        });
        match ended.await.map_err(|_| "the engine is ending".to_owned())? {
            Some(("done", Some(said))) => return Ok(said),
            Some(("done", None)) => return Err("it said nothing".into()),
            Some((word, _)) => return Err(format!("{id} is {word}")),
            None => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}
