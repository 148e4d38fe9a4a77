//! Which other servers a server tells of: its replicas, and the members of its cluster.

use onecopy_mysql::Error;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;

use crate::backend::{Identity, Member, Membership, Standing, Telling};
use crate::config::endpoint;

const GALERA: &str =
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_incoming_addresses', 'wsrep_local_index')";

const GROUP: &str = "SELECT MEMBER_ID, MEMBER_HOST, MEMBER_PORT FROM performance_schema.replication_group_members \
    WHERE MEMBER_STATE IN ('ONLINE', 'RECOVERING')";

/// What a member of a Galera cluster has in place of an address that it was not told.
const UNKNOWN: [&str; 2] = ["AUTO", ""];

/// Asks for them, and says what can't be known.
///
/// # Errors
/// As the server's, except where it does not let the login know.
pub(super) fn ask(
    connection: &mut Connection,
    membership: &Membership,
) -> Result<(Telling, Option<String>), Error> {
    let is_mariadb = connection.server_version().contains("MariaDB");
    let mut telling = Telling::default();
    let mut problem = None;
    telling.own.push(match is_mariadb {
        true => Identity::Number(
            connection
                .query_one::<(u32,)>("SELECT @@global.server_id")?
                .0,
        ),
        false => Identity::Uuid(
            connection
                .query_one::<(String,)>("SELECT @@global.server_uuid")?
                .0,
        ),
    });
    match replicas(connection, is_mariadb) {
        Ok((replicas, without_host)) => {
            telling.replicas = Some(replicas);
            if without_host > 0 {
                problem = Some(format!(
                    "{without_host} of its replicas can't be discovered: they have no report_host"
                ));
            }
        }
        Err(error) if error.server().is_some() && !error.is_closed() => {
            problem = Some(format!("its replicas can't be discovered: {error}"));
        }
        Err(error) => return Err(error),
    }
    // One that has lost the others does not know them.
    if !matches!(membership.standing, Standing::Full | Standing::Behind) {
        return Ok((telling, problem));
    }
    match is_mariadb {
        true => {
            let (members, own, unknown) = galera(connection)?;
            telling.own.extend(own);
            telling.members = Some(members);
            if unknown > 0 {
                problem.get_or_insert(format!(
                    "{unknown} members of its cluster can't be discovered: they have no wsrep_node_incoming_address"
                ));
            }
        }
        false => telling.members = Some(group(connection, &telling.own)?),
    }
    Ok((telling, problem))
}

/// Its replicas, and how many there are of which it does not know where they are.
fn replicas(connection: &mut Connection, is_mariadb: bool) -> Result<(Vec<Member>, usize), Error> {
    let mut rows = connection.query(match is_mariadb {
        true => "SHOW SLAVE HOSTS",
        false => "SHOW REPLICAS",
    })?;
    let (mut replicas, mut without_host) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let host = row.get::<Option<&str>>("Host")?.unwrap_or_default();
        if host.is_empty() {
            without_host += 1;
            continue;
        }
        replicas.push(Member {
            identity: match is_mariadb {
                true => Identity::Number(row.get("Server_id")?),
                false => Identity::Uuid(row.get("Replica_UUID")?),
            },
            host: host.to_owned(),
            port: row.get("Port")?,
            is_replica: true,
        });
    }
    rows.finish()?;
    Ok((replicas, without_host))
}

/// The other members of its cluster, what it is itself there, and how many there are of which nobody knows where they are.
fn galera(connection: &mut Connection) -> Result<(Vec<Member>, Option<Identity>, usize), Error> {
    let (mut addresses, mut index) = (String::new(), String::new());
    let mut rows = connection.query(GALERA)?;
    while let Some(row) = rows.next()? {
        let place = match row.get::<&str>(0)? {
            "wsrep_incoming_addresses" => &mut addresses,
            _ => &mut index,
        };
        row.get::<&str>(1)?.clone_into(place);
    }
    rows.finish()?;
    Ok(members(&addresses, index.parse().ok()))
}

fn members(addresses: &str, index: Option<usize>) -> (Vec<Member>, Option<Identity>, usize) {
    let (mut members, mut own, mut unknown) = (Vec::new(), None, 0);
    for (at, address) in addresses.split(',').map(str::trim).enumerate() {
        let identity = Identity::Incoming(address.to_owned());
        match endpoint(address) {
            _ if UNKNOWN.contains(&address) => unknown += usize::from(Some(at) != index),
            Ok(Endpoint::Tcp { .. }) if Some(at) == index => own = Some(identity),
            Ok(Endpoint::Tcp { host, port }) => members.push(Member {
                identity,
                host,
                port,
                is_replica: false,
            }),
            _ => unknown += 1,
        }
    }
    (members, own, unknown)
}

/// The other members of its group.
fn group(connection: &mut Connection, own: &[Identity]) -> Result<Vec<Member>, Error> {
    let mut members = Vec::new();
    let mut rows = connection.query(GROUP)?;
    while let Some(row) = rows.next()? {
        let identity = Identity::Uuid(row.get(0)?);
        if !own.contains(&identity) {
            members.push(Member {
                identity,
                host: row.get(1)?,
                port: row.get(2)?,
                is_replica: false,
            });
        }
    }
    rows.finish()?;
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_galera_knows_its_own_place_among_all() {
        let (found, own, unknown) = members("10.0.0.1:3306,db2:3307,[::1]:3308", Some(1));
        let hosts = found.iter().map(|one| (one.host.as_str(), one.port));
        assert!(hosts.eq([("10.0.0.1", 3306), ("::1", 3308)]), "{found:?}");
        assert_eq!(own, Some(Identity::Incoming("db2:3307".into())));
        assert_eq!(unknown, 0);
        let (found, own, unknown) = members("AUTO,AUTO,10.0.0.3:1,/a/socket,", Some(0));
        assert_eq!((found.len(), own, unknown), (1, None, 3));
    }
}
