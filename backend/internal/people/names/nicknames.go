package names

import (
	"slices"
	"strings"
)

// nicknameGroups lists given names and their everyday forms, folded. The first name of a
// line is the full one. A name may be on several lines.
const nicknameGroups = `
abigail abby gail
abraham abe
agnieszka aga
albert al bert bertie
aleksandra ola sasha
aleksandr aleksander sasha sascha
alexander alex al alec lex sandy sasha xander
alexandra alex alexa lexi sandra sandy sasha
alfred al alf alfie fred
amanda mandy
andreas andi andy
andrew andy drew
angela angie
anna ann annie anya anka
anthony tony ant
antonio tony toni tonio
barbara barb babs barbie
benjamin ben benny benji
bernard bernie
bradley brad
catherine cathy cath kate katie cat
charles charlie chuck chas
charlotte charlie lottie lotte
christina chris tina christie
christine chris chrissy tina
christopher chris kit topher
cynthia cindy
daniel dan danny
david dave davey
deborah deb debbie
dmitri dmitry dima mitya
donald don donnie
dorothy dot dottie dolly
edward ed eddie ted ned
eleanor ellie nell nora
elizabeth liz lizzie beth betty eliza betsy libby lisa
emily em emmy
eugene gene
evgeny zhenya yevgeny
florian flo
francis frank fran
francisco paco pancho fran
franziska franzi
frederick fred freddie rick
gabriel gabe
gerald gerry jerry
gregory greg
guillermo memo
harold harry hal
heinrich heiner heinz
henry harry hank
ignacio nacho
isabella bella izzy isa
ivan vanya
jacob jake
jacqueline jackie
james jim jimmy jamie
janet jan
jennifer jen jenny jenn
jessica jess jessie
jesus chuy chus
johannes hans hannes jo
john jack johnny jon
jonathan jon jonny nathan
jose pepe
josef sepp joe
joseph joe joey jo
joshua josh
judith judy
katherine kathryn kate katie kathy kat kay kitty
katarzyna kasia
kenneth ken kenny
kimberly kim
lawrence larry laurie
leonard leo len lenny
louis lou louie
ludwig lutz
malgorzata gosia
manuel manny manolo
margaret maggie meg peggy greta marge margie
maria mary mia marie
matthew matt matty
maximilian max maxi
megan meg
melissa mel missy
michael mike mick mickey micky mikey
mikhail misha
nadezhda nadia nadya
natalia natalie natasha nat
nathaniel nate nathan nat
nicholas nick nicky nico
nikolai kolya
olivia liv livvy
pamela pam
patricia pat patty tricia trish
patrick pat paddy
peter pete
philip phillip phil pip
rebecca becky becca
richard rick dick rich richie ricky
robert bob bobby rob robbie bert
roberto beto berto
ronald ron ronnie
samantha sam sammy
samuel sam sammy
sarah sara sally sadie
sebastian seb basti bastian
sergei sergey seryozha
stanislaw staszek stan
stephanie steph steffi
stephen steven steve stevie
susan sue susie suzie
svetlana sveta lana
tatiana tatyana tanya tania
terence terry
theodore ted teddy theo
theresa terry tess tessa
thomas tom tommy
timothy tim timmy
ulrich uli
valentina valya tina
veronica ronnie roni vera
victoria vicky tori vic
vincent vince vinnie vin
vladimir volodya vova vlad
walter walt wally
wilhelm willi willy
william bill billy will willie liam
wolfgang wolf wolfi
yekaterina ekaterina katya
zachary zach zack
`

// nicknames maps each name to the other names of its lines. It does not change after it is
// built.
var nicknames = parseNicknames(nicknameGroups)

// Nicknames returns the other forms of a folded given name. The caller must not
// change the slice.
func Nicknames(given string) []string { return nicknames[given] }

// SameGiven reports whether one folded given name is an everyday form of the other:
// maggie of margaret.
func SameGiven(a, b string) bool { return slices.Contains(nicknames[a], b) }

func parseNicknames(table string) map[string][]string {
	forms := make(map[string][]string)
	for line := range strings.Lines(table) {
		names := strings.Fields(line)
		for _, name := range names {
			for _, other := range names {
				if other != name {
					forms[name] = append(forms[name], other)
				}
			}
		}
	}
	return forms
}
