// SPDX-License-Identifier: Apache-2.0
// Rust: generics, closures, traits and library code, inlined into each other.
use std::collections::HashMap;
use std::fmt::Display;

mod shop {
    pub trait Price {
        fn price(&self) -> u64;
    }
    pub struct Item<T> {
        pub inner: T,
    }
    impl<T: Copy + Into<u64>> Price for Item<T> {
        #[inline(always)]
        fn price(&self) -> u64 {
            self.inner.into() * 2
        }
    }
    #[inline(always)]
    pub fn sum(items: &[Box<dyn Price>]) -> u64 {
        items.iter().map(|i| i.price()).sum()
    }
}

#[inline(never)]
fn show<T: Display>(value: T) -> String {
    format!("<{}>", value)
}

#[inline(never)]
fn sell(n: u64) -> u64 {
    let mut items: Vec<Box<dyn shop::Price>> = Vec::new();
    let mut names = HashMap::new();
    for i in 0..n {
        items.push(Box::new(shop::Item { inner: i as u32 }));
        names.insert(show(i), i);
    }
    shop::sum(&items) + names.len() as u64
}

fn main() {
    println!("{}", show(sell(7)));
}
