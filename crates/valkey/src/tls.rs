//! What a configuration says of TLS.

use onecopy_net::{Endpoint, Identity, TlsConnector, TlsOptions, Verify};

use crate::{Config, Error};

/// TLS as the configuration wants it; `None` where it wants none. Refuses what can't be kept, before anybody is
/// connected to.
pub(crate) fn connector(config: &Config) -> Result<Option<TlsConnector>, Error> {
    refuse_contradiction(config)?;
    if !config.tls {
        return Ok(None);
    }
    let options = TlsOptions {
        verify: config.tls_verify,
        ca: config.tls_ca.clone(),
        identity: match (&config.tls_cert, &config.tls_key) {
            (Some(certificate), Some(key)) => Some(Identity {
                certificate: certificate.clone(),
                key: key.clone(),
            }),
            _ => None,
        },
        ..TlsOptions::default()
    };
    let connector = TlsConnector::new(&options, server_name(config), &config.tls_cache)?;
    Ok(Some(connector))
}

pub(crate) fn refuse_contradiction(config: &Config) -> Result<(), Error> {
    let refuse = |problem: String| Err(Error::config(problem));
    let verify = config.tls_verify;
    for (option, is_given) in [
        ("tls-ca", config.tls_ca.is_some()),
        ("tls-cert", config.tls_cert.is_some()),
        ("tls-key", config.tls_key.is_some()),
        ("tls-server-name", config.tls_server_name.is_some()),
        ("tls-verify", verify != Verify::default()),
    ] {
        if is_given && !config.tls {
            return refuse(format!(
                "{option} has no effect without tls: start the url with rediss:// or valkeys://"
            ));
        }
    }
    if config.tls_cert.is_some() != config.tls_key.is_some() {
        return refuse("tls-cert and tls-key go together: set both or none".to_owned());
    }
    if config.tls_ca.is_some() && verify == Verify::None {
        return refuse(
            "tls-ca has no effect with tls-verify=none, which verifies nothing".to_owned(),
        );
    }
    if config.tls && verify == Verify::Ca && config.tls_ca.is_none() {
        return refuse(
            "tls-verify=ca accepts every host with a certificate of the CA, so name a CA of your own: set tls-ca, or leave \
             tls-verify at full"
                .to_owned(),
        );
    }
    if config.tls && verify == Verify::Full && server_name(config).is_empty() {
        return refuse(
            "a unix socket has no host's name to verify: set tls-server-name, or tls-verify=ca"
                .to_owned(),
        );
    }
    Ok(())
}

fn server_name(config: &Config) -> &str {
    match (&config.tls_server_name, &config.endpoint) {
        (Some(name), _) => name,
        (None, Endpoint::Tcp { host, .. }) => host,
        (None, Endpoint::Unix(_)) => "",
    }
}
