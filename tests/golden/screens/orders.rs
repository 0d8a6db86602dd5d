// SPDX-License-Identifier: Apache-2.0
//! A server in Rust, for golden screens (README.md). Orders are kept for ever.
use std::collections::HashMap;
use std::thread::sleep;
use std::time::Duration;

trait Put {
    fn put(&mut self, customer: u32, text: String);
}

struct Store {
    orders: HashMap<u32, Vec<String>>,
    recent: Vec<String>,
}

impl Put for Store {
    #[inline(never)]
    fn put(&mut self, customer: u32, text: String) {
        self.recent.truncate(10);
        self.recent.insert(0, text.clone());
        self.orders.entry(customer).or_default().push(text);
    }
}

#[inline(never)]
fn describe(number: u32) -> String {
    format!("order {:0>1000}", number)
}

fn serve<F: FnMut(u32)>(mut handle: F) {
    for number in 0.. {
        sleep(Duration::from_millis(10));
        handle(number);
    }
}

fn main() {
    let mut store = Store {
        orders: HashMap::new(),
        recent: Vec::new(),
    };
    serve(|number| store.put(number % 100, describe(number)));
}
