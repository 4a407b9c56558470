"""Cue words, English and Russian: what tells a statement from talk, and what a summary must keep. Data only."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Said before a statement; what follows stands for itself.
LABELS = (
    "final answer|short answer|answer|response|reply|fact|note|nb|summary|result|conclusion|tl;dr|tldr|finding|decision|"
    "info|fyi|update|important|remember|context|user|human|assistant|ai|bot|claude|a|"
    "ответ|итог|вывод|факт|примечание|заметка|резюме|решение|важно|справка|результат|кратко|пользователь|ассистент"
)
# Said before something that is no statement, whatever its form.
VOID_LABELS = (
    "question|q|example|e\\.g\\.|for example|todo|fixme|error|warning|hypothesis|assumption|option(?: \\w+)?|idea|proposal|"
    "task|step(?: \\w+)?|quote|rumou?r|test|"
    "вопрос|пример|например|ошибка|предупреждение|гипотеза|предположение|задача|идея|вариант(?: \\w+)?|шаг(?: \\w+)?|цитата"
)
# Left out when they open a sentence: with or without a comma, and only with one.
LEAD_INS = (
    "note that|remember that|please note that|keep in mind that|and|but|so|also|currently|"
    "помни,? что|учти,? что|заметь,? что|и|а|но|также|сейчас"
)
LEAD_INS_COMMA = (
    "however|actually|basically|btw|by the way|fyi|in fact|indeed|well|ok|okay|yes|no|right|sure|great|now|finally|first|"
    "second|third|also|for the record|as agreed|да|нет|итак|кстати|к слову|кроме того|на самом деле|значит|вообще|ок|хорошо"
)
HEDGES = _words(
    "if unless would could might maybe perhaps possibly probably presumably suppose supposing assume assuming assumed "
    "whether imagine hypothetically should ought wish hope hopefully guess think thinks believe believes seem seems "
    "seemingly appears supposedly allegedly tbd unclear unsure wonder doubt "
    "если бы б может могут мог могла могло возможно наверное наверно вероятно вдруг допустим предположим кажется похоже "
    "якобы думаю считаю надеюсь вроде ли разве неужели будто сомневаюсь"
)
NEGATIONS = _words(
    "not never cannot neither nor none nothing nobody nowhere isn't aren't wasn't weren't don't doesn't didn't won't "
    "can't couldn't shouldn't wouldn't hasn't haven't hadn't ain't "
    "не нет ни никогда нельзя нету никто ничто ничего никак нигде"
)
ASKING = _words(
    "who what when where why how which whose whom "
    "что кто где куда откуда когда почему зачем как какой какая какое какие сколько чей чья чьё разве неужели"
)
ASKING_VERBS = _words("is are was were do does did can could will would should shall has have had am may might")
COMMANDS = _words(
    "use run set make add remove delete create check fix update write read open close let let's lets do try go see ensure "
    "keep consider install deploy build test call send show tell give find look put start stop restart wait move copy "
    "rename replace change turn avoid prefer pick choose click press type enter visit follow ask explain describe list "
    "please note remember forget ignore stop help import export commit push pull merge review approve "
    "используй используйте запусти запустите сделай сделайте проверь проверьте добавь добавьте удали удалите посмотри "
    "посмотрите напиши напишите давай давайте пусть убедись убедитесь помни запомни запомните поставь поставьте открой "
    "откройте скажи скажите покажи покажите пожалуйста исправь исправьте создай создайте найди найдите установи забудь"
)
AFTER_COMMAND = _words("the a an that if whether sure it this these those your my our to all any every me us them each")
PERSONS = _words(
    "i you he she it they we me him them us myself yourself я ты он она оно они мы вы меня тебя его нас вас мне тебе вам нам"
)
SPEAKERS = _words("i you me i'm i'll i've i'd you're your я ты вы мне тебе вам меня тебя")
WE = _words("we we're we'll we've us let's мы нам нас")
POINTERS = _words(
    "this that these those there here one everything something nothing anything everyone someone anyone all some any each "
    "both another such other others your his her their its same it's that's there's here's what's "
    "это этот эта эти то тот та те там тут здесь всё все некоторые каждый другой другие ваш ваша твой твоя её их свой такой"
)
OURS = _words("our наш наша наше наши")
MINE = _words("my mine мой моя моё мое мои")
TODAY = _words("today yesterday tomorrow tonight then later soon сегодня вчера завтра потом тогда позже скоро теперь")
BINDING = _words(
    "and or but because when while as since although though if than of to for with by from at in on into about until "
    "и или но а потому когда пока хотя так поэтому чтобы с в на к по от до за из о об для при"
)
OPENING = _words(
    "because when while as since although though until once after before потому когда пока хотя поэтому чтобы"
)
VERBS = _words(
    "is are was were be been being am has have had do does did will shall says said say think know knew want wanted need "
    "needed get got went see saw found tried decided moved made let thinks wants needs told asked means meant"
)
# What a thing is for a while, or what somebody feels about it: no knowledge to keep.
PASSING = _words(
    "done ready broken down up fine ok okay good great nice bad sure sorry happy glad correct right wrong true clear "
    "possible impossible here there able likely supposed still already about so too very going gone finished fixed closed "
    "resolved weird strange interesting awesome cool perfect thanks thank hello hi hey lol wip "
    "running working trying getting doing making looking waiting failing compiling loading starting stopping happening "
    "coming taking thinking having missing crashing hanging restarting flaky stuck asking saying talking "
    "готов готова готово готовы сломан сломана сломано спасибо привет отлично хорошо плохо ладно жаль понятно верно"
)
VAGUE = _words(
    "problem issue point question idea thing things reason answer plan goal result way fact truth trick rest difference "
    "catch news error bug mistake next step conclusion "
    "проблема вопрос дело идея суть причина план цель итог результат ответ ошибка разница задача"
)
# As the whole subject: the names of fields, of levels and of places in a log, not of things.
FIELDS = _words(
    "name id type status date time title description version value key url uri path file line email phone see usage output "
    "input returns args params default http https debug info warn warning error fatal trace traceback critical yes no ok "
    "here there first next then also pros cons before after expected actual subject from to cc re fwd "
    "имя тип статус дата время название описание версия значение путь файл строка тема"
)
PREFERRED = _words(
    "preferred favourite favorite любимый любимая любимое предпочитаемый предпочитаемая предпочтительный"
)
ABBREVIATIONS = (
    "e.g.",
    "i.e.",
    "etc.",
    "vs.",
    "mr.",
    "mrs.",
    "ms.",
    "dr.",
    "no.",
    "approx.",
    "т.е.",
    "т.к.",
    "т.д.",
    "г.",
)

# What a summary of messages keeps and what it drops: beginnings of words and phrases, as alternatives of a regex.
DECIDED = (
    "decid|decision|agreed|chose|we will|we'll|let's (?:use|go)|going with|go with|settled|must|policy|from now on|"
    "решил|решен|решён|договорил|выбрал|будем|используем|принято|отныне"
)
LEARNED = (
    "found|turns out|turned out|learn|discover|root cause|because|measured|shows|showed|means that|therefore|important|"
    "note that|confirmed|verified|is located|the fix|fixed|solved|"
    "нашл|нашел|нашёл|оказал|выясни|узнал|причина|потому что|измерил|показал|важно|подтверд|исправил"
)
OPEN = (
    "todo|next|remaining|remains|still (?:need|to|open|miss)|need to|needs to|blocked|pending|follow[- ]up|waiting for|"
    "left to do|not yet|осталось|нужно|надо|дальше|следующ|ждём|ждем|блокир|ещё не|еще не"
)
FAILED = (
    "failed|fails|didn't work|doesn't work|did not (?:work|help)|didn't help|does not work|no luck|gave up|dead end|"
    "reverted|rolled back|still broken|couldn't|tried|"
    "не получил|не сработал|не удал|не помог|безуспешно|откатил|попробовал|пробовал"
)
TROUBLE = (
    "error|exception|traceback|crash|broken|bug|timeout|timed out|fails|failing|"
    "ошибк|исключени|сломал|упал|таймаут|не работает"
)
RESOLVED = (
    "fixed|resolved|solved|works now|now works|passes now|now passes|all green|is green|pass(?:es)? again|"
    "исправил|исправлен|починил|заработал|теперь работает|теперь проход"
)
