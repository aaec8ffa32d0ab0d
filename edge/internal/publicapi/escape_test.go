package publicapi

import (
	"regexp"
	"strings"
	"testing"
)

func TestEscapeInline(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, text. It's fine: really?": "plain, text. It's fine: really?",
		"a\nb\r\n\tc":                     "a b c",
		"# not a heading":                 `\# not a heading`,
		"*bold* _it_ `code` ~~x~~":        "\\*bold\\* \\_it\\_ \\`code\\` \\~\\~x\\~\\~",
		"[a](http://b)":                   `\[a\]\(http\://b\)`,
		"![i](x) <script> &amp;":          `\!\[i\]\(x\) \<script\> \&amp;`,
		"1. one":                          `1\. one`,
		"12) twelve":                      `12\) twelve`,
		"v1.2":                            "v1.2",
		"WWW.evil.example":                `WWW\.evil.example`,
		"https://x.example":               `https\://x.example`,
		"| a | b |":                       `\| a \| b \|`,
		"back\\slash":                     `back\\slash`,
		"bell\a and \u202eoverride":       `bell\[U+0007\] and \[U+202E\]override`,
		"zero\u200bwidth \U000e0041tag":   `zero\[U+200B\]width \[U+E0041\]tag`,
		"👩\u200d🚀 می\u200cخواهم":          "👩\u200d🚀 می\u200cخواهم",
	} {
		if got := escapeInline(text); got != want {
			t.Errorf("escapeInline(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestEscapeText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"one\n\ntwo":             "one\n\ntwo",
		"# Top\n## Sub":          "### Top\n#### Sub",
		"###### Low":             "###### Low",
		"####### Seven":          `\#\#\#\#\#\#\# Seven`,
		"#hashtag":               `\#hashtag`,
		"  # Indented":           "### Indented",
		"    code":               "code",
		"Title\n===\nOther\n---": "Title\n\\=\\=\\=\nOther\n\\-\\-\\-",
		"- item\n+ item\n> q":    "\\- item\n\\+ item\n\\> q",
		"```\nfence\n```":        "\\`\\`\\`\nfence\n\\`\\`\\`",
		"a\r\nb":                 "a\nb",
		"# [x](y) *z*":           `### \[x\]\(y\) \*z\*`,
		"\n\nx\n\n":              "x",
	} {
		if got := escapeText(text); got != want {
			t.Errorf("escapeText(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestIsHTTPS(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://a.example": true, "https://a.example/p?q=1#f": true,
		"http://a.example": false, "javascript:alert(1)": false, "//a.example": false, "https:a": false, "https://": false,
		"https://u:p@a.example": false, "https://a.example/ b": false, "https://a.example/>x": false, "https://a\nb": false,
		"": false, "HTTPS://a.example": true, "data:text/html,x": false,
	} {
		if got := isHTTPS(address); got != want {
			t.Errorf("isHTTPS(%q) = %t", address, got)
		}
	}
}

// codePoint matches what an invisible character is replaced with.
var codePoint = regexp.MustCompile(`\\\[U\+[0-9A-F]{4,6}\\\]`)

// FuzzEscapeLine checks that every markup character is escaped.
func FuzzEscapeLine(f *testing.F) {
	f.Add("# a [b](c) www.d http://e 1. x")
	f.Fuzz(func(t *testing.T, text string) {
		escaped := codePoint.ReplaceAllString(escapeInline(text), "")
		if strings.ContainsAny(escaped, "\n\r\x00") {
			t.Errorf("%q has a control character", escaped)
		}
		for i := 0; i < len(escaped); i++ {
			if escaped[i] == '\\' {
				i++
				continue
			}
			if strings.IndexByte(punctuation, escaped[i]) >= 0 {
				t.Errorf("%q has %q unescaped", escaped, escaped[i])
			}
		}
		if strings.Contains(escaped, "://") && !strings.Contains(escaped, `\://`) {
			t.Errorf("%q has a link", escaped)
		}
	})
}
