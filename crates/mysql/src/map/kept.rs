//! The plans that a connection used last.

use onecopy_mysql_proto::client::Definitions;

use super::{Planner, Slot};
use crate::Error;

/// Plans that are kept: a program that goes round more types and statements than this on one connection plans again, which costs
/// some comparisons of names.
const MOST: usize = 16;

/// How a type is planned. It stands for the type too: functions at one address do the same.
type PlanFn = fn(&mut Planner<'_>) -> Result<(), Error>;

#[derive(Debug, Default)]
pub(crate) struct Plans {
    plans: Vec<Plan>,
    current: usize,
    /// The plan that is replaced next.
    oldest: usize,
}

#[derive(Debug)]
struct Plan {
    /// Of the columns; `None` while it is made, and if that failed.
    version: Option<u64>,
    of: PlanFn,
    slots: Vec<Slot>,
}

impl Plan {
    #[inline]
    fn is_for(&self, version: u64, of: PlanFn) -> bool {
        self.version == Some(version) && std::ptr::fn_addr_eq(self.of, of)
    }
}

impl Plans {
    /// Makes the plan of a type for these columns the current one.
    #[inline]
    pub(crate) fn select(&mut self, columns: &Definitions, of: PlanFn) -> Result<(), Error> {
        if let Some(plan) = self.plans.get(self.current)
            && plan.is_for(columns.version(), of)
        {
            return Ok(());
        }
        self.select_other(columns, of)
    }

    #[inline(never)]
    fn select_other(&mut self, columns: &Definitions, of: PlanFn) -> Result<(), Error> {
        let version = columns.version();
        if let Some(found) = self.plans.iter().position(|plan| plan.is_for(version, of)) {
            self.current = found;
            return Ok(());
        }
        if self.plans.len() < MOST {
            let bytes = size_of::<Plan>() as u64;
            self.plans
                .try_reserve(1)
                .map_err(|_| onecopy_mysql_proto::Error::OutOfMemory { bytes })?;
            self.oldest = self.plans.len();
            self.plans.push(Plan {
                version: None,
                of,
                slots: Vec::new(),
            });
        }
        self.current = self.oldest;
        self.oldest = (self.oldest + 1) % MOST;
        let plan = &mut self.plans[self.current];
        plan.version = None;
        plan.of = of;
        plan.slots.clear();
        of(&mut Planner::new(columns, &mut plan.slots))?;
        plan.version = Some(version);
        Ok(())
    }

    /// The columns of the current plan.
    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        match self.plans.get(self.current) {
            Some(plan) => &plan.slots,
            None => &[],
        }
    }
}
