// SPDX-License-Identifier: Apache-2.0
//! Allocations of a Rust program with the standard library's System allocator: by the
//! functions of std::alloc and by collections, each with its own call path and size, and
//! counted. Takes the commands of targets/allocators.c. Nothing else allocates: commands
//! and answers are in arrays.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::fmt::Write;
use std::rc::Rc;

extern "C" {
    fn read(fd: i32, to: *mut u8, size: usize) -> isize;
    fn write(fd: i32, from: *const u8, size: usize) -> isize;
}

/// Allocations and frees of a call path that are not its final block.
#[derive(Default)]
pub struct Totals {
    allocations: u64,
    allocated_bytes: u64,
    frees: u64,
    freed_bytes: u64,
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

macro_rules! path {
    ($site:ident, $end:ident, $totals:ident, $make:expr, $p:ident, $drop:expr) => {
        #[inline(never)]
        #[no_mangle]
        pub extern "C" fn $site($totals: &mut Totals) -> *mut u8 {
            let _ = &$totals;
            $make
        }
        #[inline(never)]
        #[no_mangle]
        pub extern "C" fn $end($p: *mut u8) {
            $drop
        }
    };
}

/// Counts the old block of a reallocation, which has another size.
fn first(totals: &mut Totals, size: u64) {
    totals.allocations += 1;
    totals.allocated_bytes += size;
    totals.frees += 1;
    totals.freed_bytes += size;
}

// malloc, calloc, realloc; posix_memalign if the alignment is larger than malloc's.
path!(site_alloc, end_alloc, t, unsafe { alloc(layout(104, 8)) }, p, unsafe {
    dealloc(p, layout(104, 8))
});
path!(site_zeroed, end_zeroed, t, unsafe { alloc_zeroed(layout(112, 8)) }, p, unsafe {
    dealloc(p, layout(112, 8))
});
path!(site_realloc, end_realloc, t, unsafe {
    first(t, 40);
    realloc(alloc(layout(40, 8)), layout(40, 8), 120)
}, p, unsafe { dealloc(p, layout(120, 8)) });
path!(site_aligned, end_aligned, t, unsafe { alloc(layout(192, 64)) }, p, unsafe {
    dealloc(p, layout(192, 64))
});
path!(site_aligned_zeroed, end_aligned_zeroed, t, unsafe {
    alloc_zeroed(layout(256, 64))
}, p, unsafe { dealloc(p, layout(256, 64)) });
// The System allocator has no aligned realloc: it allocates a block, copies, and frees.
path!(site_aligned_realloc, end_aligned_realloc, t, unsafe {
    first(t, 64);
    realloc(alloc(layout(64, 64)), layout(64, 64), 320)
}, p, unsafe { dealloc(p, layout(320, 64)) });

path!(site_box, end_box, t, Box::into_raw(Box::new([1u64; 51])) as *mut u8, p, unsafe {
    drop(Box::from_raw(p as *mut [u64; 51]))
});
path!(site_vec, end_vec, t, {
    let mut v = Vec::<u8>::with_capacity(416);
    let p = v.as_mut_ptr();
    std::mem::forget(v);
    p
}, p, unsafe { drop(Vec::from_raw_parts(p, 0, 416)) });
path!(site_vec_zeroed, end_vec_zeroed, t, {
    Box::into_raw(vec![0u8; 424].into_boxed_slice()) as *mut u8
}, p, unsafe { drop(Vec::from_raw_parts(p, 424, 424)) });
path!(site_vec_grown, end_vec_grown, t, {
    first(t, 48);
    let mut v = Vec::<u64>::with_capacity(6);
    v.extend([1, 2, 3, 4, 5, 6]);
    v.reserve_exact(48);
    let p = v.as_mut_ptr() as *mut u8;
    std::mem::forget(v);
    p
}, p, unsafe { drop(Vec::from_raw_parts(p as *mut u64, 6, 54)) });
path!(site_string, end_string, t, {
    let mut s = String::with_capacity(440);
    let p = s.as_mut_ptr();
    std::mem::forget(s);
    p
}, p, unsafe { drop(String::from_raw_parts(p, 0, 440)) });
// Two counters before the value.
path!(site_rc, end_rc, t, Rc::into_raw(Rc::new([1u64; 54])) as *mut u8, p, unsafe {
    drop(Rc::from_raw(p as *const [u64; 54]))
});

struct Op {
    site: &'static str,
    size: u64,
    make: extern "C" fn(&mut Totals) -> *mut u8,
    end: extern "C" fn(*mut u8),
}

macro_rules! op {
    ($site:ident, $end:ident, $size:expr) => {
        Op { site: stringify!($site), size: $size, make: $site, end: $end }
    };
}

const OPS: [Op; 12] = [
    op!(site_alloc, end_alloc, 104),
    op!(site_zeroed, end_zeroed, 112),
    op!(site_realloc, end_realloc, 120),
    op!(site_aligned, end_aligned, 192),
    op!(site_aligned_zeroed, end_aligned_zeroed, 256),
    op!(site_aligned_realloc, end_aligned_realloc, 320),
    op!(site_box, end_box, 408),
    op!(site_vec, end_vec, 416),
    op!(site_vec_zeroed, end_vec_zeroed, 424),
    op!(site_vec_grown, end_vec_grown, 432),
    op!(site_string, end_string, 440),
    op!(site_rc, end_rc, 448),
];

const KEPT_MAX: usize = 100000;
static mut KEPT: [(*mut u8, usize); KEPT_MAX] = [(std::ptr::null_mut(), 0); KEPT_MAX];

struct State {
    kept: &'static mut [(*mut u8, usize)],
    count: usize,
    live: [u64; OPS.len()],
    totals: Totals,
}

impl State {
    fn end(&mut self, p: *mut u8, op: usize) {
        (OPS[op].end)(p);
        self.totals.frees += 1;
        self.totals.freed_bytes += OPS[op].size;
    }

    fn run(&mut self, count: usize) {
        for (i, op) in OPS.iter().enumerate() {
            for n in 0..2 * count {
                let p = (op.make)(&mut self.totals);

                if p.is_null() || self.count == self.kept.len() {
                    std::process::exit(97);
                }
                self.totals.allocations += 1;
                self.totals.allocated_bytes += op.size;
                if n % 2 == 1 {
                    self.end(p, i);
                    continue;
                }
                self.kept[self.count] = (p, i);
                self.count += 1;
                self.live[i] += 1;
            }
        }
    }

    fn release(&mut self) {
        while self.count > 0 {
            self.count -= 1;
            let (p, op) = self.kept[self.count];
            self.end(p, op);
            self.live[op] -= 1;
        }
    }

    fn say_truth(&self, line: &mut Line) {
        let mut comma = "";

        line.put(format_args!("{{\"sites\":["));
        for (i, op) in OPS.iter().enumerate() {
            line.put(format_args!(
                "{}{{\"site\":\"{}\",\"size\":{},\"bytes\":{},\"blocks\":{}}}",
                comma, op.site, op.size, self.live[i] * op.size, self.live[i]
            ));
            comma = ",";
        }
        let t = &self.totals;
        line.put(format_args!(
            "],\"allocations\":{},\"allocated_bytes\":{},\"frees\":{},\
             \"freed_bytes\":{},\"failures\":0}}",
            t.allocations, t.allocated_bytes, t.frees, t.freed_bytes
        ));
        line.flush();
    }
}

struct Line {
    bytes: [u8; 16384],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

impl Line {
    fn put(&mut self, text: std::fmt::Arguments) {
        if self.write_fmt(text).is_err() {
            std::process::exit(98);
        }
    }

    fn flush(&mut self) {
        self.put(format_args!("\n"));
        if unsafe { write(1, self.bytes.as_ptr(), self.len) } != self.len as isize {
            std::process::exit(99);
        }
        self.len = 0;
    }
}

fn main() {
    let mut line = Line { bytes: [0; 16384], len: 0 };
    let mut command = [0u8; 64];
    let mut n = 0;
    let mut state = State {
        kept: unsafe {
            std::slice::from_raw_parts_mut(std::ptr::addr_of_mut!(KEPT) as *mut _, KEPT_MAX)
        },
        count: 0,
        live: [0; OPS.len()],
        totals: Totals::default(),
    };

    line.put(format_args!("{{\"ready\":\"collections\"}}"));
    line.flush();
    while unsafe { read(0, command[n..].as_mut_ptr(), 1) } == 1 {
        if command[n] != b'\n' && n + 1 < command.len() {
            n += 1;
            continue;
        }
        let text = std::str::from_utf8(&command[..n]).unwrap_or("");

        n = 0;
        if text == "truth" {
            state.say_truth(&mut line);
            continue;
        }
        if let Some(count) = text.strip_prefix("run ") {
            state.run(count.parse().unwrap_or(0));
        } else if text == "release" {
            state.release();
        }
        line.put(format_args!("{{\"done\":true}}"));
        line.flush();
    }
}
