//! What the interface says when it does not do what was asked: `{"error":{"code","message","hint"}}`.

use axum::Json;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::engine::door::Left;
use crate::engine::kernel::spec::{Code, Refusal};
use crate::model::command::Receipt;
use crate::report::select::NotOne;
use crate::store::error::Error as StoreError;

/// Why a request is not done.
#[derive(Debug, Clone)]
pub struct Problem {
    pub status: StatusCode,
    body: Box<Body>,
}

#[derive(Debug, Clone, Serialize)]
struct Body {
    error: Said,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<Receipt>,
}

#[derive(Debug, Clone, Serialize)]
struct Said {
    code: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The state that does not allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

impl Problem {
    /// Says what is wrong; lines after the first are what to do.
    pub fn new(status: StatusCode, code: &str, text: &str) -> Self {
        let (message, hint) = text.split_once('\n').map_or((text, None), |(what, hint)| (what, Some(hint)));
        let hint = hint.map(str::to_owned);
        let error = Said { code: code.into(), message: message.into(), hint, status: None };
        Self { status, body: Box::new(Body { error, receipt: None }) }
    }

    pub fn malformed(text: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", text)
    }

    pub fn not_found(text: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", text)
    }

    /// A command was refused, and its receipt says why.
    pub fn refused(code: Option<&str>, reason: Option<&str>, receipt: Option<Receipt>) -> Self {
        let code = code.unwrap_or("refused");
        let mut problem =
            Self::new(status_of(code), code, reason.unwrap_or("It was refused without a reason."));
        problem.body.receipt = receipt;
        problem
    }

    /// Adds in which state its target is.
    pub fn in_state(mut self, status: Option<&'static str>) -> Self {
        self.body.error.status = status;
        self
    }
}

/// The kernel's ways to refuse, as HTTP says them.
fn status_of(code: &str) -> StatusCode {
    match code {
        "invalid" => StatusCode::BAD_REQUEST,
        "not-found" => StatusCode::NOT_FOUND,
        "limit" => StatusCode::TOO_MANY_REQUESTS,
        // Not possible in this state, or not with this agent; superseded; or who it was for is gone.
        _ => StatusCode::CONFLICT,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

impl From<Left> for Problem {
    fn from(_: Left) -> Self {
        let text = "The engine is leaving; what was asked may or may not have been done.\nSend it again, with the same Idempotency-Key, to the next engine.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "leaving", text)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::refused(Some(Code::as_str(refusal.code)), Some(&refusal.reason), None)
    }
}

impl From<NotOne> for Problem {
    fn from(error: NotOne) -> Self {
        match &error {
            NotOne::None(_) => Self::not_found(&error.to_string()),
            NotOne::Several { .. } => Self::new(StatusCode::BAD_REQUEST, "ambiguous", &error.to_string()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store", &error.to_string())
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            let text = "The request is too long.\nPut long texts into files, and name those.";
            return Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", text);
        }
        Self::malformed(&rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::malformed(&rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::malformed(&rejection.body_text())
    }
}
