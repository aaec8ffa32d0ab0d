package source

// headerWord is a meaning and the headers that have it, in English, German,
// French, Spanish, Portuguese, Italian, Dutch and Polish, some in other languages;
// folded, without punctuation, separated by |.
type headerWord struct {
	meaning

	headers string
}

func headerWords() []headerWord {
	var all []headerWord
	for _, t := range new(draft).texts() {
		if t.headers != "" {
			all = append(all, headerWord{meaning{fieldText, t.name}, t.headers})
		}
	}
	for _, part := range [][]headerWord{nameWords(), workWords(), addressWords(), placeWords(), relationWords(), ignoredWords()} {
		all = append(all, part...)
	}
	return all
}

// textField is a one-line text of a person that is imported unchanged.
type textField struct {
	// name is the name in the contract, what the name in warnings.
	name, what string
	value      *string
	// limit is the maximum number of characters, as in the contract.
	limit   int
	headers string
}

// texts lists the texts of a person that readers import unchanged.
func (d *draft) texts() []textField {
	return []textField{
		{"nickname", "nickname", &d.Nickname, maxNickname, "nickname|nick name|nick|alias|known as|spitzname|surnom|apodo|apelido|soprannome|bijnaam|pseudonim"},
		{"location", "location", &d.Location, maxLocation, ""}, // tables have it in parts
		{"met_how", "way they met", &d.MetHow, maxMetHow, "met how|how we met|how met|met through|met at|met where|where we met"},
	}
}

// setText fills the text of a name unless it has a value.
func (d *draft) setText(name, value string) {
	for _, t := range d.texts() {
		if t.name == name {
			d.set(t.value, t.what, value, t.limit)
		}
	}
}

func nameWords() []headerWord {
	return []headerWord{
		{meaning{fieldFullName, ""}, "name|full name|fullname|display name|anzeigename|nom affiche|ime i prezime|nimi|namn|navn|jmeno a prijmeni|ad soyad|contact name|contact|person|name full|formatted name|fn|" +
			"vollstandiger name|kontakt|nom complet|nom et prenom|nombre completo|nombre y apellidos|nome completo|volledige naam|naam|" +
			"imie i nazwisko|имя|фио|полное имя|名前|氏名|姓名|이름|성명"},
		{meaning{fieldNamePrefix, ""}, "name prefix|prefix|salutation|title before name|form of address|honorific|honorific prefix|anrede|civilite|tratamiento|tratamento|trattamento|aanhef"},
		{meaning{fieldGivenName, ""}, "first name|firstname|given name|etunimi|ime|jmeno|keresztnev|prenume|ad|adi|givenname|forename|first|vorname|prenom|primer nombre|nombre|nome proprio|primeiro nome|" +
			"nome|voornaam|imie|fornamn|fornavn|名|名字"},
		{meaning{fieldMiddleName, ""}, "middle name|middlename|additional name|additional names|second name|weitere vornamen|zweiter vorname|deuxieme prenom|" +
			"autres prenoms|segundo nombre|nome do meio|secondo nome|tweede voornaam|drugie imie|отчество"},
		{meaning{fieldFamilyName, ""}, "last name|lastname|family name|sukunimi|prezime|prijmeni|vezeteknev|soyad|soyadi|familyname|surname|last|nachname|familienname|nom|nom de famille|apellido|apellidos|" +
			"sobrenome|ultimo nome|cognome|achternaam|nazwisko|efternamn|etternavn|efternavn|фамилия|姓"},
		{meaning{fieldNameSuffix, ""}, "name suffix|suffix|honorific suffix|namenszusatz|suffixe|sufijo|sufixo|suffisso|achtervoegsel"},
		{meaning{fieldKey, ""}, "id|uid|uuid|contact id|record id|identifier|external id"},
		{meaning{fieldAboutText, ""}, "notes|note|about|bio|biography|description|comment|comments|remarks|background|notizen|notiz|bemerkungen|bemerkung|" +
			"remarques|commentaires|notas|nota|observaciones|observacoes|comentarios|annotazioni|notities|opmerkingen|notatki|заметки|メモ|备注|메모"},
		{meaning{fieldTags, ""}, "tags|tag|categories|category|keywords|kategorien|kategorie|schlagworte|categorias|categoria|etiquetas|categorie|mots cles|trefwoorden|tagi"},
		{meaning{fieldGroups, ""}, "groups|group|group membership|labels|label|lists|list|circles|gruppen|gruppe|groupes|groupe|grupos|grupo|gruppi|gruppo|groepen|grupy"},
		{meaning{fieldStarred, ""}, "starred|favorite|favourite|favorit|favori|favorito|preferito|favoriet"},
		{meaning{fieldCadence, ""}, "keep in touch days|keep in touch|cadence|cadence days|contact frequency days"},
		{meaning{fieldLastContact, ""}, "last contact|last contacted|last interaction"},
		{meaning{fieldAdded, ""}, "added|created|created at|created on|date added|date created"},
	}
}

func workWords() []headerWord {
	return []headerWord{
		{meaning{fieldOrganization, ""}, "company|company name|companies|associated company|primary company|companies names|yritys|tvrtka|sirket|organization|organisation|organization name|organisation name|employer|business|account|account name|" +
			"workplace|works at|firma|unternehmen|organisationsname|entreprise|societe|empresa|compania|organizacion|organizacao|azienda|societa|ditta|" +
			"bedrijf|bedrijfsnaam|organisatie|foretag|virksomhed|компания|организация|会社名|会社|公司|회사"},
		{meaning{fieldJobTitle, ""}, "job title|jobtitle|job titles|arbeitstitel|position|role|occupation|profession|organization title|work title|headline|berufsbezeichnung|beruf|" +
			"stellung|funktion|fonction|poste|titre de poste|cargo|puesto|profesion|ruolo|posizione|qualifica|functie|stanowisko|должность|役職|职位|직함"},
		{meaning{fieldTitle, ""}, "title|titel|titre|titulo|titolo|tytul"},
	}
}

func addressWords() []headerWord {
	return []headerWord{
		{meaning{fieldEmail, ""}, "e mail|email|mail|primare e mail adresse|primaere e mail adresse|sekundare e mail adresse|sekundaere e mail adresse|weitere e mail adresse|e mail primary|email primary|adresse de messagerie principale|e mail address|email address|e mail addresses|email addresses|emails|e mails|mail address|primary email|e mail value|" +
			"e mail adresse|email adresse|mailadresse|adresse e mail|adresse email|adresse de messagerie|courriel|correo|correo electronico|" +
			"direccion de correo electronico|endereco de e mail|endereco de email|indirizzo e mail|indirizzo email|posta elettronica|" +
			"e mailadres|emailadres|adres e mail|e postadress|почта|электронная почта|メール|メールアドレス|邮箱|电子邮件|이메일"},
		{meaning{fieldEmail, "work"}, "work email|work e mail|email work|e mail work|mail work|email business|e mail dienstlich|dienstliche e mail|email geschaftlich|email dienstlich|courriel professionnel|correo trabajo|email lavoro|business email|business e mail|company email|e mail geschaftlich|e mail professionnel|email professionnel"},
		{meaning{fieldEmail, "home"}, "home email|home e mail|email home|e mail home|email personal|e mail personal|email private|email privat|private e mail|e mail private|courriel personnel|correo personal|personal email|private email|e mail privat|e mail personnel|email personnel|other email|secondary email"},
		{meaning{fieldPhone, ""}, "phone|phones|telephone|telephone autre|phone other|other number|tel nr|telefonnr|telefon nr|rufnr|festnetz|puhelin|tel|phone number|phone numbers|telephone number|primary phone|other phone|phone value|telefon|telefonnummer|" +
			"rufnummer|numero de telephone|telefono|numero de telefono|telefone|numero di telefono|telefoon|telefoonnummer|numer telefonu|" +
			"weiteres telefon|autre telephone|otro telefono|телефон|電話番号|電話|电话|전화|전화번호"},
		{meaning{fieldPhone, "work"}, "business phone|work phone|telephone professionnel|phone work|phone business|work number|work telephone|tel dienstlich|telefon dienstlich|tel geschaftlich|tel buro|telefon buro|tel arbeit|telefon arbeit|tel work|office phone|company phone|telefon geschaftlich|tel bureau|telephone bureau|telephone bureau principal|" +
			"telefono del trabajo|telefono trabajo|telefone comercial|telefono ufficio|telefoon op werk|zakelijke telefoon"},
		{meaning{fieldPhone, "home"}, "home phone|telefon privat|phone home|home number|home telephone|tel privat|tel zuhause|telefon zuhause|tel home|tel domicile|telephone domicile|telefono particular|telefono casa|telefone residencial|" +
			"telefono abitazione|telefoon thuis"},
		{meaning{fieldPhone, "mobile"}, "mobile phone|mobile|radiotelephone|phone mobile|phone cell|mobil tel nr|mobil telefon|tel mobil|telefon mobil|mobil nr|handy nr|mobiltelefonnummer|handytelefon|mobil privat|mobiltelefon privat|mobil dienstlich|mobile telephone|tel cell|matkapuhelin|mobile number|cell|cell phone|cellphone|cellular|iphone|mobiltelefon|handy|handynummer|mobil|mobilnummer|" +
			"tel mobile|telephone mobile|portable|movil|telefono movil|celular|telefone celular|telemovel|cellulare|mobiele telefoon|mobiel|" +
			"telefon komorkowy|komorka|мобильный|携帯電話|携帯|手机|휴대폰"},
		{meaning{fieldPhone, "main"}, "company main phone|main phone|telephone societe|telephone principal|hauptrufnummer der firma|telefono principale"},
		{meaning{fieldPhone, "car"}, "car phone|telephone voiture|autotelefon"},
		{meaning{fieldPhone, "fax"}, "fax|business fax|phone fax|fax nummer|faxnummer|fax dienstlich|telecopie|telecopie domicile|telecopie autre|home fax|other fax|fax number|fax geschaftlich|fax privat|telecopie bureau|fax del trabajo|faks"},
		{meaning{fieldPhone, "pager"}, "pager|pager number|pager nummer|recepteur de radiomessagerie"},
		{meaning{fieldWebAddress, ""}, "website|websites|website value|web page|webpage|web site|web|url|urls|homepage|link|links|personal web page|business web page|blog|webseite|" +
			"internetseite|site web|page web|pagina web|sitio web|site|pagina da web|sito web|webpagina|strona internetowa|сайт|ウェブサイト|网站"},
		{meaning{fieldProfile, "linkedin"}, "linkedin|linkedin url|linkedin profile|linkedin profile url|person linkedin url|profile url|linked in"},
		{meaning{fieldProfile, "twitter"}, "twitter url|x url|twitter profile"},
		{meaning{fieldProfile, "facebook"}, "facebook url|facebook profile"},
		{meaning{fieldProfile, "github"}, "github url|github profile"},
	}
}

func placeWords() []headerWord {
	return []headerWord{
		{meaning{fieldLocation, ""}, "location|place|lives in|based in|wohnort|ubicacion|localizacao|emplacement"},
		{meaning{fieldWholeAddress, ""}, "address|addresses|full address|mailing address|address formatted|adresse|adressen|anschrift|direccion|endereco|indirizzo|adres|адрес|住所|地址|주소"},
		{meaning{fieldWholeAddress, "home"}, "home address full"},
		{meaning{fieldPostcode, ""}, "postcode|postal code|zip|zip code|zipcode|zip postal code|address postal code|plz|postleitzahl|code postal|codigo postal|cep|cap|postnummer|kod pocztowy|индекс|郵便番号"},
		{meaning{fieldPostcode, "work"}, "business postal code|work zipcode|work zip|work zip code|work postal code|dienstlich plz|plz dienstlich|postleitzahl geschaftlich|code postal bureau"},
		{meaning{fieldPostcode, "home"}, "home postal code|home zipcode|home zip|home zip code|privat plz|plz privat|postleitzahl privat|code postal domicile"},
		{meaning{fieldPostcode, "other"}, "other postal code|weitere postleitzahl|code postal autre"},
		{meaning{fieldCity, ""}, "city|town|locality|address city|stadt|ort|ville|ciudad|cidade|citta|plaats|stad|woonplaats|miasto|город|市|城市"},
		{meaning{fieldCity, "work"}, "dienstlich ort|ort dienstlich|ville bureau|business city|work city|ort geschaftlich|bureau ville|ciudad del trabajo|plaats werk"},
		{meaning{fieldCity, "home"}, "privat ort|ville domicile|home city|ort privat|domicile ville|plaats thuis"},
		{meaning{fieldCity, "other"}, "ville autre|other city|weiterer ort"},
		{meaning{fieldRegion, ""}, "state|region|province|county|address region|bundesland|departement|provincia|estado|provincie"},
		{meaning{fieldRegion, "work"}, "dienstlich bundesland|dep region bureau|business state|work state|bundesland kanton geschaftlich"},
		{meaning{fieldRegion, "home"}, "privat bundesland|dep region domicile|home state|bundesland kanton privat"},
		{meaning{fieldRegion, "other"}, "dep region autre|other state"},
		{meaning{fieldCountry, ""}, "country|country region|address country|land|pays|pais|paese|kraj|страна|国|国家"},
		{meaning{fieldCountry, "work"}, "dienstlich land|pays region bureau|business country region|business country|work country|land region geschaftlich"},
		{meaning{fieldCountry, "home"}, "privat land|pays region domicile|home country region|home country|land region privat"},
		{meaning{fieldCountry, "other"}, "pays region autre|other country region|other country"},
		{meaning{fieldStreet, ""}, "strasse und hausnummer|hausnummer|house number|po box|post office box|postfach|address po box|address extended address|calle y numero|street|street address|address street|address line|strasse|rue|calle|rua|via|straat|ulica"},
		{meaning{fieldStreet, "work"}, "work address|work street|business address|dienstlich adresse|rue bureau|business address po box|b p professionnelle|business street|business street address|strasse geschaftlich"},
		{meaning{fieldStreet, "home"}, "home address|privat adresse|rue domicile|home address po box|boite postale du domicile|home street|home street address|strasse privat"},
		{meaning{fieldStreet, "other"}, "rue autre|other address|other address po box|autre boite postale|other street|other street address"},
	}
}

func relationWords() []headerWord {
	return []headerWord{
		{meaning{fieldMetOn, ""}, "met on|met|date met|first met|connected on|connected at"},
		{meaning{fieldBirthday, ""}, "syntymapaiva|rodendan|datum rodenja|narozeniny|datum narozeni|dogum tarihi|dogum gunu|fodelsedag|fodselsdag|birthdays|birthday|birthdate|birth date|date of birth|dob|born|bday|geburtstag|geburtsdatum|anniversaire|date de naissance|cumpleanos|" +
			"fecha de nacimiento|aniversario|data de nascimento|compleanno|data di nascita|verjaardag|geboortedatum|urodziny|data urodzenia|" +
			"день рождения|誕生日|生日|생일"},
		{meaning{fieldBirthDay, ""}, "birth day|day of birth|tag der geburt|jour de naissance|dia de nacimiento|giorno di nascita"},
		{meaning{fieldBirthMonth, ""}, "birth month|month of birth|geburtsmonat|mois de naissance|mes de nacimiento|mese di nascita"},
		{meaning{fieldBirthYear, ""}, "birth year|year of birth|geburtsjahr|annee de naissance|ano de nacimiento|anno di nascita"},
		{meaning{fieldAnniversary, ""}, "anniversaire de mariage ou fete|anniversary|wedding anniversary|jahrestag|hochzeitstag|anniversaire de mariage|jubileum"},
		{meaning{fieldRelation, "spouse"}, "conjoint e|ehepartner|partner in|spouse|partner|husband|wife"},
		{meaning{fieldRelation, "manager"}, "vorgesetzter|responsable|manager|manager s name|managers name|boss"},
		{meaning{fieldRelation, "introduced_by"}, "referred by|introduced by"}, {meaning{fieldRelation, "introduced"}, "introduced"},
		{meaning{fieldRelation, "child of"}, "child of|son of|daughter of"}, {meaning{fieldRelation, "parent of"}, "parent of|mother of|father of"},
		{meaning{fieldRelation, "reports to"}, "reports to"}, {meaning{fieldRelation, "manager of"}, "manager of"},
		{meaning{fieldRelation, "assistant"}, "assistant|assistant s name|assistants name"},
	}
}

// ignoredWords are headers of columns that programs add without data about a person.
func ignoredWords() []headerWord {
	return []headerWord{{meaning{fieldIgnored, ""}, "photo|picture|image|avatar|file as|e mail type|e mail display name|email display name|email type|" +
		"priority|private|sensitivity|initials|language|updated|updated at|modified|last modified|e mail label|email label|phone label|website label|" +
		"address label|organization type|event label|custom field label|relation label|im label|im service|im type|account type"}}
}
