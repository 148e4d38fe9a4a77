//! `[traces]`.

use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::section::set;
use super::statement_log::{Shown, sample};
use crate::config::{CollectorUrl, CollectorUrlError, Config, Literals};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Traces {
    endpoint: Option<Spanned<String>>,
    sample: Option<Spanned<f64>>,
    service_name: Option<Spanned<String>>,
    literals: Option<Shown>,
}

impl Traces {
    pub(super) fn put(self, config: &mut Config) -> Result<(), Problem> {
        let traces = &mut config.traces;
        if let Some(endpoint) = self.endpoint {
            let url: Result<CollectorUrl, _> = endpoint.get_ref().parse();
            traces.endpoint = Some(url.map_err(|error| {
                let message = format!("`endpoint` is not the address of a collector: {error}");
                Problem::at(endpoint.span(), message).hint(match error {
                    CollectorUrlError::Tls => {
                        "send to a collector on this machine, which can forward the traces over TLS"
                    }
                    _ => "for example \"http://127.0.0.1:4318\"",
                })
            })?);
        }
        set(&mut traces.sample, sample(self.sample)?);
        if let Some(name) = self.service_name {
            if name.get_ref().is_empty() {
                return Err(Problem::at(name.span(), "`service-name` is empty"));
            }
            traces.service_name = name.into_inner();
        }
        set(&mut traces.literals, self.literals.map(Literals::from));
        Ok(())
    }
}
