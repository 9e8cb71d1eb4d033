package main

import (
	"errors"
	"sync"
)

// As much of HPACK (RFC 7541) as an answer takes whose sender may keep no dynamic table.

var errFields = errors.New("answered with broken HTTP/2 headers")

// appendInt appends n to the last byte of out, of which prefix bits are free.
func appendInt(out []byte, prefix, n int) []byte {
	limit := 1<<prefix - 1
	if n < limit {
		out[len(out)-1] |= byte(n)
		return out
	}
	out[len(out)-1] |= byte(limit)
	for n -= limit; n >= 128; n >>= 7 {
		out = append(out, byte(n)|128)
	}
	return append(out, byte(n))
}

func appendText(out []byte, text string) []byte {
	return append(appendInt(append(out, 0), 7, len(text)), text...)
}

// staticStatus are the values of :status in the static table, from index 8 on. Nothing else in that table matters here.
var staticStatus = []string{"200", "204", "206", "304", "400", "404", "500"}

func isStatus(index int) bool { return index >= 8 && index < 8+len(staticStatus) }

// decodeFields calls field for each field of a header block; a name from the static table other than :status is empty.
func decodeFields(block []byte, field func(name, value string)) error {
	d := fieldReader{rest: block}
	for len(d.rest) > 0 && !d.broken {
		switch b := d.rest[0]; {
		case b&0x80 != 0: // indexed
			if i := d.int(7); isStatus(i) {
				field(":status", staticStatus[i-8])
			}
		case b&0xe0 == 0x20: // size of the dynamic table
			d.int(5)
		default: // literal: indexed from now on, not indexed, never indexed
			prefix := 4
			if b&0x40 != 0 {
				prefix = 6
			}
			name := ""
			if i := d.int(prefix); i == 0 {
				name = d.text()
			} else if isStatus(i) {
				name = ":status"
			}
			if value := d.text(); !d.broken {
				field(name, value)
			}
		}
	}
	if d.broken {
		return errFields
	}
	return nil
}

type fieldReader struct {
	rest   []byte
	broken bool
}

func (d *fieldReader) next() byte {
	if len(d.rest) == 0 {
		d.broken = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *fieldReader) int(prefix int) int {
	limit := 1<<prefix - 1
	n := int(d.next()) & limit
	if n < limit {
		return n
	}
	for shift := 0; shift <= 21; shift += 7 {
		b := d.next()
		n += int(b&127) << shift
		if b&128 == 0 {
			return n
		}
	}
	d.broken = true
	return 0
}

func (d *fieldReader) text() string {
	coded := len(d.rest) > 0 && d.rest[0]&0x80 != 0
	n := d.int(7)
	if d.broken || n > len(d.rest) {
		d.broken = true
		return ""
	}
	raw := d.rest[:n]
	d.rest = d.rest[n:]
	if !coded {
		return string(raw)
	}
	text, ok := huffman(raw)
	d.broken = d.broken || !ok
	return text
}

// huffmanLengths has the length in bits of each symbol's code (RFC 7541, appendix B); the code is canonical, so the
// lengths are all there is to know.
const huffmanLengths = "" +
	"\x0d\x17\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x18\x1e\x1c\x1c\x1e\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1e\x1c" +
	"\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x06\x0a\x0a\x0c\x0d\x06\x08\x0b\x0a\x0a\x08\x0b\x08\x06\x06\x06" +
	"\x05\x05\x05\x06\x06\x06\x06\x06\x06\x06\x07\x08\x0f\x06\x0c\x0a\x0d\x06\x07\x07\x07\x07\x07\x07" +
	"\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x08\x07\x08\x0d\x13\x0d\x0e\x06" +
	"\x0f\x05\x06\x05\x06\x05\x06\x06\x06\x05\x07\x07\x06\x06\x06\x05\x06\x07\x06\x05\x05\x06\x07\x07" +
	"\x07\x07\x07\x0f\x0b\x0e\x0d\x1c\x14\x16\x14\x14\x16\x16\x16\x17\x16\x17\x17\x17\x17\x17\x18\x17" +
	"\x18\x18\x16\x17\x18\x17\x17\x17\x17\x15\x16\x17\x16\x17\x17\x18\x16\x15\x14\x16\x16\x17\x17\x15" +
	"\x17\x16\x16\x18\x15\x16\x17\x17\x15\x15\x16\x15\x17\x16\x17\x17\x14\x16\x16\x16\x17\x16\x16\x17" +
	"\x1a\x1a\x14\x13\x16\x17\x16\x19\x1a\x1a\x1a\x1b\x1b\x1a\x18\x19\x13\x15\x1a\x1b\x1b\x1a\x1b\x18" +
	"\x15\x15\x1a\x1a\x1c\x1b\x1b\x1b\x14\x18\x14\x15\x16\x15\x15\x17\x16\x16\x19\x19\x18\x18\x1a\x17" +
	"\x1a\x1b\x1a\x1a\x1b\x1b\x1b\x1b\x1b\x1c\x1b\x1b\x1b\x1b\x1b\x1a"

type huffmanTree struct {
	first   [31]uint32 // the first code of each length
	count   [31]uint32
	offset  [31]uint32 // of its symbol in symbols
	symbols []byte
}

var huffmanCode = sync.OnceValue(func() *huffmanTree {
	t := &huffmanTree{}
	code := uint32(0)
	for length := 1; length <= 30; length++ {
		code <<= 1
		t.first[length], t.offset[length] = code, uint32(len(t.symbols))
		for symbol := range len(huffmanLengths) {
			if int(huffmanLengths[symbol]) == length {
				t.symbols = append(t.symbols, byte(symbol))
				t.count[length]++
			}
		}
		code += t.count[length]
	}
	return t
})

func huffman(coded []byte) (string, bool) {
	t := huffmanCode()
	var out []byte
	code, length := uint32(0), 0
	for _, b := range coded {
		for bit := 7; bit >= 0; bit-- {
			code = code<<1 | uint32(b>>bit)&1
			if length++; length > 30 {
				return "", false
			}
			if i := code - t.first[length]; code >= t.first[length] && i < t.count[length] {
				out = append(out, t.symbols[t.offset[length]+i])
				code, length = 0, 0
			}
		}
	}
	// What is left is padding: fewer than eight bits, all ones.
	return string(out), length < 8 && code == 1<<length-1
}
