//! Who may log in to a pooled listener, and how a password is checked.
//!
//! Where the password is known, the client's own plugin decides: whatever it begins with is answered. Where only a hash of it is, the
//! client has to use `mysql_native_password`, and what it proves to know logs in to the servers. A user that does not exist goes
//! through the same steps as one with a wrong password, with what nobody can answer.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::{hmac, rand};
use onecopy_mysql_proto::auth::native_password::PasswordHash;
use onecopy_mysql_proto::auth::{
    Plugin, Secret, Verifier, caching_sha2, ed25519, native_password, parsec,
};
use onecopy_mysql_proto::server;

use crate::config::AccountConfig;

/// The plugins that clients can use. `mysql_clear_password` and `dialog` are for passwords that a server does not know.
const PLUGINS: [Plugin; 5] = [
    Plugin::NativePassword,
    Plugin::CachingSha2Password,
    Plugin::ClientEd25519,
    Plugin::Parsec,
    Plugin::Sha256Password,
];

/// The accounts of a listener.
#[derive(Debug)]
pub(crate) struct Accounts {
    by_user: HashMap<Box<[u8]>, Account>,
    /// Its password is known to nobody.
    nobody: Account,
    /// How many accounts have a hash in place of a password.
    hashed: usize,
    /// From which each user's salt is made, so that it is the same at each login, also of users that do not exist.
    salts: hmac::Key,
}

/// An account, and what its password is checked by: made at the first login with each plugin.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) config: AccountConfig,
    /// What a client has proven to know of which the configuration has a hash. Reloads that leave the hash as it is share it.
    proven: Arc<OnceLock<PasswordHash>>,
    native: OnceLock<native_password::Verifier>,
    sha2: OnceLock<caching_sha2::Verifier>,
    ed25519: OnceLock<ed25519::Verifier>,
    parsec: OnceLock<parsec::Verifier>,
}

impl Accounts {
    /// `before`: those that a reload replaces. Salts stay the same, or users that do not exist would be the ones whose salt or plugin
    /// changes with a reload. `None` where there are no random bytes.
    pub(crate) fn new(accounts: &[AccountConfig], before: Option<&Self>) -> Option<Self> {
        let mut password = [0; 32];
        rand::fill(&mut password).ok()?;
        let salts = match before {
            Some(before) => before.salts.clone(),
            None => {
                let mut salts = [0; 32];
                rand::fill(&mut salts).ok()?;
                hmac::Key::new(hmac::HMAC_SHA256, &salts)
            }
        };
        let hashed = accounts.iter().filter(|account| account.hash.is_some());
        let by_user = accounts.iter().map(|account| {
            let user = account.user.as_bytes();
            let before = before.and_then(|before| before.find(user));
            (user.into(), Account::new(account.clone(), before))
        });
        Some(Self {
            hashed: hashed.count(),
            by_user: by_user.collect(),
            nobody: Account::new(AccountConfig::new("", Secret::new(password)), None),
            salts,
        })
    }

    pub(crate) fn find(&self, user: &[u8]) -> Option<&Account> {
        self.by_user.get(user)
    }

    /// Whether a user that does not exist is asked as if only a hash of its password were known: as large a part of them as of those
    /// that exist, and each always alike.
    fn seems_hashed(&self, user: &[u8]) -> bool {
        let tag = hmac::sign(&self.salts, user);
        // The first bytes are its salt.
        let byte = tag.as_ref().last().copied().unwrap_or_default();
        usize::from(byte) * self.by_user.len() < self.hashed * 256
    }

    /// What the client is asked, which has begun with `plugin`; `default` if the proxy does not have that one. `None` where there are
    /// no random bytes.
    pub(crate) fn challenge(
        &self,
        user: &[u8],
        plugin: Option<&[u8]>,
        default: Plugin,
    ) -> Option<server::Account> {
        let known = self.find(user);
        let account = known.unwrap_or(&self.nobody);
        let mut plugins = PLUGINS.into_iter();
        let named = plugins.find(|one| Some(one.name().as_bytes()) == plugin);
        let password = &account.config.password;
        let sha2 = || {
            let verifier = &account.sha2;
            let verifier = verifier.get_or_init(|| caching_sha2::Verifier::from_password(password));
            verifier.clone()
        };
        let is_hashed = match known {
            Some(account) => account.config.hash.is_some(),
            None => self.seems_hashed(user),
        };
        let native = || {
            let verifier = &account.native;
            let verifier = verifier.get_or_init(|| match &account.config.hash {
                Some(hash) => hash.clone(),
                None => native_password::Verifier::from_password(password),
            });
            Verifier::NativePassword(verifier.clone())
        };
        let verifier = match named.unwrap_or(default) {
            _ if is_hashed => native(),
            _ if password.is_empty() => Verifier::NoPassword,
            Plugin::CachingSha2Password => Verifier::CachingSha2Password(sha2()),
            Plugin::Sha256Password => Verifier::Sha256Password(sha2()),
            Plugin::ClientEd25519 => {
                let verifier = &account.ed25519;
                let verifier = verifier.get_or_init(|| ed25519::Verifier::from_password(password));
                Verifier::ClientEd25519(verifier.clone())
            }
            Plugin::Parsec => Verifier::Parsec(self.parsec(account, user, known.is_some())),
            _ => native(),
        };
        // The greeting's nonce is of another length.
        let nonce = match verifier {
            Verifier::ClientEd25519(_) | Verifier::Parsec(_) => {
                let mut fresh = vec![0; parsec::SCRAMBLE_BYTES];
                rand::fill(&mut fresh).ok()?;
                Some(fresh)
            }
            _ => None,
        };
        Some(server::Account {
            verifier,
            nonce,
            empty_cache: false,
        })
    }

    fn parsec(&self, account: &Account, user: &[u8], is_known: bool) -> parsec::Verifier {
        let mut salt = [0; parsec::SALT_BYTES];
        let tag = hmac::sign(&self.salts, user);
        for (byte, random) in salt.iter_mut().zip(tag.as_ref()) {
            *byte = *random;
        }
        let ext_salt = parsec::ExtSalt::new(salt);
        let password = &account.config.password;
        let verifier = &account.parsec;
        let verifier = verifier.get_or_init(|| parsec::Verifier::from_password(password, ext_salt));
        match is_known {
            true => verifier.clone(),
            false => verifier.clone().with_ext_salt(ext_salt),
        }
    }
}

impl Account {
    /// Whether the proxy has what it needs to log in to a server.
    pub(crate) fn can_log_in(&self) -> bool {
        self.config.hash.is_none() || self.proven.get().is_some()
    }

    /// What it logs in with in place of a password.
    pub(crate) fn hash(&self) -> Option<&PasswordHash> {
        self.proven.get()
    }

    /// What is proven of an account that has this hash, if this account's secret is the same one.
    fn proves(&self, hash: &native_password::Verifier) -> Option<Arc<OnceLock<PasswordHash>>> {
        let password = &self.config.password;
        match &self.config.hash {
            Some(own) => (own == hash).then(|| Arc::clone(&self.proven)),
            None if password.is_empty() => None,
            None => (native_password::Verifier::from_password(password) == *hash)
                .then(|| Arc::new(OnceLock::from(PasswordHash::from_password(password)))),
        }
    }

    /// A client has logged in, and has proven to know this.
    pub(crate) fn prove(&self, hash: &PasswordHash) {
        if self.config.hash.is_some() {
            self.proven.get_or_init(|| hash.clone());
        }
    }

    fn new(config: AccountConfig, before: Option<&Self>) -> Self {
        let proven = match (before, &config.hash) {
            (Some(before), Some(hash)) => before.proves(hash),
            _ => None,
        };
        Self {
            config,
            proven: proven.unwrap_or_default(),
            native: OnceLock::new(),
            sha2: OnceLock::new(),
            ed25519: OnceLock::new(),
            parsec: OnceLock::new(),
        }
    }
}

#[cfg(test)]
mod tests;
