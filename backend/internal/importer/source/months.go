package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kith-crm/kith/backend/internal/text"
)

// monthsOf are the names of the months by language: twelve words, each with its other forms, as
// they are written in dates.
func monthsOf() map[string]string {
	return map[string]string{
		"en": "january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sep|sept october|oct november|nov december|dec",
		"de": "januar|jan|jänner|jän februar|feb|feber märz|mär|mrz|maerz april|apr mai juni|jun|juno juli|jul august|aug september|sep|sept oktober|okt november|nov dezember|dez",
		"fr": "janvier|janv|jan février|févr|fév mars|mar avril|avr mai juin juillet|juil août|aoû septembre|sept|sep octobre|oct novembre|nov décembre|déc",
		"es": "enero|ene febrero|feb marzo|mar abril|abr mayo|may junio|jun julio|jul agosto|ago septiembre|setiembre|sep|sept|set octubre|oct noviembre|nov diciembre|dic",
		"pt": "janeiro|jan fevereiro|fev março|mar abril|abr maio|mai junho|jun julho|jul agosto|ago setembro|set outubro|out novembro|nov dezembro|dez",
		"it": "gennaio|gen febbraio|feb marzo|mar aprile|apr maggio|mag giugno|giu luglio|lug agosto|ago settembre|set|sett ottobre|ott novembre|nov dicembre|dic",
		"nl": "januari|jan februari|feb maart|mrt april|apr mei juni|jun juli|jul augustus|aug september|sep|sept oktober|okt november|nov december|dec",
		"sv": "januari|jan februari|feb mars|mar april|apr maj juni|jun juli|jul augusti|aug september|sep|sept oktober|okt november|nov december|dec",
		"da": "januar|jan februar|feb marts|mar april|apr maj juni|jun juli|jul august|aug september|sep|sept oktober|okt november|nov december|dec",
		"no": "januar|jan februar|feb mars|mar april|apr mai juni|jun juli|jul august|aug september|sep|sept oktober|okt november|nov desember|des",
		"fi": "tammikuu|tammikuuta|tammi helmikuu|helmikuuta|helmi maaliskuu|maaliskuuta|maalis huhtikuu|huhtikuuta|huhti toukokuu|toukokuuta|touko kesäkuu|kesäkuuta|kesä " +
			"heinäkuu|heinäkuuta|heinä elokuu|elokuuta|elo syyskuu|syyskuuta|syys lokakuu|lokakuuta|loka marraskuu|marraskuuta|marras joulukuu|joulukuuta|joulu",
		"et": "jaanuar|jaan veebruar|veebr märts aprill|apr mai juuni juuli august|aug september|sept oktoober|okt november|nov detsember|dets",
		"pl": "styczeń|stycznia|sty luty|lutego|lut marzec|marca|mar kwiecień|kwietnia|kwi maj|maja czerwiec|czerwca|cze lipiec|lipca|lip sierpień|sierpnia|sie " +
			"wrzesień|września|wrz październik|października|paź listopad|listopada|lis grudzień|grudnia|gru",
		"cs": "leden|ledna|led únor|února|úno březen|března|bře duben|dubna|dub květen|května|kvě červen|června|čvn červenec|července|čvc srpen|srpna|srp " +
			"září|zář říjen|října|říj listopad|listopadu|lis prosinec|prosince|pro",
		"sk": "január|januára|jan február|februára|feb marec|marca|mar apríl|apríla|apr máj|mája jún|júna|jun júl|júla|jul august|augusta|aug september|septembra|sep " +
			"október|októbra|okt november|novembra|nov december|decembra|dec",
		"hr": "siječanj|siječnja|sij veljača|veljače|velj ožujak|ožujka|ožu travanj|travnja|tra svibanj|svibnja|svi lipanj|lipnja|lip srpanj|srpnja|srp kolovoz|kolovoza|kol " +
			"rujan|rujna|ruj listopad|listopada|lis studeni|studenog|studenoga|stu prosinac|prosinca|pro",
		"sl": "januar|januarja|jan februar|februarja|feb marec|marca|mar april|aprila|apr maj|maja junij|junija|jun julij|julija|jul avgust|avgusta|avg september|septembra|sep " +
			"oktober|oktobra|okt november|novembra|nov december|decembra|dec",
		"sr": "januar|januara|јануар|јануара februar|februara|фебруар|фебруара mart|marta|март|марта april|aprila|април|априла maj|maja|мај|маја jun|juna|јун|јуна jul|jula|јул|јула " +
			"avgust|avgusta|август|августа septembar|septembra|септембар|септембра oktobar|oktobra|октобар|октобра novembar|novembra|новембар|новембра decembar|decembra|децембар|децембра",
		"hu": "január|jan február|febr|feb március|márc|már április|ápr május|máj június|jún július|júl augusztus|aug szeptember|szept október|okt november|nov december|dec",
		"ro": "ianuarie|ian februarie|feb martie|mar aprilie|apr mai iunie|iun iulie|iul august|aug septembrie|sept octombrie|oct noiembrie|noi decembrie|dec",
		"lt": "sausis|sausio vasaris|vasario kovas|kovo balandis|balandžio gegužė|gegužės birželis|birželio liepa|liepos rugpjūtis|rugpjūčio rugsėjis|rugsėjo spalis|spalio lapkritis|lapkričio gruodis|gruodžio",
		"lv": "janvāris|janvārī|janv februāris|februārī|febr marts|martā aprīlis|aprīlī maijs|maijā jūnijs|jūnijā|jūn jūlijs|jūlijā|jūl augusts|augustā septembris|septembrī oktobris|oktobrī novembris|novembrī decembris|decembrī",
		"tr": "ocak|oca şubat|şub mart|mar nisan|nis mayıs|may haziran|haz temmuz|tem ağustos|ağu eylül|eyl ekim|eki kasım|kas aralık|ara",
		"ca": "gener|gen febrer|febr març|mar abril|abr maig juny|jun juliol|jul agost|ag setembre|set octubre|oct novembre|nov desembre|des",
		"ru": "январь|января|янв февраль|февраля|фев|февр март|марта|мар апрель|апреля|апр май|мая июнь|июня|июн июль|июля|июл август|августа|авг сентябрь|сентября|сен|сент " +
			"октябрь|октября|окт ноябрь|ноября|ноя|нояб декабрь|декабря|дек",
		"uk": "січень|січня|січ лютий|лютого|лют березень|березня|бер квітень|квітня|квіт травень|травня|трав червень|червня|черв липень|липня|лип серпень|серпня|серп " +
			"вересень|вересня|вер жовтень|жовтня|жовт листопад|листопада|лист грудень|грудня|груд",
		"bg": "януари|ян февруари|февр март|мар април|апр май юни юли август|авг септември|септ октомври|окт ноември|ноем декември|дек",
		"el": "ιανουάριος|ιανουαρίου|ιαν φεβρουάριος|φεβρουαρίου|φεβ μάρτιος|μαρτίου|μαρ απρίλιος|απριλίου|απρ μάιος|μαΐου|μαι ιούνιος|ιουνίου|ιουν ιούλιος|ιουλίου|ιουλ " +
			"αύγουστος|αυγούστου|αυγ σεπτέμβριος|σεπτεμβρίου|σεπ οκτώβριος|οκτωβρίου|οκτ νοέμβριος|νοεμβρίου|νοε δεκέμβριος|δεκεμβρίου|δεκ",
	}
}

// monthNames returns the month of each folded name in each language.
//
//nolint:gochecknoglobals // made once, when the first date in words is read
var monthNames = sync.OnceValue(func() map[string]map[string]int {
	names := map[string]map[string]int{}
	for language, months := range monthsOf() {
		for i, month := range strings.Fields(months) {
			for name := range strings.SplitSeq(month, "|") {
				name = text.Fold(name)
				if names[name] == nil {
					names[name] = map[string]int{}
				}
				names[name][language] = i + 1
			}
		}
	}
	return names
})

func isMonth(word string) bool { return monthNames()[word] != nil }

// month returns the month of a folded name. If it is another month in another language, the
// likeliest language decides; month fails if none is known.
func (c calendar) month(word string) (int, error) {
	in := monthNames()[word]
	for _, language := range c.languages {
		if month := in[language]; month > 0 {
			return month, nil
		}
	}
	var months []int
	for _, month := range in {
		if !slices.Contains(months, month) {
			months = append(months, month)
		}
	}
	if len(months) != 1 {
		return 0, fmt.Errorf("%q is another month in another language", word)
	}
	return months[0], nil
}

// isWeekday reports whether the first word of a date is a weekday before the rest: a known one, or
// any word before a comma.
func isWeekday(words []string, date string) bool {
	first := words[0]
	if isDigit(first[0]) || !slices.ContainsFunc(words[1:], isMonth) {
		return false
	}
	head, _, comma := strings.Cut(text.Fold(date), ",")
	return comma && strings.Trim(head, ". ") == first || slices.Contains(strings.Fields(weekdays), first)
}

// weekdays are folded names of weekdays.
const weekdays = "monday mon tuesday tue tues wednesday wed thursday thu thur thurs friday fri saturday sat sunday sun " +
	"montag mo dienstag di mittwoch mi donnerstag do freitag fr samstag sonnabend sa sonntag so " +
	"lundi lun mardi mercredi mer jeudi jeu vendredi ven samedi sam dimanche dim " +
	"lunes martes miercoles mie jueves jue viernes vie sabado sab domingo dom lunedi martedi mercoledi giovedi gio venerdi domenica " +
	"segunda terca quarta quinta sexta seg ter qua qui sex maandag dinsdag woensdag donderdag vrijdag zaterdag zondag " +
	"mandag tirsdag onsdag torsdag fredag lordag sondag poniedzialek wtorek sroda czwartek piatek sobota niedziela " +
	"понедельник пн вторник вт среда ср четверг чт пятница пт суббота сб воскресенье вс pazartesi sali carsamba persembe cuma cumartesi pazar"

// languageOf returns the language of headers, as far as they show it; empty for English and unknown
// ones.
func languageOf(headers []string) string {
	votes := map[string]int{}
	for _, header := range headers {
		head, _ := firstBytes(header, 100)
		for _, word := range text.Words(head) {
			for _, language := range headerLanguage()[word] {
				votes[language]++
			}
		}
	}
	best := ""
	for _, language := range slices.Sorted(maps.Keys(votes)) {
		if votes[language] > votes[best] {
			best = language
		}
	}
	if best == "en" {
		return ""
	}
	return best
}

// headerLanguage returns the languages of each folded word of headers.
//
//nolint:gochecknoglobals // made once, when the first table is read
var headerLanguage = sync.OnceValue(func() map[string][]string {
	languages := map[string][]string{}
	for language, words := range headerLanguages() {
		for word := range strings.FieldsSeq(words) {
			word = text.Fold(word)
			languages[word] = append(languages[word], language)
		}
	}
	return languages
})

// headerLanguages are words of headers that show the language of a table.
func headerLanguages() map[string]string {
	return map[string]string{
		"en": " first last full birthday birth company phone address city country notes date ",
		"de": " vorname nachname familienname geburtstag geburtsdatum anrede firma notizen strasse plz ort handy geschaftlich dienstlich privat jahrestag kategorien telefon stadt organisation ",
		"fr": " prenom nom naissance anniversaire societe entreprise courriel ville pays remarques adresse telephone fonction poste domicile bureau ",
		"es": " nombre apellido apellidos cumpleanos nacimiento fecha empresa correo ciudad telefono notas puesto movil ",
		"pt": " nome sobrenome aniversario nascimento data empresa telefone cidade endereco celular cargo notas ",
		"it": " nome cognome compleanno nascita data azienda telefono indirizzo citta cellulare note ",
		"nl": " naam voornaam achternaam verjaardag geboortedatum bedrijf telefoon woonplaats plaats opmerkingen ",
		"pl": " imie nazwisko urodziny urodzenia firma telefon miasto stanowisko ",
		"sv": " namn fornamn efternamn fodelsedag foretag telefon ",
		"da": " navn fornavn efternavn fodselsdag virksomhed telefon ",
		"no": " navn fornavn etternavn fodselsdag bursdag firma telefon ",
		"fi": " nimi etunimi sukunimi syntymapaiva yritys puhelin ",
		"hr": " ime prezime rodendan rodjendan rodenja rođenja rođendan tvrtka ",
		"sl": " ime priimek rojstva rojstni podjetje ",
		"cs": " jmeno prijmeni narozeniny narozeni spolecnost ",
		"sk": " meno priezvisko narodenia narodeniny spolocnost ",
		"hu": " nev keresztnev vezeteknev szuletesnap ceg ",
		"ro": " nume prenume nastere nasterii companie ",
		"tr": " ad adi soyad soyadi dogum tarihi sirket ",
		"ru": " имя фамилия отчество фио рождения компания телефон ",
		"uk": " ім'я імя прізвище народження компанія ",
		"el": " ονομα επωνυμο γεννησης ",
		"ja": " 名前 氏名 姓 名 誕生日 生年月日 会社 会社名 ",
		"zh": " 姓名 生日 公司 名字 电话 ",
		"ko": " 이름 성명 생일 회사 ",
	}
}
