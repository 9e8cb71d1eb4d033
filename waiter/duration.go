package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	minTimeout = 100 * time.Millisecond
	maxTimeout = 10 * time.Minute
	// The longest time.Duration: 292 years. A probe's timeoutSeconds can be up to 68.
	maxDuration = time.Duration(math.MaxInt64)
)

var units = []struct {
	name string
	size time.Duration
}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// parseDuration reads whole numbers with the units h, m, s and ms in this order, as in 1m30s.
func parseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%s is not a duration: write 60s, 1m30s or 500ms", shown(strconv.Quote(text)))
	var total time.Duration
	rest, from := text, 0
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		letters := len(rest[digits:]) - len(strings.TrimLeft(rest[digits:], "hms"))
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return 0, bad
		}
		name := rest[digits : digits+letters]
		for from < len(units) && units[from].name != name {
			from++
		}
		if from == len(units) || n > int64((maxDuration-total)/units[from].size) {
			return 0, bad
		}
		total += time.Duration(n) * units[from].size
		from++
		rest = rest[digits+letters:]
	}
	if total <= 0 {
		return 0, bad
	}
	return total, nil
}

// parseTimeout reads a duration within the limits for a timeout.
func parseTimeout(text string) (time.Duration, error) {
	d, err := parseDuration(text)
	if err == nil && (d < minTimeout || d > maxTimeout) {
		err = fmt.Errorf("%s is out of bounds: 100ms to 10m", text)
	}
	return d, err
}
