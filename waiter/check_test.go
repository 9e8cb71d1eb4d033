package main

import (
	"strings"
	"testing"
)

func TestChecks(t *testing.T) {
	for text, want := range map[string]check{
		"http://:15021/healthz/ready":       {kind: kindHTTP, port: "15021", path: "/healthz/ready"},
		"https://[::1]:1/a?b=/:c":           {kind: kindHTTPS, host: "::1", port: "1", path: "/a?b=/:c"},
		"http://a-b.c_d:65535":              {kind: kindHTTP, host: "a-b.c_d", port: "65535", path: "/"},
		"tcp://127.0.0.1:80":                {kind: kindTCP, host: "127.0.0.1", port: "80"},
		"grpc://:50051/my.Service/a b"[:24]: {kind: kindGRPC, port: "50051", path: "my.Service"},
		"grpc://:1/":                        {kind: kindGRPC, port: "1"},
		"unix:///run/a b.sock":              {kind: kindUnix, path: "/run/a b.sock"},
		"file:///x#?":                       {kind: kindFile, path: "/x#?"},
	} {
		got, err := parseCheck(text)
		want.text = text
		if err != nil || got.kind != want.kind || got.host != want.host || got.port != want.port || got.path != want.path || got.text != want.text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if c, err := parseCheck(`exec: ["a", "b \"c\"\n$(d)"]`); err != nil || len(c.command) != 2 || c.command[1] != "b \"c\"\n$(d)" {
		t.Error(c, err)
	}
}

func TestBadChecks(t *testing.T) {
	for text, at := range map[string]int{
		"": 1, "probe": 1, "none": 1, "hook:[\"x\"]": 1, "ftp://:1": 1, "HTTP://:1": 1,
		"http:/:1": 6, "http://": 8, "http://x": 9, "http://[::1]": 13, "http://:": 9, "http://:0": 9, "http://:08": 9, "http://:65536": 9,
		"http://:http/": 9, "http://:+1": 9, "http://u@h:1": 8, "http://::1:1": 8, "http://[::1:1": 8, "http://[1.2.3.4]:1": 8,
		"http://[fe80::1%lo]:1": 8, "http://:1/a b": 12, "http://:1/a#": 12, "http://:1/\n": 11, "tcp://:1/": 9, "grpc://:1/a?b": 12,
		"unix://run": 8, "file://": 8, "file:///": 0, "file:///a\x00": 10,
		"exec:": 6, "exec:[]": 6, `exec:[""]`: 6, `exec:["a"] x`: 6, `exec:[1]`: 6, `exec:"a"`: 6, `exec:["a\u0000"]`: 6,
	} {
		_, err := parseCheck(text)
		bad, ok := err.(*badCheck)
		if at == 0 {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if !ok || bad.at+1 != at {
			t.Errorf("%q: %v, wanted character %d", text, err, at)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"http://:15021/healthz/ready?a=b", "https://[::1]:8443", "tcp://localhost:80", "grpc://:1/s", "unix:///a", "file:///b",
		`exec:["a","b\n\"'$(c)"]`, "http://:\x00", "http://[", "exec:[", ":", "http://:1/%zz\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCheck(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("the error is not one line: %q", err)
			}
			return
		}
		again, err := parseCheck(c.text)
		if err != nil || again.host != c.host || again.port != c.port || again.path != c.path {
			t.Errorf("%q: %+v, then %+v (%v)", text, c, again, err)
		}
		if c.kind == kindHTTP {
			line := "GET " + urlOf("http", "h:"+c.port, c.path).RequestURI() + " HTTP/1.1"
			if strings.Count(line, " ") != 2 || strings.ContainsAny(line, "\n\r\x00") {
				t.Errorf("%q sends %q", text, line)
			}
		}
	})
}
