//! An HTTP service with a pool, migrations, a transaction, and photos of any size in constant memory.
//!
//!     cargo run -p onecopy-guide --example shop_service -- mysql://user:password@localhost/shop
//!
//!     curl -d '{"name": "cup", "price": 7}' -H 'content-type: application/json' http://127.0.0.1:3000/products
//!     curl 'http://127.0.0.1:3000/products?max_price=10'
//!     curl -d '{"product": 1, "count": 2}' -H 'content-type: application/json' http://127.0.0.1:3000/orders
//!     curl -T photo.jpg http://127.0.0.1:3000/products/1/photo
//!     curl http://127.0.0.1:3000/products/1/photo > copy.jpg
//!     curl http://127.0.0.1:3000/pool

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use onecopy_mysql::aio::{Connection, Pool};
use onecopy_mysql::{FromRow, Param, params};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::io::StreamReader;

/// The schema, one step after the other. Steps that have run are never changed; new ones are added at the end.
const MIGRATIONS: &[&str] = &[
    "CREATE TABLE product (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(200) NOT NULL, price DOUBLE NOT NULL, \
     stock INT NOT NULL DEFAULT 10)",
    "CREATE TABLE orders (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, product BIGINT UNSIGNED NOT NULL, count INT NOT NULL)",
    "CREATE TABLE photo (product BIGINT UNSIGNED PRIMARY KEY, data LONGBLOB NOT NULL)",
];

/// A photo is passed on in pieces of this size.
const PIECE: usize = 64 << 10;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "mysql://root@localhost/shop".into());
    let address = std::env::args().nth(2);
    let address = address.unwrap_or_else(|| "127.0.0.1:3000".into());
    let pool = Pool::from_url(&url)?;
    migrate(&mut *pool.get().await?).await?;
    let service = Router::new()
        .route("/products", get(products).post(add_product))
        .route("/orders", post(order))
        .route("/products/{id}/photo", get(photo).put(store_photo))
        .route("/pool", get(pool_stats))
        .with_state(pool);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, service).await?)
}

/// Runs the migrations that this database lacks. A lock lets one instance at a time do it.
async fn migrate(conn: &mut Connection) -> Result<(), onecopy_mysql::Error> {
    conn.run("CREATE TABLE IF NOT EXISTS migration (step INT PRIMARY KEY)")
        .await?;
    conn.run("DO GET_LOCK('shop.migration', 60)").await?;
    for (step, sql) in (1_i64..).zip(MIGRATIONS) {
        let done = "SELECT COUNT(*) FROM migration WHERE step = ?";
        if conn.exec_scalar::<i64>(done, &params![step]).await? == 0 {
            conn.run(sql).await?;
            let note = "INSERT INTO migration (step) VALUES (?)";
            conn.exec(note, &params![step]).await?.finish().await?;
        }
    }
    conn.run("DO RELEASE_LOCK('shop.migration')").await?;
    Ok(())
}

#[derive(FromRow, Serialize)]
struct Product {
    id: u64,
    name: String,
    price: f64,
}

#[derive(Deserialize)]
struct Filter {
    max_price: Option<f64>,
}

async fn products(
    State(pool): State<Pool>,
    Query(filter): Query<Filter>,
) -> Result<Json<Vec<Product>>, Failure> {
    let mut conn = pool.get().await?;
    let sql = "SELECT id, name, price FROM product WHERE price <= ? ORDER BY id LIMIT 1000";
    let max_price = filter.max_price.unwrap_or(f64::MAX);
    Ok(Json(conn.exec_as(sql, &params![max_price]).await?))
}

#[derive(Deserialize)]
struct NewProduct {
    name: String,
    price: f64,
}

async fn add_product(
    State(pool): State<Pool>,
    Json(new): Json<NewProduct>,
) -> Result<Json<u64>, Failure> {
    let mut conn = pool.get().await?;
    let sql = "INSERT INTO product (name, price) VALUES (?, ?)";
    let done = conn
        .exec(sql, &params![&new.name, new.price])
        .await?
        .finish()
        .await?;
    Ok(Json(done.last_insert_id))
}

#[derive(Deserialize)]
struct NewOrder {
    product: u64,
    count: i32,
}

/// Takes the goods from the stock and writes the order, both or neither.
async fn order(State(pool): State<Pool>, Json(new): Json<NewOrder>) -> Result<Response, Failure> {
    let mut conn = pool.get().await?;
    let mut tx = conn.transaction().await?;
    let take = "UPDATE product SET stock = stock - ? WHERE id = ? AND stock >= ?";
    let taken = tx
        .exec(take, &params![new.count, new.product, new.count])
        .await?
        .finish()
        .await?;
    if taken.affected_rows == 0 {
        // The transaction is dropped here, and so rolled back.
        return Ok((StatusCode::CONFLICT, "not in stock").into_response());
    }
    let insert = "INSERT INTO orders (product, count) VALUES (?, ?)";
    let done = tx
        .exec(insert, &params![new.product, new.count])
        .await?
        .finish()
        .await?;
    tx.commit().await?;
    Ok(Json(done.last_insert_id).into_response())
}

/// Sends a photo while it is read: the memory that this takes does not depend on the photo's size.
async fn photo(State(pool): State<Pool>, Path(id): Path<u64>) -> Response {
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        if let Err(error) = read_photo(&pool, id, &sender).await {
            let _gone = sender.send(Err(std::io::Error::other(error))).await;
        }
    });
    let mut pieces = ReceiverStream::new(receiver).peekable();
    match pieces.peek().await {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(_) => Body::from_stream(pieces).into_response(),
    }
}

type Piece = Result<Bytes, std::io::Error>;

async fn read_photo(
    pool: &Pool,
    id: u64,
    to: &mpsc::Sender<Piece>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut conn = pool.get().await?;
    let mut rows = conn
        .exec("SELECT data FROM photo WHERE product = ?", &params![id])
        .await?;
    let Some(mut row) = rows.next_streaming().await? else {
        return Ok(());
    };
    let Some(mut data) = row.next_column().await? else {
        return Ok(());
    };
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let n = (&mut data)
            .take(PIECE as u64)
            .read_to_end(&mut piece)
            .await?;
        // If the browser has gone, the rest is dropped; the pool reads or cancels it.
        if n == 0 || to.send(Ok(piece.into())).await.is_err() {
            return Ok(());
        }
    }
}

/// Stores a photo while it is received.
async fn store_photo(
    State(pool): State<Pool>,
    Path(id): Path<u64>,
    body: Body,
) -> Result<Json<u64>, Failure> {
    let pieces = body
        .into_data_stream()
        .map(|piece| piece.map_err(std::io::Error::other));
    let mut conn = pool.get().await?;
    let replace = conn
        .prepare("REPLACE INTO photo (product, data) VALUES (?, ?)")
        .await?;
    let bytes = conn
        .send_long_data(&replace, 1, StreamReader::new(pieces))
        .await?;
    conn.execute(&replace, &params![id, Param::LongData])
        .await?
        .finish()
        .await?;
    Ok(Json(bytes))
}

async fn pool_stats(State(pool): State<Pool>) -> String {
    format!("{:#?}\n", pool.stats())
}

/// An error of the database as an answer. Its text goes to the log, not to the browser.
struct Failure(onecopy_mysql::Error);

impl From<onecopy_mysql::Error> for Failure {
    fn from(error: onecopy_mysql::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        eprintln!("{}", self.0);
        let status = match self.0.pool() {
            Some(_) => StatusCode::SERVICE_UNAVAILABLE,
            None => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, "the database could not do this\n").into_response()
    }
}
