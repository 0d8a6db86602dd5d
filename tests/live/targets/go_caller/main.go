// SPDX-License-Identifier: Apache-2.0

// A Go program that allocates in C: the target of test_go.c. It works once for each line
// on stdin. With a number as argument it works that many times after a pause, and ends.
// The size of a block identifies its call path.
package main

/*
#cgo CFLAGS: -O2 -g
#include <stddef.h>
void c_allocates(size_t size);
void c_calls_back(void);
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	workers = 8
	times   = 2000
)

//go:noinline
func leak(size int) {
	C.c_allocates(C.size_t(size))
}

// Each goroutine starts with a small stack, which the runtime moves to larger ones.
//
//go:noinline
func grow(depth int, size int) int {
	var room [512]byte

	room[depth&511] = byte(size)
	if depth == 0 {
		if size > 0 {
			leak(size)
		}
		return int(room[0])
	}
	return grow(depth-1, size) + int(room[1])
}

//export goCallback
func goCallback() {
	leak(54)
	grow(100, 0)
}

//go:noinline
func callsBack() {
	C.c_calls_back()
}

func worker(done *sync.WaitGroup) {
	defer done.Done()
	for i := 0; i < times; i++ {
		leak(51)
	}
}

func one(f func()) {
	done := make(chan bool)
	go func() {
		f()
		done <- true
	}()
	<-done
}

func work() {
	var all sync.WaitGroup

	for i := 0; i < workers; i++ {
		all.Add(1)
		go worker(&all)
	}
	all.Wait()
	for i := 0; i < times; i++ {
		one(func() { grow(i%64, 52) })
	}
	for i := 0; i < times; i++ {
		one(callsBack)
	}
}

func main() {
	if len(os.Args) > 1 {
		rounds, _ := strconv.Atoi(os.Args[1])
		time.Sleep(500 * time.Millisecond)
		for i := 0; i < rounds; i++ {
			work()
		}
		return
	}
	fmt.Println("{\"ready\":\"target\"}")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		work()
		fmt.Println("{\"done\":\"work\"}")
	}
}
