//! Who may log in to a pooled listener, and how a password is checked.
//!
//! Where the password is known, the client's own plugin decides: whatever it begins with is answered. Where only a hash of it is, the
//! client has to use the plugin of the hash, and what it proves to know logs in to the servers. A user that does not exist goes
//! through the same steps as one with a wrong password, with what nobody can answer.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::{hmac, rand};
use onecopy_mysql_proto::auth::native_password::PasswordHash;
use onecopy_mysql_proto::auth::{
    Plugin, Secret, Verifier, caching_sha2, ed25519, native_password, parsec,
};
use onecopy_mysql_proto::server::{self, ServerHandshake};

use super::password_checks::PasswordChecks;
use crate::config::{AccountConfig, StoredHash};

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
    /// What a server would store of that, with as many rounds as an account has; `None` where none has such a hash.
    nobodys_hash: Option<Arc<caching_sha2::StoredPassword>>,
    /// How many accounts have a hash of `mysql_native_password` in place of a password, and how many one of `caching_sha2_password`.
    hashed: [usize; 2],
    /// From which each user's salt is made, so that it is the same at each login, also of users that do not exist.
    salts: hmac::Key,
    /// Checks of passwords that clients have sent.
    pub(crate) checks: PasswordChecks,
}

/// An account, and what its password is checked by: made at the first login with each plugin.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) config: AccountConfig,
    /// What a client has proven to know of which the configuration has a hash. Reloads that leave the hash as it is share it.
    proven: Arc<OnceLock<Proof>>,
    native: OnceLock<native_password::Verifier>,
    sha2: OnceLock<caching_sha2::Verifier>,
    ed25519: OnceLock<ed25519::Verifier>,
    parsec: OnceLock<parsec::Verifier>,
}

/// What a client has proven to know of a password that only a hash was known of: enough to log in.
#[derive(Debug, Clone)]
pub(crate) enum Proof {
    /// With `mysql_native_password`.
    Native(PasswordHash),
    /// With any plugin; and what the next client is checked by.
    Password(Secret, caching_sha2::Verifier),
}

impl Proof {
    /// Of a client that is let in.
    pub(crate) fn of(handshake: &ServerHandshake) -> Option<Self> {
        match handshake.password() {
            Some(password) => Some(Self::password(password.clone())),
            None => handshake.password_hash().cloned().map(Self::Native),
        }
    }

    fn password(password: Secret) -> Self {
        let verifier = caching_sha2::Verifier::from_password(&password);
        Self::Password(password, verifier)
    }
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
        let mut hashed = [0; 2];
        let mut nobodys_hash = None;
        for account in accounts {
            match &account.hash {
                Some(StoredHash::NativePassword(_)) => hashed[0] += 1,
                Some(StoredHash::CachingSha2Password(stored)) => {
                    hashed[1] += 1;
                    nobodys_hash.get_or_insert_with(|| Arc::new(stored.with_password(&password)));
                }
                None => {}
            }
        }
        let by_user = accounts.iter().map(|account| {
            let user = account.user.as_bytes();
            let before = before.and_then(|before| before.find(user));
            (user.into(), Account::new(account.clone(), before))
        });
        Some(Self {
            hashed,
            nobodys_hash,
            by_user: by_user.collect(),
            nobody: Account::new(AccountConfig::new("", Secret::new(password)), None),
            salts,
            checks: before
                .map(|before| before.checks.clone())
                .unwrap_or_default(),
        })
    }

    pub(crate) fn find(&self, user: &[u8]) -> Option<&Account> {
        self.by_user.get(user)
    }

    /// What a password that a user has sent is checked against.
    pub(crate) fn stored(&self, user: &[u8]) -> Option<Arc<caching_sha2::StoredPassword>> {
        match self.find(user).map(|account| &account.config.hash) {
            Some(Some(StoredHash::CachingSha2Password(stored))) => Some(Arc::clone(stored)),
            Some(_) => None,
            None => self.nobodys_hash.clone(),
        }
    }

    /// By which plugin a user that does not exist is asked as if only a hash of its password were known: as large a part of them as of
    /// those that exist, and each always alike.
    fn seeming_hash(&self, user: &[u8]) -> Option<Plugin> {
        let tag = hmac::sign(&self.salts, user);
        // The first bytes are its salt.
        let byte = tag.as_ref().last().copied().unwrap_or_default();
        let place = usize::from(byte) * self.by_user.len();
        let [native, sha2] = self.hashed.map(|count| count * 256);
        match place {
            _ if place < native => Some(Plugin::NativePassword),
            _ if place < native + sha2 => Some(Plugin::CachingSha2Password),
            _ => None,
        }
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
        let native = || {
            let verifier = &account.native;
            let verifier =
                verifier.get_or_init(|| native_password::Verifier::from_password(password));
            Verifier::NativePassword(verifier.clone())
        };
        let of_hash = match known {
            Some(account) => account.verifier_of_hash(),
            None => match (self.seeming_hash(user), &self.nobodys_hash) {
                (Some(Plugin::NativePassword), _) => Some(native()),
                (Some(_), Some(_)) => Some(Verifier::CachingSha2Cache(None)),
                _ => None,
            },
        };
        let verifier = match named.unwrap_or(default) {
            _ if let Some(verifier) = of_hash => verifier,
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

    /// What it logs in with, where that is a password.
    pub(crate) fn password(&self) -> &Secret {
        match self.proven.get() {
            Some(Proof::Password(password, _)) => password,
            _ => &self.config.password,
        }
    }

    /// What it logs in with in place of a password.
    pub(crate) fn hash(&self) -> Option<&PasswordHash> {
        match self.proven.get() {
            Some(Proof::Native(hash)) => Some(hash),
            _ => None,
        }
    }

    pub(crate) fn verifier_of_hash(&self) -> Option<Verifier> {
        Some(match self.config.hash.as_ref()? {
            StoredHash::NativePassword(hash) => Verifier::NativePassword(hash.clone()),
            StoredHash::CachingSha2Password(_) => {
                Verifier::CachingSha2Cache(match self.proven.get() {
                    Some(Proof::Password(_, verifier)) => Some(verifier.clone()),
                    _ => None,
                })
            }
        })
    }

    /// What is proven of an account that has this hash, if this account's secret is the same one.
    fn proves(&self, hash: &StoredHash) -> Option<Arc<OnceLock<Proof>>> {
        if self.config.hash.as_ref() == Some(hash) {
            return Some(Arc::clone(&self.proven));
        }
        // The same password has another hash of the slow kind each time that it is set.
        let password = self.password();
        if password.is_empty() {
            return None;
        }
        let proof = match hash {
            StoredHash::NativePassword(hash) => {
                (native_password::Verifier::from_password(password) == *hash)
                    .then(|| Proof::Native(PasswordHash::from_password(password)))
            }
            StoredHash::CachingSha2Password(stored) => stored
                .is_of(password.expose())
                .then(|| Proof::password(password.clone())),
        };
        proof.map(|proof| Arc::new(OnceLock::from(proof)))
    }

    /// A client has logged in, and has proven to know this.
    pub(crate) fn prove(&self, proof: Proof) {
        if self.config.hash.is_some() {
            self.proven.get_or_init(|| proof);
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
