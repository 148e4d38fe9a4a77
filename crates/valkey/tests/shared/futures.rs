//! What the compiler knows of the handle.

use onecopy_valkey::aio::{Dedicated, Response, Responses, Shared, TransactionResponses};
use onecopy_valkey::command::string;

use crate::common::connect;

fn is_send<T: Send>(value: T) -> T {
    value
}

#[test]
fn handles_and_responses_go_to_other_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Shared>();
    is_send_and_sync::<Response<string::Get<'static>>>();
    is_send_and_sync::<Responses>();
    is_send_and_sync::<TransactionResponses>();
    is_send_and_sync::<Dedicated>();
}

#[tokio::test]
async fn futures_are_send() {
    let shared = connect().await;
    let get = string::get("futures_are_send");
    is_send(shared.run(&get)).await.unwrap();
    is_send(shared.run_dedicated(&get)).await.unwrap();
    is_send(shared.acquire()).await.unwrap();
    is_send(shared.pipeline().run()).await.unwrap();
    is_send(shared.transaction().exec()).await.unwrap();
    is_send(Shared::connect(&crate::common::url()))
        .await
        .unwrap();
    is_send(shared.close()).await;
}
