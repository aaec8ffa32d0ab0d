package password

import (
	_ "embed"
	"strings"
	"unicode"
)

//go:embed common.txt
var commonList string

// isCommon reports whether a password is among the first that an attacker would try: a
// word of the list or two of them, with any digits and marks around them; a short piece
// repeated; a run along the alphabet, the digits or a row of keys.
func isCommon(password string) bool {
	folded := strings.ToLower(password)
	core := strings.TrimFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) })
	if isRepetition(folded) || len(core) >= 6 && isRepetition(core) || isRun(folded) || core == "" && isRun(onlyDigits(folded)) {
		return true
	}
	words := commonWords()
	for _, candidate := range []string{core, plain(core), plain(folded)} {
		if isMadeOf(onlyLetters(candidate), words) {
			return true
		}
	}
	return false
}

func commonWords() map[string]bool {
	words := map[string]bool{}
	for line := range strings.Lines(commonList) {
		if word := strings.TrimSpace(line); word != "" && !strings.HasPrefix(word, "#") {
			words[word] = true
		}
	}
	return words
}

// plain replaces the usual digits and marks by the letters that they stand for.
func plain(s string) string {
	return strings.NewReplacer("0", "o", "1", "i", "!", "i", "3", "e", "4", "a", "@", "a", "5", "s", "$", "s", "7", "t").Replace(s)
}

func onlyLetters(s string) string { return keep(s, unicode.IsLetter) }
func onlyDigits(s string) string  { return keep(s, unicode.IsDigit) }

func keep(s string, wanted func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if wanted(r) {
			return r
		}
		return -1
	}, s)
}

// isMadeOf reports whether s is one of the words, or two of them in a row.
func isMadeOf(s string, words map[string]bool) bool {
	if words[s] {
		return true
	}
	for i := range s {
		if words[s[:i]] && words[s[i:]] {
			return true
		}
	}
	return false
}

// isRepetition reports whether s is a repeated piece of at most five characters.
func isRepetition(s string) bool {
	runes := []rune(s)
	for size := 1; size <= 5; size++ {
		if repeats(runes, size) {
			return true
		}
	}
	return false
}

func repeats(runes []rune, size int) bool {
	for i := size; i < len(runes); i++ {
		if runes[i] != runes[i-size] {
			return false
		}
	}
	return len(runes) >= 2*size
}

// isRun reports whether s follows one of the rows, forwards or backwards, also from its
// end to its start.
func isRun(s string) bool {
	if len(s) < 2 {
		return false
	}
	for _, row := range []string{"1234567890", "0123456789", "abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "qwertzuiop", "azertyuiop",
		"qwertyuiopasdfghjklzxcvbnm", "asdfghjkl", "zxcvbnm", "1qaz2wsx3edc4rfv5tgb", "q1w2e3r4t5y6u7i8o9p0", "1q2w3e4r5t6y7u8i9o0p"} {
		around := strings.Repeat(row, 2+len(s)/len(row))
		if strings.Contains(around, s) || strings.Contains(around, reversed(s)) {
			return true
		}
	}
	return false
}

func reversed(s string) string {
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}
