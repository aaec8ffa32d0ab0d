package source_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/importer/source"
	"golang.org/x/text/encoding/htmlindex"
)

// The character set of a file with a few names is recognised.
func TestCharsetOfAFewNames(t *testing.T) {
	t.Parallel()
	for charset, names := range map[string]string{
		"windows-1250": "Łukasz Wiśniewski\nMałgorzata Jabłońska\nPaweł Dąbrowski\n",
		"windows-1251": "Иванов Сергей\nПетрова Анна\n",
		"windows-1252": "Zoë Müller\nBjörn Weiß\nFrançois Lefèvre\n",
		"windows-1253": "Γιώργος Παπαδόπουλος\nΜαρία Ιωάννου\n",
		"windows-1254": "Ayşe Işık\nTuğba Güneş\nBarış Şahin\n",
		"windows-1255": "דוד כהן\nשרה לוי\n",
		"windows-1256": "محمد أحمد\nفاطمة علي\n",
		"windows-874":  "สมชาย วิชัย\nสมหญิง สุนทร\n",
		"koi8-r":       "Иванов Сергей\nПетрова Анна\n",
		"euc-kr":       "김민수\n이영희\n박지성\n최수진\n정우성\n한지민\n강동원\n",
		"shift_jis":    "田中太郎\n鈴木花子\n佐藤一郎\n高橋さくら\n伊藤あゆみ\n",
		"euc-jp":       "田中太郎\n鈴木花子\n佐藤一郎\n高橋さくら\n伊藤あゆみ\n",
		"big5":         "王小明\n陳美玲\n林志豪\n張雅婷\n李建國\n黃淑芬\n",
	} {
		t.Run(charset, func(t *testing.T) {
			t.Parallel()
			encoding, err := htmlindex.Get(charset)
			if err != nil {
				t.Fatal(err)
			}
			content, err := encoding.NewEncoder().String("Name\n" + names)
			if err != nil {
				t.Fatal(err)
			}
			if got := open(t, content, source.Options{}).Charset; got != charset {
				t.Errorf("%s was read as %s", charset, got)
			}
		})
	}
}
