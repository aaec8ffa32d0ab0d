package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// Each file of testdata is read as its golden file says.
func TestFiles(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, file string
		options    source.Options
	}{
		{name: "LinkedIn: the preamble is passed over", file: "linkedin_preamble.csv"},
		{name: "LinkedIn: no preamble, ISO dates", file: "linkedin_no_preamble.csv"},
		{name: "LinkedIn: a long preamble that names columns", file: "linkedin_long_preamble.csv"},
		{name: "LinkedIn: old, without profiles, American dates", file: "linkedin_old.csv"},
		{name: "LinkedIn: a row of a member who left", file: "linkedin_deleted_member.csv"},
		{name: "Google: the new header", file: "google_new.csv"},
		{name: "Google: the old header", file: "google_old.csv"},
		{name: "Google: numbers have no end, the mark is preferred", file: "google_many_numbers.csv"},
		{name: "Outlook: classic, Windows code page, empty dates", file: "outlook_classic.csv"},
		{name: "Outlook: of the web", file: "outlook_com.csv"},
		{name: "Outlook: in German", file: "outlook_german.csv"},

		{name: "Outlook: in French, with two titles", file: "outlook_french.csv"},
		{name: "Google: several values of an organisation and an address", file: "google_several_values.csv"},
		{name: "Thunderbird: in German", file: "thunderbird_german.csv"},
		{name: "Monica: everything", file: "monica.json", options: source.Options{Today: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)}},
		{name: "Monica: the dump", file: "monica.sql", options: source.Options{Today: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)}},
		{name: "HubSpot: an associated company", file: "hubspot.csv"},
		{name: "folk: companies", file: "folk.csv"},

		{name: "CSV: English", file: "csv_english.csv"},
		{name: "CSV: French, semicolons", file: "csv_french.csv"},
		{name: "CSV: Spanish", file: "csv_spanish.csv"},
		{name: "CSV: Portuguese", file: "csv_portuguese.csv"},
		{name: "CSV: Italian", file: "csv_italian.csv"},
		{name: "CSV: Dutch", file: "csv_dutch.csv"},
		{name: "CSV: tabs", file: "csv_tabs.tsv"},
		{name: "CSV: pipes", file: "csv_pipes.txt"},
		{name: "CSV: the separator is told", file: "csv_sep_line.csv"},
		{name: "CSV: lines end with CR", file: "csv_cr_only.csv"},
		{name: "CSV: blank rows count but hold no person", file: "csv_blank_rows.csv"},
		{name: "CSV: a title beside a job title is an honorific", file: "csv_title_beside_job_title.csv"},
		{name: "CSV: several values in a cell", file: "csv_several_values.csv"},
		{name: "CSV: numbered columns", file: "csv_numbered_columns.csv"},
		{name: "CSV: one column", file: "csv_one_column.csv"},
		{name: "CSV: one date tells that days come first", file: "csv_day_first.csv"},
		{name: "CSV: months come first", file: "csv_month_first.csv"},
		{name: "CSV: spellings of dates", file: "csv_dates.csv"},
		{name: "CSV: spellings of phone numbers", file: "csv_phones.csv"},
		{name: "CSV: phone numbers of a region", file: "csv_phones.csv", options: source.Options{DefaultRegion: "us"}},
		{name: "CSV: spellings of e-mail addresses", file: "csv_emails.csv"},
		{name: "CSV: escapes of spreadsheets", file: "csv_spreadsheet_escapes.csv"},
		{name: "CSV: names from their parts", file: "csv_names.csv"},
		{name: "CSV: a name beside a surname is the first name", file: "csv_name_and_surname.csv"},
		{name: "CSV: columns that mean nothing here are named", file: "csv_unmapped.csv"},
		{name: "CSV: our own", file: "csv_own.csv"},
		{name: "CSV: a note of many lines is a note", file: "good_long_note.csv"},
		{name: "CSV: notes with quotation marks and separators", file: "good_notes_with_quotes.csv"},
		{name: "CSV: a format that is given", file: "google_new.csv", options: source.Options{Format: source.CSV}},
		{name: "CSV: a format that is given and does not fit", file: "bad_only_numbers.csv", options: source.Options{Format: source.GoogleCSV}},

		{name: "charset: UTF-8 with a mark", file: "utf8_mark.csv"},
		{name: "charset: UTF-16 LE with a mark", file: "utf16le_mark.csv"},
		{name: "charset: UTF-16 BE with a mark", file: "utf16be_mark.csv"},
		{name: "charset: UTF-16 LE without a mark", file: "utf16le.csv"},
		{name: "charset: UTF-16 BE without a mark", file: "utf16be.csv"},
		{name: "charset: Excel's Unicode text", file: "utf16le_mark_tabs.txt"},
		{name: "charset: the mark counts for more than the option", file: "utf16le_mark.csv", options: source.Options{Charset: "latin1"}},
		{name: "charset: Windows-1250", file: "csv_polish_1250.csv"},
		{name: "charset: Windows-1251", file: "csv_russian_1251.csv"},
		{name: "charset: KOI8-R", file: "csv_russian_koi8.csv"},
		{name: "charset: Windows-1252", file: "csv_western_1252.csv"},
		{name: "charset: Windows-1253", file: "csv_greek_1253.csv"},
		{name: "charset: Windows-1254", file: "csv_turkish_1254.csv"},
		{name: "charset: Windows-1255", file: "csv_hebrew_1255.csv"},
		{name: "charset: Windows-1256", file: "csv_arabic_1256.csv"},
		{name: "charset: Windows-874", file: "csv_thai_874.csv"},
		{name: "charset: Shift_JIS", file: "csv_japanese_shiftjis.csv"},
		{name: "charset: EUC-JP", file: "csv_japanese_eucjp.csv"},
		{name: "charset: ISO-2022-JP", file: "csv_japanese_jis.csv"},
		{name: "charset: GB 18030", file: "csv_chinese_gbk.csv"},
		{name: "charset: Big5", file: "csv_chinese_big5.csv"},
		{name: "charset: EUC-KR", file: "csv_korean_euckr.csv"},
		{name: "charset: an option overrides the guess", file: "csv_western_1252.csv", options: source.Options{Charset: "Windows-1250"}},
		{name: "charset: an unknown name", file: "csv_english.csv", options: source.Options{Charset: "klingon"}},
		{name: "charset: damaged UTF-8", file: "bad_damaged_utf8.csv"},

		{name: "bad: empty", file: "bad_empty.csv"},
		{name: "bad: blank", file: "bad_blank.csv"},
		{name: "bad: zeros", file: "bad_zeros.csv"},
		{name: "bad: a header only", file: "bad_header_only.csv"},
		{name: "bad: no header", file: "bad_no_header.csv"},
		{name: "bad: nothing that says who", file: "bad_only_numbers.csv"},
		{name: "bad: duplicate headers", file: "bad_duplicate_headers.csv"},
		{name: "bad: ragged rows", file: "bad_ragged.csv"},
		{name: "bad: an unclosed quotation mark", file: "bad_unclosed_quote.csv"},
		{name: "bad: an unclosed quotation mark, closed far below", file: "bad_unclosed_quote_far.csv"},
		{name: "bad: an unclosed quotation mark in the last row", file: "bad_unclosed_quote_at_end.csv"},
		{name: "bad: an unclosed quotation mark before a note of several lines", file: "bad_unclosed_quote_note.csv"},
		{name: "bad: stray quotation marks", file: "bad_stray_quotes.csv"},
		{name: "bad: formulas", file: "bad_formulas.csv"},
		{name: "bad: links that run", file: "bad_links.csv"},
		{name: "bad: invisible characters", file: "bad_invisible.csv"},
		{name: "bad: nameless rows", file: "bad_nameless.csv"},
		{name: "bad: NULs", file: "bad_nuls.csv"},
		{name: "bad: long fields", file: "bad_long_fields.csv"},
		{name: "bad: many values", file: "bad_many_values.csv"},
		{name: "bad: values", file: "bad_values.csv"},
		{name: "bad: a table that is not Google's", file: "bad_not_google.csv", options: source.Options{Format: source.GoogleCSV}},
		{name: "bad: a web page", file: "bad_page.csv"},
		{name: "bad: LDIF", file: "bad_ldif.ldif"},
		{name: "bad: an old Excel workbook", file: "bad_old_excel.csv"},
		{name: "bad: a PDF", file: "bad_pdf.csv"},
		{name: "bad: gzip", file: "bad_gzip.csv"},
		{name: "bad: a table named as cards", file: "bad_no_card.vcf"},
		{name: "bad: a table taken for cards", file: "csv_english.csv", options: source.Options{Format: source.VCard}},
		{name: "bad: an unknown format", file: "csv_english.csv", options: source.Options{Format: "xlsx"}},
		{name: "bad: an unknown region", file: "csv_english.csv", options: source.Options{DefaultRegion: "Spain"}},

		{name: "vCard: 2.1", file: "vcard21.vcf"},
		{name: "vCard: 2.1, each text in its own charset", file: "vcard21_charsets.vcf"},
		{name: "vCard: 2.1, texts without a charset in the one given", file: "vcard21_charsets.vcf", options: source.Options{Charset: "windows-1250"}},
		{name: "vCard: 3.0 of Apple, with a group", file: "vcard30_apple.vcf"},
		{name: "vCard: 4.0, with a group and an organisation", file: "vcard40.vcf"},
		{name: "vCard: Windows-1252", file: "vcard_latin1.vcf"},
		{name: "vCard: Windows-1251", file: "vcard_cyrillic.vcf"},
		{name: "vCard: UTF-16", file: "vcard_utf16.vcf"},
		{name: "vCard: marks before cards", file: "vcard_mark.vcf"},
		{name: "vCard: lines end with CR", file: "vcard_cr_only.vcf"},
		{name: "vCard: lines end with CR CR LF", file: "vcard_crcrlf.vcf"},
		{name: "vCard: missing ends", file: "vcard_missing_end.vcf"},
		{name: "vCard: line ends that were not escaped", file: "vcard_unescaped_lines.vcf"},
		{name: "vCard: nameless", file: "vcard_nameless.vcf"},
		{name: "vCard: an agent in a card without an end", file: "vcard_agent_without_end.vcf"},
		{name: "vCard: an agent in one line", file: "vcard_agent_inline.vcf"},
		{name: "vCard: links that run", file: "vcard_links.vcf"},
		{name: "vCard: long parameters", file: "vcard_long_parameters.vcf"},
		{name: "vCard: only a group", file: "bad_only_group.vcf"},
		{name: "vCard: positions by group, own labels", file: "vcard_positions.vcf"},
		{name: "vCard: messengers and networks", file: "vcard_accounts.vcf"},

		{name: "JSContact: a card", file: "jscontact_card.json"},
		{name: "JSContact: 2.0, without uid", file: "jscontact_2_0.json"},
		{name: "JSContact: a group", file: "jscontact_group.json"},
		{name: "JSContact: a card on each line", file: "jscontact_lines.jsonl"},
		{name: "JSContact: bad elements", file: "jscontact_bad_elements.json"},
		{name: "JSContact: cut off", file: "jscontact_cut_off.json"},
		{name: "JSON: neither ours nor JSContact", file: "bad_json.json"},
		{name: "JSON: an empty list", file: "bad_empty_list.json"},
		{name: "Kith: all of it, in any order", file: "kith.json"},
		{name: "Kith: cut off", file: "kith_cut_off.json"},
		{name: "Kith: bad values", file: "kith_bad_values.json"},
		{name: "Kith: of a newer version", file: "bad_kith_newer.json"},
		{name: "Kith: no people", file: "bad_kith_no_people.json"},
		{name: "Kith: taken for JSContact", file: "jscontact_card.json", options: source.Options{Format: source.JSON}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.options.Filename, c.options.Today = c.file, time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
			checkGolden(t, goldenName(c.name), testFile(t, c.file), c.options)
		})
	}
}

// goldenName is a test's name as a file name.
func goldenName(name string) string {
	return strings.NewReplacer(": ", "_", ", ", "_", " ", "_", "/", "_", "'", "").Replace(strings.ToLower(name))
}
