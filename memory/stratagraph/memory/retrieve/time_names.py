"""The names of months, weekdays and units, and the expressions of time, in other languages than English.

The names are those of Unicode's CLDR, as dateparser 1.2 collects and extends them. The expressions of German, French,
Spanish, Italian, Portuguese, Dutch and Chinese are our own; the other languages have the commonest ones.

A line has a heading and names, of which each has its forms, with "|" between them and "_" for a space; or English, a
colon and the regular expressions for it. In these, {n} is a number, {u} a unit, {day} and {month} names, {y} a year.
"""

TABLES = {
    "german": """
months januar|jänner|jan februar|feber|feb märz|maerz|mär|mrz april|apr mai juni|jun juli|jul august|aug
  september|sept|sep oktober|okt november|nov dezember|dez
days montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag
units minute|minuten stunde|stunden tag|tage|tagen woche|wochen monat|monate|monaten jahr|jahre|jahren
numbers ein|eine|einem|einer|einen zwei drei|paar|ein_paar|einigen vier fünf sechs sieben acht neun zehn elf zwölf
before vor|bis
since seit|ab
after nach
today: heute
yesterday: gestern
day before yesterday: vorgestern
day after tomorrow: übermorgen
tomorrow: (?<!heute )(?<!gestern )(?<!am )(?<!guten )morgen
last {n} {u}: (?:in den |die )?(?:letzten|vergangenen) {n} {u}
{n} {u} ago: vor {n} {u}
in {n} {u}: in {n} {u}
next weekend: (?:am )?(?:nächste[ns]|kommende[ns]) wochenende
last {u}: (?:in der |im |am )?(?:letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?) {u}
this {u}: (?:in )?diese[nrsm]? {u}
next {u}: (?:in der |im |am )?(?:nächste[nrsm]?|kommende[nrsm]?) {u}
last {day}: (?:am )?(?:letzten|vorigen|vergangenen) {day}
next {day}: (?:am )?(?:nächsten|kommenden) {day}
last weekend: (?:am )?letzten? wochenende
the weekend: am wochenende
on {day}s: {day}s|jeden {day}|an {day}en
on {day}: am {day}
in {month}: (?:im|letzten) {month}
in {y}: im jahre? {y}
""",
    "french": """
months janvier|janv|jan février|févr|fév mars avril|avr mai juin|jun juillet|juil|jul août|aout
  septembre|sept|sep octobre|oct novembre|nov décembre|déc
days lundi mardi mercredi jeudi vendredi samedi dimanche
units minute|minutes heure|heures jour|jours semaine|semaines mois an|ans|année|années
numbers un|une deux trois|quelques quatre cinq six sept huit neuf dix onze douze
before avant_le|avant|jusqu'au|jusqu'à|jusqu'en
since depuis_le|depuis|dès
after après_le|après
today: aujourd['’]hui
day before yesterday: avant-hier
yesterday: hier
day after tomorrow: après-demain
tomorrow: demain
{n} {u} ago: il y a {n} {u}
in {n} {u}: dans {n} {u}
next weekend: (?:le )?week-?end prochain
a fortnight ago: il y a (?:une quinzaine de jours|quinze jours)
last {n} {u}: (?:(?:au cours )?(?:des|les|ces) )?{n} derni[eè]re?s {u}
last few days: ces derniers jours
last {u}: (?:au cours de )?(?:la |le |l['’])?{u} (?:derni[eè]re?|pass[ée]e?)
this {u}: (?:ce|cette|cet) {u}(?:-ci)?
next {u}: (?:la |le |l['’])?{u} prochaine?
last {day}: {day} (?:dernier|passé)
next {day}: {day} prochain
last weekend: (?:le )?week-?end (?:dernier|passé)
on {day}s: (?:tous les|les) {day}s|chaque {day}
on {day}: (?:le )?{day}
in {month}: (?:en|au mois d['’e] ?|courant) ?{month}
in {y}: (?:en|pendant|durant) (?:l['’]année )?{y}
""",
    "spanish": """
months enero|ene febrero|feb marzo|mar abril|abr mayo|may junio|jun julio|jul agosto|ago
  septiembre|setiembre|sept|sep octubre|oct noviembre|nov diciembre|dic
days lunes martes miércoles jueves viernes sábado domingo
units minuto|minutos hora|horas día|días semana|semanas mes|meses año|años
numbers un|una|uno dos tres|unos|unas|pocos|pocas cuatro cinco seis siete ocho nueve diez once doce
before antes_del|antes_de|hasta_el|hasta
since desde_el|desde
after después_del|después_de|tras
today: hoy
day before yesterday: anteayer|antes de ayer|antier
yesterday: ayer
day after tomorrow: pasado mañana
tomorrow: (?<!la )(?<!por la )(?<!esta )mañana
{n} {u} ago: hace {n} {u}
in {n} {u}: (?:dentro de|en) {n} {u}
a fortnight ago: hace (?:una quincena|quince días)
last {n} {u}: (?:(?:en |durante )?l[oa]s )?últim[oa]s {n} {u}
past {u}: (?:(?:en |durante )?(?:la|el) )?últim[oa] {u}
last {u}: (?:(?:en )?(?:la|el) )?(?:{u} pasad[oa]|pasad[oa] {u})
this {u}: (?:en )?est[ea] {u}
next {u}: (?:la |el )?(?:pr[oó]xim[oa] {u}|{u} que viene)
last {day}: (?:el )?(?:{day} pasado|pasado {day}|último {day})
next {day}: (?:el )?(?:próximo {day}|{day} que viene)
last weekend: (?:el )?fin de semana pasado
on {day}s: (?:todos )?los {day}s?|cada {day}
on {day}: (?:el|este) {day}
in {month}: (?:en|durante) (?:el mes de )?{month}
in {y}: (?:en|durante) (?:el (?:año )?)?{y}
""",
    "italian": """
months gennaio|genn|gen febbraio|febbr|feb marzo|mar aprile|apr maggio|mag giugno|giu luglio|lug agosto|ago
  settembre|sett|set ottobre|ott novembre|nov dicembre|dic
days lunedì martedì mercoledì giovedì venerdì sabato domenica
units minuto|minuti ora|ore giorno|giorni settimana|settimane mese|mesi anno|anni
numbers un|una|uno due tre|qualche|pochi|poche quattro cinque sei sette otto nove dieci undici dodici
before prima_del|prima_di|fino_al|fino_a
since dal|dall'|da
after dopo_il|dopo
today: oggi
day before yesterday: (?:l['’])?altro ?ieri|ieri l['’]altro
yesterday: ieri
day after tomorrow: dopodomani
tomorrow: domani
{n} {u} ago: {n} {u} fa
in {n} {u}: (?:tra|fra) {n} {u}
last {n} {u}: (?:(?:ne)?gli |(?:ne)?lle |le )?ultim[ie] {n} {u}
past {u}: (?:(?:ne)?ll['’]|l['’])ultim[oa] {u}
last {u}: (?:(?:la|il|lo|nella|nel|l['’]|nell['’]) ?)?(?:{u} (?:scors[oa]|passat[oa])|scors[oa] {u})
this {u}: quest[oa'’] ?{u}
next {u}: (?:(?:la|il|l['’]) ?)?(?:{u} prossim[oa]|prossim[oa] {u})
last {day}: (?:lo )?(?:{day} scors[oa]|scors[oa] {day})
next {day}: {day} prossim[oa]
last weekend: (?:lo )?(?:scorso (?:weekend|fine settimana)|(?:weekend|fine settimana) scorso)
on {day}s: ogni {day}|tutti i {day}|il {day}
on {day}: (?:di )?{day}
in {month}: (?:a|in|nel mese di|ad) {month}
in {y}: (?:nel|durante il) {y}
""",
    "portuguese": """
months janeiro|jan fevereiro|fev março|mar abril|abr maio|mai junho|jun julho|jul agosto|ago
  setembro|septembro|set outubro|out novembro|nov dezembro|dez
days segunda-feira|segunda terça-feira|terça quarta-feira|quarta quinta-feira|quinta sexta-feira|sexta sábado domingo
units minuto|minutos hora|horas dia|dias semana|semanas mês|meses ano|anos
numbers um|uma dois|duas três|alguns|algumas|poucos quatro cinco seis sete oito nove dez onze doze
before antes_de|até
since desde
after depois_de|após
today: hoje
day before yesterday: anteontem
yesterday: ontem
day after tomorrow: depois de amanhã
tomorrow: amanhã
{n} {u} ago: há {n} {u}(?: atrás)?|{n} {u} atrás
in {n} {u}: (?:daqui a|em) {n} {u}
last {n} {u}: (?:n?[oa]s )?últim[oa]s {n} {u}
past {u}: (?:n?[oa] )?últim[oa] {u}
last {u}: (?:n?[oa] )?(?:{u} passad[oa]|passad[oa] {u})
this {u}: (?:n)?est[ea] {u}
next {u}: (?:n?[oa] )?(?:próxim[oa] {u}|{u} que vem)
last {day}: (?:n?[oa] )?(?:{day} passad[oa]|passad[oa] {day}|últim[oa] {day})
next {day}: (?:n?[oa] )?(?:próxim[oa] {day}|{day} que vem)
last weekend: (?:n?o )?fim de semana passado
on {day}s: (?:às|aos|as|todas as|todos os) {day}s?|tod[oa] {day}|cada {day}
on {day}: (?:n[oa]|nest[ae]) {day}
in {month}: (?:em|no mês de) {month}
in {y}: (?:em|durante) {y}|no ano de {y}
""",
    "dutch": """
months januari|jan februari|feb maart|mrt april|apr mei juni|jun juli|jul augustus|aug september|sept|sep
  oktober|okt november|nov december|dec
days maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
units minuut|minuten uur|uren dag|dagen week|weken maand|maanden jaar|jaren
numbers een|één twee drie|paar|een_paar|enkele vier vijf zes zeven acht negen tien elf twaalf
before voor|vóór|tot
since sinds|vanaf
after na
today: vandaag
day before yesterday: eergisteren
yesterday: gisteren
day after tomorrow: overmorgen
tomorrow: (?<!van )(?<!goede )(?<!guten )morgen
{n} {u} ago: {n} {u} geleden
in {n} {u}: over {n} {u}
last {n} {u}: (?:(?:in )?de )?(?:laatste|afgelopen|voorbije) {n} {u}
past {u}: (?:(?:in )?(?:de|het) )?afgelopen {u}
last {u}: vorige? {u}
this {u}: (?:deze|dit) {u}
next {u}: volgende? {u}
last {day}: (?:vorige|afgelopen) {day}
next {day}: (?:volgende|komende) {day}
last weekend: (?:(?:in )?het )?(?:vorig|afgelopen) weekend
on {day}s: (?:op )?{day}en|elke {day}|iedere {day}
on {day}: (?:op )?{day}
in {month}: in {month}
""",
    "russian": """
months январь|января|январе|янв февраль|февраля|феврале|февр март|марта|марте апрель|апреля|апреле|апр май|мая|мае
  июнь|июня|июне июль|июля|июле август|августа|августе|авг сентябрь|сентября|сентябре|сент октябрь|октября|октябре|окт
  ноябрь|ноября|ноябре|нояб декабрь|декабря|декабре|дек
days понедельник вторник среда|среду четверг пятница|пятницу суббота|субботу воскресенье
units минута|минуты|минут|минуту час|часа|часов день|дня|дней неделя|недели|недель|неделю месяц|месяца|месяцев
  год|года|лет
before до
since с|со
after после
today: сегодня
yesterday: вчера
day before yesterday: позавчера
tomorrow: завтра
{n} {u} ago: {n} {u} назад
a week ago: неделю назад
last week: на прошлой неделе
last month: в прошлом месяце
last year: в прошлом году
this week: на этой неделе
last {day}: в прошл(?:ый|ую|ое) {day}
on {day}: во? {day}
in {month}: в {month}
in {y}: в {y}(?:-м)? году
""",
    "polish": """
months styczeń|stycznia|styczniu luty|lutego|lutym marzec|marca|marcu kwiecień|kwietnia|kwietniu maj|maja|maju
  czerwiec|czerwca|czerwcu lipiec|lipca|lipcu sierpień|sierpnia|sierpniu wrzesień|września|wrześniu
  październik|października|październiku listopad|listopada|listopadzie grudzień|grudnia|grudniu
days poniedziałek wtorek środa|środę czwartek piątek sobota|sobotę niedziela|niedzielę
units minuta|minuty|minut|minutę godzina|godziny|godzin|godzinę dzień|dni|dnia tydzień|tygodnie|tygodni
  miesiąc|miesiące|miesięcy rok|roku|lata|lat
today: dzisiaj|dziś
yesterday: wczoraj
day before yesterday: przedwczoraj
tomorrow: jutro
{n} {u} ago: {n} {u} temu
last week: w (?:zeszłym|ubiegłym) tygodniu
last month: w (?:zeszłym|ubiegłym) miesiącu
last year: w (?:zeszłym|ubiegłym) roku
on {day}: we? {day}
in {month}: we? {month}
in {y}: w {y} roku
""",
    "swedish": """
months januari|jan februari|feb mars april|apr maj juni|jun juli|jul augusti|aug september|sept|sep oktober|okt
  november|nov december|dec
days måndag|måndags tisdag|tisdags onsdag|onsdags torsdag|torsdags fredag|fredags lördag|lördags söndag|söndags
units minut|minuter timme|timmar dag|dagar vecka|veckor månad|månader år
today: i dag|idag
yesterday: i går|igår
day before yesterday: i förrgår|förrgår
tomorrow: i morgon|imorgon
{n} {u} ago: för {n} {u} sedan
last week: förra veckan
last month: förra månaden
last year: förra året|i fjol
on {day}: (?:i|på) {day}
in {month}: i {month}
in {y}: (?:år|under) {y}
""",
    "danish": """
months januar|jan februar|feb marts april|apr maj juni|jun juli|jul august|aug september|sept|sep oktober|okt
  november|nov december|dec
days mandag|mandags tirsdag|tirsdags onsdag|onsdags torsdag|torsdags fredag|fredags lørdag|lørdags søndag|søndags
units minut|minutter time|timer dag|dage uge|uger måned|måneder år
today: i dag
yesterday: i går
day before yesterday: i forgårs
tomorrow: i morgen
{n} {u} ago: for {n} {u} siden
last week: sidste uge
last month: sidste måned
last year: sidste år
on {day}: (?:i|på) {day}
in {month}: i {month}
""",
    "norwegian": """
months januar|jan februar|feb mars april|apr mai juni|jun juli|jul august|aug september|sept|sep oktober|okt
  november|nov desember|des
days mandag tirsdag onsdag torsdag fredag lørdag søndag
units minutt|minutter time|timer dag|dager uke|uker måned|måneder år
today: i dag
yesterday: i går
day before yesterday: i forgårs
tomorrow: i morgen
{n} {u} ago: for {n} {u} siden
last week: forrige uke
last month: forrige måned
last year: i fjor
on {day}: (?:i|på) {day}
in {month}: i {month}
""",
    "czech": """
months leden|ledna|lednu únor|února|únoru březen|března|březnu duben|dubna|dubnu květen|května|květnu
  červen|června|červnu červenec|července|červenci srpen|srpna|srpnu září říjen|října|říjnu listopad|listopadu
  prosinec|prosince|prosinci
days pondělí úterý středa|středu čtvrtek pátek sobota|sobotu neděle|neděli
units minuta|minutami|minutou hodina|hodinami|hodinou den|dny|dnem týden|týdny|týdnem měsíc|měsíci|měsícem
  rok|lety|rokem
today: dnes
yesterday: včera
day before yesterday: předevčírem
tomorrow: zítra
{n} {u} ago: před {n} {u}
last week: minulý týden
last month: minulý měsíc
last year: minulý rok|loni
on {day}: (?:v|ve) {day}
in {month}: v {month}
in {y}: v roce {y}
""",
    "romanian": """
months ianuarie|ian februarie|febr martie aprilie mai iunie|iun iulie|iul august septembrie|sept octombrie|oct
  noiembrie|noi decembrie|dec
days luni marți miercuri joi vineri sâmbătă duminică
units minut|minute oră|ore zi|zile săptămână|săptămâni lună|luni an|ani
today: azi|astăzi
yesterday: ieri
day before yesterday: alaltăieri
tomorrow: mâine
{n} {u} ago: acum {n} (?:de )?{u}
last week: săptămâna trecută
last month: luna trecută
last year: anul trecut
in {month}: în {month}
in {y}: în {y}
""",
    "hungarian": """
months január|januárban|jan február|februárban|febr március|márciusban|márc április|áprilisban|ápr május|májusban|máj
  június|júniusban|jún július|júliusban|júl augusztus|augusztusban|aug szeptember|szeptemberben|szept
  október|októberben|okt november|novemberben|nov december|decemberben|dec
days hétfő|hétfőn kedd|kedden szerda|szerdán csütörtök|csütörtökön péntek|pénteken szombat|szombaton vasárnap
units perc|perccel óra|órával nap|nappal hét|héttel hónap|hónappal év|évvel
yesterday: tegnap
day before yesterday: tegnapelőtt
tomorrow: holnap
{n} {u} ago: {n} {u} ezelőtt
last week: (?:a )?múlt héten
last month: (?:a )?múlt hónapban
last year: tavaly
on {day}: {day}
in {y}: {y}-b[ae]n
""",
    "finnish": """
months tammikuu|tammikuuta|tammikuussa helmikuu|helmikuuta|helmikuussa maaliskuu|maaliskuuta|maaliskuussa
  huhtikuu|huhtikuuta|huhtikuussa toukokuu|toukokuuta|toukokuussa kesäkuu|kesäkuuta|kesäkuussa
  heinäkuu|heinäkuuta|heinäkuussa elokuu|elokuuta|elokuussa syyskuu|syyskuuta|syyskuussa lokakuu|lokakuuta|lokakuussa
  marraskuu|marraskuuta|marraskuussa joulukuu|joulukuuta|joulukuussa
days maanantaina tiistaina keskiviikkona torstaina perjantaina lauantaina sunnuntaina
units minuutti|minuuttia tunti|tuntia päivä|päivää viikko|viikkoa kuukausi|kuukautta vuosi|vuotta
today: tänään
yesterday: eilen
day before yesterday: toissapäivänä
tomorrow: huomenna
{n} {u} ago: {n} {u} sitten
last week: viime viikolla
last month: viime kuussa
last year: viime vuonna
last {day}: viime {day}
on {day}: {day}
in {month}: {month}
in {y}: vuonna {y}
""",
    "estonian": """
months jaanuar|jaanuaris veebruar|veebruaris märts|märtsis aprill|aprillis mai|mais juuni|juunis juuli|juulis
  august|augustis september|septembris oktoober|oktoobris november|novembris detsember|detsembris
days esmaspäev|esmaspäeval teisipäev|teisipäeval kolmapäev|kolmapäeval neljapäev|neljapäeval reede|reedel
  laupäev|laupäeval pühapäev|pühapäeval
units minut|minuti tund|tunni päev|päeva nädal|nädala kuu aasta
today: täna
yesterday: eile
tomorrow: homme
{n} {u} ago: {n} {u} (?:eest|tagasi)
last week: eelmisel nädalal
last month: eelmisel kuul
last year: eelmisel aastal
on {day}: {day}
""",
    "lithuanian": """
months sausis|sausio|sausį vasaris|vasario|vasarį kovas|kovo balandis|balandžio|balandį gegužė|gegužės|gegužę
  birželis|birželio|birželį liepa|liepos rugpjūtis|rugpjūčio|rugpjūtį rugsėjis|rugsėjo|rugsėjį spalis|spalio|spalį
  lapkritis|lapkričio|lapkritį gruodis|gruodžio|gruodį
days pirmadienis|pirmadienį antradienis|antradienį trečiadienis|trečiadienį ketvirtadienis|ketvirtadienį
  penktadienis|penktadienį šeštadienis|šeštadienį sekmadienis|sekmadienį
units minutę|minutes|minučių valandą|valandas|valandų dieną|dienas|dienų savaitę|savaites|savaičių
  mėnesį|mėnesius|mėnesių metus|metų
today: šiandien
yesterday: vakar
day before yesterday: užvakar
tomorrow: rytoj
{n} {u} ago: prieš {n} {u}
last week: praėjusią savaitę
last month: praėjusį mėnesį
last year: praėjusiais metais|pernai
on {day}: {day}
""",
    "catalan": """
months gener febrer|febr març abril maig juny juliol agost setembre octubre novembre desembre
days dilluns dimarts dimecres dijous divendres dissabte diumenge
units minut|minuts hora|hores dia|dies setmana|setmanes mes|mesos any|anys
today: avui
day before yesterday: abans-d['’]ahir|abans d['’]ahir
yesterday: ahir
tomorrow: demà
{n} {u} ago: fa {n} {u}
last {u}: (?:la |el |l['’])?{u} passa(?:t|da)
last {day}: {day} passat
on {day}: (?:el )?{day}
in {month}: (?:al|el|a l['’]) ?{month}
in {y}: (?:el|l['’]any) {y}
""",
    "turkish": """
months ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
days pazartesi salı çarşamba perşembe cuma cumartesi pazar
units dakika saat gün hafta ay yıl|sene
today: bugün
yesterday: dün(?! bir)
tomorrow: yarın
{n} {u} ago: {n} {u} önce
last {u}: geçen {u}
this {u}: bu {u}
last {day}: geçen {day}
on {day}: {day} günü
in {month}: {month} ayında|{month}['’]?[dt]a
in {y}: {y} yılında|{y}['’][dt][ae]
""",
    "greek": """
months ιανουάριος|ιανουαρίου|ιανουάριο φεβρουάριος|φεβρουαρίου|φεβρουάριο μάρτιος|μαρτίου|μάρτιο
  απρίλιος|απριλίου|απρίλιο μάιος|μαΐου|μάιο ιούνιος|ιουνίου|ιούνιο ιούλιος|ιουλίου|ιούλιο
  αύγουστος|αυγούστου|αύγουστο σεπτέμβριος|σεπτεμβρίου|σεπτέμβριο οκτώβριος|οκτωβρίου|οκτώβριο
  νοέμβριος|νοεμβρίου|νοέμβριο δεκέμβριος|δεκεμβρίου|δεκέμβριο
days δευτέρα τρίτη τετάρτη πέμπτη παρασκευή σάββατο κυριακή
units λεπτό|λεπτά ώρα|ώρες ημέρα|ημέρες|μέρες εβδομάδα|εβδομάδες μήνα|μήνες χρόνο|χρόνια|έτος|έτη
today: σήμερα
yesterday: χθες|χτες
day before yesterday: προχθές|προχτές
tomorrow: αύριο
{n} {u} ago: πριν (?:από )?{n} {u}
last week: την (?:προηγούμενη|περασμένη) εβδομάδα
last month: τον (?:προηγούμενο|περασμένο) μήνα
last year: πέρσι|πέρυσι
on {day}: (?:την|το) {day}
in {month}: τον {month}
in {y}: το {y}
""",
    "indonesian": """
months januari|jan februari|feb maret|mar april|apr mei juni|jun juli|jul agustus|agu september|sep oktober|okt
  november|nov desember|des
days senin selasa rabu kamis jumat sabtu minggu
units menit jam hari minggu bulan tahun
today: hari ini
yesterday: kemarin
day before yesterday: kemarin lusa
tomorrow: besok
{n} {u} ago: {n} {u} (?:yang )?lalu
last {u}: {u} (?:yang )?lalu
this {u}: {u} ini
on {day}: (?:pada )?hari {day}
in {month}: (?:pada )?bulan {month}
in {y}: (?:pada )?tahun {y}
""",
    "arabic": """
months يناير فبراير مارس أبريل|ابريل مايو يونيو يوليو أغسطس|اغسطس سبتمبر أكتوبر|اكتوبر نوفمبر ديسمبر
days الاثنين|الإثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد
units دقيقة|دقائق ساعة|ساعات يوم|أيام أسبوع|أسابيع شهر|أشهر سنة|سنوات
today: اليوم
yesterday: أمس|الأمس
tomorrow: غدا|غدًا
{n} {u} ago: قبل {n} {u}|منذ {n} {u}
last week: الأسبوع الماضي
last month: الشهر الماضي
last year: السنة الماضية|العام الماضي
on {day}: يوم {day}
in {month}: في {month}
in {y}: في (?:عام )?{y}
""",
    "hindi": """
months जनवरी फ़रवरी|फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर|सितम्बर अक्तूबर|अक्टूबर नवंबर|नवम्बर दिसंबर|दिसम्बर
days सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार
units मिनट घंटे|घंटा दिन सप्ताह|हफ्ते माह|महीने वर्ष|साल
today: आज
{n} {u} ago: {n} {u} पहले
last week: पिछले (?:सप्ताह|हफ्ते)
last month: पिछले (?:माह|महीने)
last year: पिछले (?:वर्ष|साल)
on {day}: {day} को
in {month}: {month} में
in {y}: {y} में
""",
    "chinese": """
months 1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月
days 星期一|周一|週一|礼拜一|禮拜一 星期二|周二|週二|礼拜二|禮拜二 星期三|周三|週三|礼拜三|禮拜三
  星期四|周四|週四|礼拜四|禮拜四 星期五|周五|週五|礼拜五|禮拜五 星期六|周六|週六|礼拜六|禮拜六
  星期日|星期天|周日|周天|週日|礼拜天|礼拜日|禮拜天
units 分钟|分鐘 小时|小時|钟头 天|日 星期|周|週|礼拜|禮拜 月 年
today: 今天|今日|今晚|今早
yesterday: 昨天|昨日|昨晚
day before yesterday: 前天(?!气)
day after tomorrow: 后天|後天
tomorrow: 明天
{day} of last week: 上(?:个|個)?{day}
{day} of next week: 下(?:个|個)?{day}
on {day}s: 每(?:个|個)?{day}|每逢{day}
last weekend: 上(?:个|個)?(?:周|週)末
the weekend: (?:这|這)?(?:个|個)?周末
last week: 上(?:个|個)?(?:星期|周|週|礼拜|禮拜)
this week: (?:这|這|本)(?:个|個)?(?:星期|周|週|礼拜|禮拜)
next week: 下(?:个|個)?(?:星期|周|週|礼拜|禮拜)
last month: 上(?:个|個)?月
this month: (?:这|這)(?:个|個)月|本月
next month: 下(?:个|個)?月
last year: 去年
2 years ago: 前年
this year: 今年
{n} {u} ago: {n}(?:个|個)?{u}(?:以|之)?前
in {n} {u}: {n}(?:个|個)?{u}(?:以|之)?[后後]
last {n} {u}: (?:在)?(?:过去|過去|最近|近|这|這)的?{n}(?:个|個)?{u}
on {day}: {day}
""",
    "japanese": """
months 1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月
days 月曜日|月曜 火曜日|火曜 水曜日|水曜 木曜日|木曜 金曜日|金曜 土曜日|土曜 日曜日|日曜
units 分 時間 日 週間 か月|ヶ月|カ月 年
today: 今日
yesterday: 昨日|きのう
day before yesterday: 一昨日|おととい
tomorrow: 明日
{day} of last week: 先週の?{day}
on {day}s: 毎週{day}
last week: 先週
this week: 今週
next week: 来週
last month: 先月
this month: 今月
last year: 昨年|去年
this year: 今年
{n} {u} ago: {n}{u}前
last {n} {u}: (?:過去|最近){n}{u}
on {day}: {day}
""",
    "korean": """
months 1월 2월 3월 4월 5월 6월 7월 8월 9월 10월 11월 12월
days 월요일 화요일 수요일 목요일 금요일 토요일 일요일
units 분 시간 일 주일|주 개월|달 년
today: 오늘
yesterday: 어제
day before yesterday: 그저께|그제
tomorrow: 내일
last {day}: 지난 ?{day}
last week: 지난 ?주
this week: 이번 ?주
last month: 지난 ?달
last year: 작년|지난 ?해
this year: 올해
{n} {u} ago: {n} ?{u} ?전
on {day}: {day}
""",
}
