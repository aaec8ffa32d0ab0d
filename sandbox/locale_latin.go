package sandbox

// latinLocales are the names written in Latin letters, accented or not.
func latinLocales() []locale {
	return []locale{
		{
			quota: 32, joiner: " ",
			given: []string{
				"Alexander", "Beatrice", "Benjamin", "Clara", "Dominic", "Eleanor", "Felicity", "Gareth",
				"Harriet", "Imogen", "Jasper", "Josephine", "Katherine", "Laurence", "Matilda", "Nicholas",
				"Philippa", "Rosalind", "Samuel", "Tabitha", "Theodore", "Violet", "William", "Winifred",
			},
			family: []string{
				"Abernathy", "Blackwood", "Carrow", "Danforth", "Eastlake", "Fairbrother", "Garrick", "Hollis",
				"Inglewood", "Kettering", "Lockhart", "Marsden", "Netherby", "Oakley", "Pemberton", "Quennell",
				"Radcliffe", "Stanhope", "Thackeray-Moss", "Underhill", "Vance", "Whitcombe", "Yardley", "Averill",
			},
			places: []place{
				{"London", "United Kingdom", "+44 20"}, {"New York", "United States", "+1 212"},
				{"Chicago", "United States", "+1 312"}, {"Seattle", "United States", "+1 206"},
				{"Boston", "United States", "+1 617"}, {"Austin", "United States", "+1 512"},
				{"Toronto", "Canada", "+1 416"}, {"Manchester", "United Kingdom", "+44 20"},
			},
		},
		{
			quota: 12, joiner: " ",
			given:  []string{"Lucía", "Mateo", "Inés", "Guillermo", "Ximena", "Joaquín", "Begoña", "Francisco", "Marisol", "Andrés"},
			family: []string{"Villagarza", "Echeverría", "Quiñones", "Montalvo", "Zambrano", "Peñalver", "Arizmendi", "Cifuentes", "Robledo", "Urrutia"},
			places: []place{{"Madrid", "Spain", ""}, {"Mexico City", "Mexico", ""}, {"Bogotá", "Colombia", ""}, {"Valencia", "Spain", ""}},
		},
		{
			quota: 10, joiner: " ",
			given:  []string{"João", "Leonor", "Tomás", "Beatriz", "Gonçalo", "Inácio", "Luísa", "Rafaela"},
			family: []string{"Magalhães", "Brandão", "Figueiredo", "Carvalhal", "Seabra", "Teixeira", "Falcão", "Nogueira"},
			places: []place{{"Lisbon", "Portugal", ""}, {"Porto", "Portugal", ""}, {"São Paulo", "Brazil", ""}, {"Recife", "Brazil", ""}},
		},
		{
			quota: 10, joiner: " ",
			given:  []string{"Amélie", "Bastien", "Cécile", "Étienne", "Hélène", "Loïc", "Maëlle", "Quentin"},
			family: []string{"Beaumarchand", "Delacourt", "Fontanel", "Garnier-Petit", "Lefranc", "Pélissard", "Roussillon", "Vasseur"},
			places: []place{{"Lyon", "France", ""}, {"Paris", "France", ""}, {"Montréal", "Canada", "+1 514"}, {"Brussels", "Belgium", ""}},
		},
		{
			quota: 10, joiner: " ",
			given:  []string{"Jürgen", "Annika", "Matthias", "Friederike", "Sebastian", "Käthe", "Lorenz", "Johanna"},
			family: []string{"Brückner", "Hagedorn", "Kleinschmidt", "Löwenthal", "Osterwald", "Rehfeld", "Steinhäuser", "Weißmann"},
			places: []place{{"Berlin", "Germany", ""}, {"Hamburg", "Germany", ""}, {"Vienna", "Austria", ""}, {"Zürich", "Switzerland", ""}},
		},
		{
			quota: 8, joiner: " ",
			given:  []string{"Åsa", "Bjørn", "Freja", "Håkon", "Linnéa", "Mikkel", "Päivi", "Sigrún"},
			family: []string{"Bergström", "Dalgaard", "Fjellheim", "Grönlund", "Hallqvist", "Ødegaard-Lie", "Nyholm", "Strandberg"},
			places: []place{{"Stockholm", "Sweden", ""}, {"Oslo", "Norway", ""}, {"Copenhagen", "Denmark", ""}, {"Reykjavík", "Iceland", ""}},
		},
		{
			quota: 6, joiner: " ",
			given:  []string{"Małgorzata", "Paweł", "Łukasz", "Agnieszka", "Sławomir"},
			family: []string{"Wróblewicz", "Kaczmarzyk", "Jabłoniak", "Sokołowicz", "Gałązka"},
			places: []place{{"Warsaw", "Poland", ""}, {"Kraków", "Poland", ""}},
		},
		{
			quota: 4, joiner: " ",
			given:  []string{"Zdeněk", "Kateřina", "Jiřina", "Ondřej"},
			family: []string{"Krejčíř", "Petrů", "Janků", "Šíp"},
			places: []place{{"Prague", "Czechia", ""}, {"Brno", "Czechia", ""}},
		},
		{
			quota: 6, joiner: " ",
			given:  []string{"Elif", "Çağlar", "Gülşen", "Mert", "Özlem", "Tolga"},
			family: []string{"Karabulut", "Şahinoğlu", "Demirtaş-Er", "Yıldırmaz", "Akçay", "Gündoğan"},
			places: []place{{"Istanbul", "Türkiye", ""}, {"Izmir", "Türkiye", ""}},
		},
		{
			quota: 4, joiner: " ",
			given:  []string{"Aoife", "Ciarán", "Róisín", "Tadhg"},
			family: []string{"Delahunty", "O'Shaughnan", "Brannigan", "McGarrity"},
			places: []place{{"Dublin", "Ireland", ""}, {"Galway", "Ireland", ""}},
		},
		{
			quota: 4, joiner: " ", familyFirst: true,
			given:  []string{"Thị Lan", "Minh Quân", "Hồng Vân", "Đức Huy"},
			family: []string{"Nguyễn", "Trần", "Phạm", "Vũ"},
			places: []place{{"Hanoi", "Vietnam", ""}, {"Da Nang", "Vietnam", ""}},
		},
		{
			quota: 8, joiner: " ",
			given:  []string{"Oluwaseun", "Adaeze", "Chukwuemeka", "Folasade", "Ngozi", "Babatunde"},
			family: []string{"Adeyinka", "Okonji-Bright", "Nwachukwu", "Olaniyan", "Ezeobi", "Akinfolarin"},
			places: []place{{"Lagos", "Nigeria", ""}, {"Abuja", "Nigeria", ""}, {"London", "United Kingdom", "+44 20"}},
		},
		{
			quota: 3, joiner: " ",
			given:  []string{"Kwabena", "Akosua", "Yaa"},
			family: []string{"Asante-Boadi", "Oforiwaa", "Tettehfio"},
			places: []place{{"Accra", "Ghana", ""}, {"Kumasi", "Ghana", ""}},
		},
		{
			quota: 5, joiner: " ",
			given:  []string{"Wanjiru", "Otieno", "Tigist", "Dawit", "Abeba"},
			family: []string{"Kamauri", "Odhiambo", "Gebremedhin", "Tesfamariam", "Mulugetta"},
			places: []place{{"Nairobi", "Kenya", ""}, {"Addis Ababa", "Ethiopia", ""}},
		},
		{
			quota: 2, joiner: " ",
			given:  []string{"Thandeka", "Sipho"},
			family: []string{"Mokoenane", "Khumbula", "Van Wykerd"},
			places: []place{{"Cape Town", "South Africa", ""}},
		},
		{
			quota: 14, joiner: " ",
			given:  []string{"Ananya", "Venkatesh", "Ishaan", "Lakshmi", "Rohini", "Devendra", "Kavitha", "Zubair", "Meenal", "Harpreet"},
			family: []string{"Subramoni", "Bhattacharjee", "Deshmukhe", "Kulkarnik", "Chaturvedi", "Iyengar", "Rathore", "Sodhiwal", "Qureshani", "Venkataram"},
			places: []place{{"Bengaluru", "India", ""}, {"Mumbai", "India", ""}, {"Pune", "India", ""}, {"San Francisco", "United States", "+1 415"}},
		},
		{
			quota: 6, joiner: " ",
			given:  []string{"Yasmin", "Tariq", "Nour", "Faris", "Salma", "Idris"},
			family: []string{"Al-Khatibi", "Haddadin", "Benmoussa", "Sabbagh", "El-Tayar", "Mansouri"},
			places: []place{{"Amman", "Jordan", ""}, {"Casablanca", "Morocco", ""}, {"Dubai", "United Arab Emirates", ""}},
		},
		{
			quota: 2, joiner: " ",
			given:  []string{"Haruka", "Kenta"},
			family: []string{"Tachikawa", "Shimazono"},
			places: []place{{"Vancouver", "Canada", "+1 604"}},
		},
		{
			quota: 2, joiner: " ",
			given:  []string{"Meiling", "Zhiyuan"},
			family: []string{"Ouyang", "Szeto"},
			places: []place{{"Singapore", "Singapore", ""}},
		},
	}
}
