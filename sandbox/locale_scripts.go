package sandbox

// scriptLocales are the names in scripts other than Latin, each word with the reading that
// e-mail addresses use.
func scriptLocales() []locale {
	return []locale{
		{
			quota: 5, joiner: " ", familyFirst: true,
			given:  []string{"美咲|Misaki", "蓮|Ren", "千尋|Chihiro", "大和|Yamato", "さくら|Sakura"},
			family: []string{"佐久間|Sakuma", "小野寺|Onodera", "長谷部|Hasebe", "藤森|Fujimori", "柏木|Kashiwagi"},
			places: []place{{"Tokyo", "Japan", ""}, {"Osaka", "Japan", ""}},
		},
		{
			quota: 4, joiner: "", familyFirst: true,
			given:  []string{"晓雨|Xiaoyu", "建国|Jianguo", "思涵|Sihan", "子墨|Zimo"},
			family: []string{"王|Wang", "赵|Zhao", "欧阳|Ouyang", "林|Lin"},
			places: []place{{"Shanghai", "China", ""}, {"Taipei", "Taiwan", ""}},
		},
		{
			quota: 3, joiner: "", familyFirst: true,
			given:  []string{"서연|Seoyeon", "민준|Minjun", "하은|Haeun"},
			family: []string{"김|Kim", "박|Park", "윤|Yoon"},
			places: []place{{"Seoul", "South Korea", ""}},
		},
		{
			quota: 3, joiner: " ",
			given:  []string{"Ελένη|Eleni", "Στέφανος|Stefanos", "Δάφνη|Dafni"},
			family: []string{"Παπασταύρου|Papastavrou", "Καραγεωργίου|Karageorgiou", "Χριστοφόρου|Christoforou"},
			places: []place{{"Athens", "Greece", ""}, {"Thessaloniki", "Greece", ""}},
		},
		{
			quota: 4, joiner: " ",
			given:  []string{"Оксана|Oksana", "Богдан|Bohdan", "Зоряна|Zoriana", "Тарас|Taras"},
			family: []string{"Вересюк|Veresiuk", "Калиненко|Kalynenko", "Мороз|Moroz", "Степаненко|Stepanenko"},
			places: []place{{"Kyiv", "Ukraine", ""}, {"Lviv", "Ukraine", ""}},
		},
		{
			quota: 3, joiner: " ",
			given:  []string{"ليلى|Layla", "سامر|Samer", "هدى|Huda"},
			family: []string{"الحدادي|Alhaddadi", "قباني|Qabbani", "المنصوري|Almansouri"},
			places: []place{{"Beirut", "Lebanon", ""}, {"Cairo", "Egypt", ""}},
		},
	}
}
