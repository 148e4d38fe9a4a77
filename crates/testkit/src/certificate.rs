//! Certificates for tests: made again in each run, so none is ever found in the tree or expires there.

mod version_1;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ED25519, date_time_ymd,
};

/// A CA that signs certificates.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The certificate.
    pub certificate: String,
    /// Its private key, PKCS#8.
    pub key: String,
}

/// Where a certificate lies on disk.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Authority {
    /// A CA of that name.
    ///
    /// # Panics
    /// Where no key can be made.
    pub fn new(name: &str) -> Self {
        let mut params = params(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, key()).expect("an authority");
        Self { issuer }
    }

    /// The CA's own certificate, in PEM.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// A server's certificate for hosts: names and addresses.
    ///
    /// # Panics
    /// A name that is none.
    pub fn server(&self, hosts: &[&str]) -> Certificate {
        let mut params = params("server", hosts);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// The same with an Ed25519 key: all its signatures have one length, so handshakes with it do too.
    ///
    /// # Panics
    /// A name that is none.
    pub fn ed25519_server(&self, hosts: &[&str]) -> Certificate {
        let mut params = params("server", hosts);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign_for(
            &params,
            &KeyPair::generate_for(&PKCS_ED25519).expect("a key"),
        )
    }

    /// The same, which was valid in 2020.
    ///
    /// # Panics
    /// A name that is none.
    pub fn expired_server(&self, hosts: &[&str]) -> Certificate {
        let mut params = params("server", hosts);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 12, 31);
        self.sign(&params)
    }

    /// A certificate for hosts that are servers and clients of each other, as the nodes of a cluster are.
    ///
    /// # Panics
    /// A name that is none.
    pub fn node(&self, hosts: &[&str]) -> Certificate {
        let mut params = params("node", hosts);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        self.sign(&params)
    }

    /// A server's certificate of X.509 version 1. It names no hosts: those are an extension.
    ///
    /// # Panics
    /// Where no key can be made.
    pub fn version_1_server(&self) -> Certificate {
        let key = key();
        let params = params("server", &[]);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Certificate {
            certificate: version_1::version_1(certificate.der(), self.issuer.key()),
            key: key.serialize_pem(),
        }
    }

    /// A client's certificate.
    ///
    /// # Panics
    /// Where no key can be made.
    pub fn client(&self, name: &str) -> Certificate {
        let mut params = params(name, &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Certificate {
        self.sign_for(params, &key())
    }

    fn sign_for(&self, params: &CertificateParams, key: &KeyPair) -> Certificate {
        let certificate = params.signed_by(key, &self.issuer).expect("a certificate");
        Certificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

impl Certificate {
    /// Writes both into `folder`, as `NAME.pem` and `NAME-key.pem`.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, folder: &Path, name: &str) -> io::Result<CertificateFiles> {
        let files = CertificateFiles {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}-key.pem")),
        };
        fs::write(&files.certificate, &self.certificate)?;
        fs::write(&files.key, &self.key)?;
        Ok(files)
    }
}

fn params(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(hosts).expect("hosts");
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2024, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    params
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}
