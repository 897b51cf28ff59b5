"""Function words of the languages that have a stemmer: their stop words, and the signs by which a language is found.

Only articles, pronouns, question words, prepositions, conjunctions, auxiliary verbs and the like, so that no word with
a meaning of its own is lost. The lists of published packages go further: the Swedish one of `stop-words` has the word
for "decision", the English one "state", "test" and "problem".
"""

from __future__ import annotations

ENGLISH = """
a about above after again all am an and any are as at be because been before being below between both but by can
could did do does doing down during each few for from further had has have having he her here hers him his how i
if in into is it its just me more most my no nor not of off on once only or other our out over own s same she
should so some such t than that the their them then there these they this those through to too under until up
very was we were what when where which while who whom why will with would you your
"""

LATIN = {
    "catalan": """
        el la els les un una uns unes de del dels i o però que qui com quan on amb per en al als a es s és són era ser
        estar no sí més molt ja hi ho li seu seva aquest aquesta això aquell també perquè si entre fins sense sobre ha
        han hem va van quin quina
    """,
    "czech": """
        a i o u v ve na se si s z ze k ke do od po pro při že který která které jak kde když ale nebo ani je jsou byl
        byla bylo být jsem jsme jste to ten ta ty tento tato této jeho její jejich není by bude také již jen než co kdo
        kdy proč jaký
    """,
    "danish": """
        og i jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min havde ham hun
        nu over da fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil blev kunne ind når være dog
        noget ville jo deres efter ned skulle denne dette mit også under have dig anden hende mine alt meget sit mod
        hvis din nogle hos blive mange ad bliver hendes været hvem hvornår hvorfor hvordan hvilken hvilke
    """,
    "dutch": """
        de en van ik te dat die in een hij het niet zijn is was op aan met als voor had er maar om hem dan zou of wat
        mijn men dit zo door over ze zich bij ook tot je mij uit der daar haar naar heb hoe heeft hebben deze u want nog
        zal me zij nu ge geen omdat iets worden toch al waren veel meer doen moet zonder kan hun dus alles onder ja
        wordt werd wezen kunnen ons zelf tegen na reeds wil kon niets uw iemand geweest wij waarom wanneer welke wie
        waar welk hoeveel
    """,
    "estonian": """
        ja on ei et ka see oli kui mis ta ma ning aga või oma nii siis seda kes selle mida olen oled oleme olid pole
        veel välja juba üle kõik ainult meie teie nende tema minu sinu millal kus miks kuidas milline
    """,
    "finnish": """
        ja on ei se että joka mutta hän oli kun ovat myös niin mitä tai kuin olla olen en minä sinä me te he tämä nämä
        tuo ne jos vain sen siitä hänen jonka joita ole olivat ollut voi kanssa sekä koska eikä miksi missä milloin
        tämän tässä siinä vielä jo kuka mikä miten kuinka
    """,
    "french": """
        au aux avec ce ces dans de des du elle en et eux il ils je la le les leur lui ma mais me même mes moi mon ne nos
        notre nous on ou par pas pour qu que qui sa se ses son sur ta te tes toi ton tu un une vos votre vous d j l à m
        n s t y été étaient était est sont sera suis ont avait avons être avoir cette cet où quand comment pourquoi quel
        quelle quels donc si plus très sans sous entre depuis comme aussi fait c ça là quoi quelles combien
    """,
    "german": """
        aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei bin bis bist da damit
        dann das dass daß dein deine dem den denn der des dessen die dies diese diesem diesen dieser dieses doch dort du
        durch ein eine einem einen einer eines er es etwas euch euer für gegen gewesen hab habe haben hat hatte hatten
        hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist jede jedem jeden jeder jedes jetzt
        kann kein keine keinem keinen keiner können könnte man mein meine mich mir mit muss müssen nach nicht nichts
        noch nun nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so soll sollte sondern sonst über
        um und uns unser unsere unter vom von vor war waren warum was weil welche welchem welcher welches wenn werden
        wie wieder will wir wird wo wurde wurden würde zu zum zur zwischen wer wen wem wessen wann wieso weshalb wohin
        woher
    """,
    "hungarian": """
        a az és hogy nem is egy ez azt meg ha de volt csak mint már még ki be el van vagy mert minden ami aki azok ezt
        után alatt között lesz lehet volna vannak nincs sem itt ott így úgy kell miért mikor hol hogyan melyik
    """,
    "indonesian": """
        yang dan di ke dari untuk dengan pada adalah ini itu tidak dalam akan juga atau oleh sebagai karena saya kami
        kita mereka dia anda bisa dapat sudah telah ada tetapi jika seperti bahwa apa siapa kapan mengapa bagaimana
        kepada berapa
    """,
    "italian": """
        ad al allo ai agli alla alle con col da dal dallo dai dalla dalle di del dello dei degli della delle in nel
        nello nei negli nella nelle su sul sullo sui sulla sulle per tra contro io tu lui lei noi voi loro mio mia il lo
        la i gli le un uno una ma ed se perché anche come dov dove che chi cui non più quale quanto quanti quello quella
        questo questa questi queste si tutto tutti a c e l o ho hai ha abbiamo hanno è sono sei siamo siete era erano
        essere avere stato stata fu quando ci vi ne cosa quali
    """,
    "lithuanian": """
        ir yra į iš su kad tai bet ne kaip jis ji jie aš tu mes jūs buvo apie nuo iki per prie po už dėl ar kuris kuri
        kurie jo jos jų taip pat tik dar jau būti kai kodėl kada kas kur
    """,
    "norwegian": """
        og i jeg det at en et den til er som på de med han av ikke der så var meg seg men ett har om vi min mitt ha
        hadde hun nå over da ved fra du ut sin dem oss opp man kan hans hvor eller hva skal selv sjøl her alle vil bli
        ble blei blitt kunne inn når være kom noen noe ville dere deres kun ja etter ned skulle denne for deg si sine
        sitt mot å meget hvorfor dette disse uten hvordan ingen din ditt blir samme hvilken hvilke sånn inni mellom vår
        hver hvem vors hvis både bare enn fordi før mange også slik vært være begge siden henne hennes
    """,
    "polish": """
        i w na z się nie do że jest to o jak ale po co tak za od przez dla być był była było są czy który która które
        tego tej tym ten ta te jego jej ich już tylko może pod przy oraz lub gdy kiedy dlaczego gdzie mnie mi nam nas by
        bez ze we kto jaki jaka
    """,
    "portuguese": """
        de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua ou
        ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos ter seus quem
        nas me esse eles estão você tinha foram essa num nem suas meu às minha têm numa pelos elas havia seja qual será
        nós tenho lhe deles essas esses pelas este fosse dele tu te vocês vos lhes meus minhas teu tua nosso nossa dela
        esta estes estas aquele aquela isto aquilo são porque onde quais quanto quantos
    """,
    "romanian": """
        și în de la cu pe nu un o că este din sau ca care mai se al ale lui ei lor sunt fost pentru prin după dar dacă
        când unde cum ce acest această aceste acesta era au am ai are fi nici doar foarte avea între către cine cât
    """,
    "spanish": """
        de la que el en y a los del se las por un para con no una su al lo como más pero sus le ya o este sí porque esta
        entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante todos uno les ni contra otros
        ese eso ante ellos e esto mí antes algunos qué unos yo otro otras otra él tanto esa estos mucho quienes nada
        muchos cual poco ella estar estas algunas algo nosotros mi mis tú te ti tu tus ellas nosotras es son fue era ser
        está están ha han he había hemos tiene tienen cómo cuándo dónde cuáles cuánto cuántos
    """,
    "swedish": """
        och det att i en jag hon som han på den med var sig för så till är men ett om hade de av icke mig du henne då
        sin nu har inte hans honom skulle hennes där min man ej vid kunde något från ut när efter upp vi dem vara vad
        över än dig kan sina här ha mot alla under någon eller allt mycket sedan ju denna själv detta åt utan varit hur
        ingen mitt ni bli blev oss din dessa några deras blir mina samma vilken er sådan vår blivit dess inom mellan
        sådant varför varje vilka ditt vem vilket sitta sådana vart dina vars vårt våra ert era
    """,
    "turkish": """
        ve bir bu da de için ile çok ne o mi mu mı mü ama gibi daha en kadar var yok ben sen biz siz onlar olan olarak
        değil her şey ya ki veya hem sonra önce göre olduğu oldu olur ise diye neden nasıl nerede hangi niçin kaç
    """,
}

# Of the languages that are found by their script; several languages share it.
OF_SCRIPT = {
    "arabic": """
        في من إلى على عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا لا لم لن إن أن كان كانت هو هي هم نحن أنا أو ثم قد كل
        بعد قبل عند كيف متى أين لماذا و
    """,
    "greek": """
        ο η το οι τα του της των τον την και κι κ είναι ήταν να θα δεν δε μη με σε για από στο στη στην στον στα στους
        στις που πως πότε πού τι ποιος αυτό αυτός αυτή αν αλλά ή ως ένα ένας μια μας σας τους μου σου
    """,
    "hindi": """
        का के की है हैं था थे थी को से में पर और या यह वह ये वे कि जो तो भी ने एक इस उस इन उन नहीं हो हुआ हुई होता होती
        कर लिए साथ क्या कब कहाँ कैसे क्यों कौन अपने गया गई रहा रही रहे मैं हम तुम आप
    """,
    "russian": """
        и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня
        еще нет о из ему теперь когда даже ну ли если уже или ни быть был него до вас нибудь уж вам ведь там потом себя
        ничего ей они тут где есть надо ней для мы тебя их чем была сам чтоб без чего раз тоже себе под будет тогда кто
        этот того потому этого какой им этом мой тем чтобы нее были куда зачем всех при об это эта эти почему какая
        какие сколько
    """,
}
