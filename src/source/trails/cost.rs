//! What messages cost, by the table of prices that is in force.

use std::sync::Arc;

use hashbrown::HashMap;

use super::fold::Used;
use crate::model::fact::UsageReport;
use crate::model::name::Name;
use crate::model::price::{Price, Prices};
use crate::model::usage::Usd;

/// Prices messages.
#[derive(Debug, Default)]
pub struct Pricer {
    prices: Arc<Prices>,
    /// The prices of models that were asked for; the last one is most likely the next one.
    found: HashMap<Name, Option<Price>>,
    last: Option<(Name, Option<Price>)>,
}

impl Pricer {
    pub fn new(prices: Arc<Prices>) -> Self {
        Self { prices, ..Self::default() }
    }

    /// Returns the table.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Returns a message as it is told, with what it cost: as its file says, else by the table.
    pub fn report(&mut self, used: &Used) -> UsageReport {
        let mut report = used.report();
        if report.cost.is_none() {
            report.cost = self.cost(&report);
            report.by_table = report.cost.is_some();
        }
        report
    }

    fn cost(&mut self, report: &UsageReport) -> Option<Usd> {
        let model = report.model.as_ref()?;
        if let Some((_, price)) = self.last.as_ref().filter(|(last, _)| last == model) {
            return price.as_ref()?.cost(report);
        }
        let prices = &self.prices;
        let price = self.found.entry_ref(model).or_insert_with(|| prices.of(model).cloned());
        self.last = Some((model.clone(), price.clone()));
        price.as_ref()?.cost(report)
    }
}
