package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// endSlowly is what it does once it was asked to end.
func endSlowly() {
	mark("SIGTERM")
	if url, most, found := strings.Cut(os.Getenv("DRAIN"), " "); found {
		length, err := time.ParseDuration(most)
		must(err)
		drain(url, length)
	}
	time.Sleep(duration("LINGER", 0))
	mark("ended")
}

// drain asks every 10 ms, with a new connection each time, as one that is kept would outlive a proxy's listener.
func drain(url string, length time.Duration) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var answered, failed int
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		response, err := client.Get(url)
		if err != nil {
			failed++
			continue
		}
		response.Body.Close()
		answered++
	}
	fmt.Println("answered", answered)
	fmt.Println("failed", failed)
}
