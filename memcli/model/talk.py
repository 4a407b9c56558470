"""Sentences that say nothing, English and Russian: politeness, and states that held for a moment. Data only.

All are for folded text (lower case, е for ё) with white space collapsed, and are matched from the first character to the last,
so that a sentence that goes on to say something is none of them.
"""

# --- Said to be polite, or to fill a turn

_SAID = r"(?:said|says|wrote|replied|responded|answered|greeted|typed)(?: with)?"
_HI = (
    r"(?:hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|night)|greetings|bye|goodbye|see you|thanks|thank you|"
    r"thx|ok|okay|yes|no|cool|nice|lol|great|perfect|awesome)"
)
CHATTER_EN = (
    r"(?:the )?user appreciate[sd] (?:the|my|your) (?:help|answer|assistance|support|explanation)|sure thing|"
    r"one moment(?: please)?|here you go|happy coding|i'm here if you need .{1,40}|just a (?:moment|second|sec)",
    r"(?:the )?user (?:confirmed|says|said|reported) (?:that )?(?:it|this|that|everything) (?:works|worked|"
    r"is working|is fine|is ok|looks good|is correct)(?: now)?",
    r"(?:perfect|great|cool|nice|awesome|ok|okay|yes)?,? ?that (?:works|worked|helps|helped|looks good|"
    r"makes sense)(?: now| for me| a lot)?",
    r"(?:i'm |i am |so )?(?:glad|happy|pleased) (?:i could|to) (?:help|be of help|assist|hear that|hear it)(?: you)?",
    r"i (?:see|understand|get it)|let's (?:get started|continue|go|begin|start|do it|do this|proceed|move on|"
    r"get going)(?: then| now)?",
    r"(?:the )?user (?:is|was) (?:asking|looking) for (?:help|assistance|support)(?: with (?:it|this|that|"
    r"something|their \w+))?",
    r"(?:the )?user (?:wants|needs|requested|asked for|would like|wanted) (?:some )?(?:help|assistance|"
    r"support)(?: with (?:it|this|that|something|their \w+))?",
    rf"{_HI}(?:,? (?:{_HI}|there|all|everyone|again|team|so much|very much|a lot|claude|assistant|chatgpt))*",
    rf"(?:the )?(?:user|assistant|human|agent) (?:just )?{_SAID}(?: to (?:me|us|the assistant|"
    rf"the user))?:? ?[\"'«“]?{_HI}(?: there| again)?[\"'»”]?",
    r"(?:the )?(?:user|assistant|human) (?:greeted|thanked)(?: (?:me|us|the (?:assistant|user|agent|"
    r"model)))?(?: (?:again|back|for .{1,40}))?",
    r"(?:the )?user (?:expressed|showed|conveyed) (?:gratitude|thanks|appreciation|satisfaction|"
    r"frustration)(?: (?:with|for|to|about) .{1,60})?",
    r"(?:the )?user (?:is|was|seems|seemed) (?:happy|satisfied|pleased|grateful|thankful)(?: (?:with|for|"
    r"about) (?:the|my|this|that) (?:answer|reply|response|result|help|explanation|solution|fix|assistance|"
    r"support|information|advice))?",
    r"(?:the )?(?:user|assistant) (?:acknowledged|confirmed|agreed|understood)(?: (?:it|that|this|the (?:message|"
    r"reply|answer)))?",
    r"(?:sure|certainly|absolutely|of course|definitely|gladly|no problem(?: at all)?|no worries|you(?:'re|"
    r" are) welcome|"
    r"my pleasure|sounds good|got it|understood|noted|makes sense|will do|perfect|great|awesome|excellent|nice|"
    r"cool|yep|yup|nope|right|exactly|agreed|alright|all right|lol|haha+|hm+|wow|please|sorry|thanks|thank you|"
    r"works for me|looks good(?: to me)?|lgtm|fair enough|never mind|nevermind|go ahead|good job|well done|"
    r"nice work)(?: (?:thing|then|thanks|thank you))?",
    r"(?:sure|certainly|absolutely|of course|great|okay|ok)?,? ?(?:i would|i'd|i'm|i am|i'll|i will|"
    r"we'd)? ?(?:be )?(?:happy|glad|here|delighted|pleased) to (?:help|assist)(?: you)?(?: with .{1,40}| out|"
    r" today)?",
    r"(?:how|what) (?:can|may|could) i (?:help|assist|do)(?: for)?(?: you)?(?: with)?(?: today| further| now)?",
    r"(?:please )?(?:let me know|feel free to (?:ask|reach out|let me know)|just ask|"
    r"don't hesitate to ask)(?: (?:if|how|what|when|whether|in case) .{1,100})?",
    r"(?:is there anything else|anything else|do you have any (?:other )?questions|any (?:other )?questions).{0,50}",
    r"i hope (?:this|that|it) (?:helps|is helpful|was helpful|clarifies .{1,30}|answers .{1,30})",
    r"(?:that'?s|that is|this is|what) an? (?:great|good|excellent|interesting|fantastic) (?:question|point|idea|"
    r"choice)",
    r"(?:great|good|excellent|interesting) (?:question|point|idea|choice|catch|job|work)",
    r"(?:i |we )?(?:apologi[sz]e|(?:am |are )?sorry) for (?:the|any|my|our|that) (?:confusion|inconvenience|"
    r"mistake|error|delay|misunderstanding|oversight)",
    r"(?:thank you|thanks)(?: so much| very much| a lot)?(?: for .{1,60})?",
    r"you(?:'re| are) (?:absolutely |quite |so |completely )?right",
    r"nice to meet you|have a (?:great|nice|good) (?:day|one|weekend|evening)|talk (?:to you )?(?:soon|later)|"
    r"see you (?:soon|later|tomorrow)",
)
_HI_RU = (
    r"(?:привет(?:ик|ствую)?|здравствуй(?:те)?|доброе утро|добрый (?:день|вечер)|доброй ночи|пока|до свидания|спасибо|"
    r"благодарю|ок|окей|да|нет|хорошо|ладно|понял|поняла|понятно|ясно|ага|угу|супер|отлично|класс|круто|хаха+|спс)"
)
CHATTER_RU = (
    r"(?:я )?(?:рад|рада) (?:был |была )?(?:помочь|это слышать|знакомству)",
    r"(?:все )?(?:хорошо|в порядке|верно|правильно|так и есть|давай(?:те)?|поехали|продолжим|начнем|согласен|"
    r"согласна|договорились)",
    r"пользователь (?:просит|попросил|хочет|ищет) (?:помочь|помощи|помощь)(?: (?:с|в) \w+)?",
    r"пользователь (?:подтвердил|сказал|говорит),? что (?:все )?(?:работает|хорошо|в порядке|верно)",
    rf"{_HI_RU}(?:,? (?:большое|огромное|всем|ребята|коллеги|еще раз|спасибо|понял|поняла|я понял|тогда|"
    r"за .{1,40}))*",
    rf"(?:пользователь|юзер|ассистент) (?:просто )?(?:сказал|написал|ответил|говорит|пишет):? ?[\"«“]?{_HI_RU}[\"»”]?",
    r"(?:пользователь|юзер|ассистент) (?:поздоровался|поблагодарил|попрощался|согласился|"
    r"извинился)(?: с ассистентом| ассистента| еще раз)?(?: за .{1,40})?",
    r"пользователь (?:доволен|остался доволен|благодарен)(?: (?:ответом|результатом|помощью))?",
    r"(?:конечно|разумеется|безусловно|с удовольствием|пожалуйста|не за что|всегда пожалуйста|принято|"
    r"договорились|звучит хорошо|хороший вопрос|отличный вопрос|отличная идея|извини(?:те)?|прошу прощения)",
    r"(?:конечно|хорошо|с радостью)?,? ?(?:я )?(?:рад|рада|буду рад|готов|с удовольствием) (?:помочь|"
    r"помогу)(?: вам| тебе)?(?: с .{1,40})?",
    r"чем (?:я )?(?:могу|еще могу|могу еще) (?:вам |тебе )?(?:помочь|быть полезен)(?: сегодня)?",
    r"(?:если (?:у вас |у тебя )?(?:возникнут|будут|есть|остались) (?:еще |другие )?вопросы.{0,60}|"
    r"обращайтесь.{0,30}|дайте знать.{0,60}|дай знать.{0,60})",
    r"(?:надеюсь,? (?:это )?(?:поможет|помогло|было полезно)|приношу извинения.{0,40}|"
    r"извини(?:те)? за (?:путаницу|ошибку|задержку|неудобства))",
)
CHATTER = CHATTER_EN + CHATTER_RU

# --- What held for a moment

_BE = r"(?:is |are |was |were |has |have |been |now |currently |still |already |all |just |successfully )*"
_THINGS = (
    r"(?:tests?|test suite|build|ci|pipeline|deploy(?:ment)?|migration|lint(?:er|ing)?|(?:dev )?server|script|"
    r"container|"
    r"download|upload|install(?:ation)?|compilation|type ?check|backup|release|refactoring|cleanup|setup|"
    r"implementation|indexing|sync)"
)
_AGENT = r"(?:the )?(?:agent|assistant|claude|model) is"
# Said by an agent of itself: a person who says "I'm reading" reads a book.
_MATTER = (
    r"(?:files?|code|codebase|config|configuration|logs?|errors?|tests?|build|function|module|repo|repository|"
    r"issue|output|"
    r"script|command|request|response|page|documentation|docs|results?|bug|pull request|pr|diff)"
)
TRANSIENT_EN = (
    rf"{_AGENT} (?:now |currently )?(?:idle|ready|busy|done|waiting)",
    r"(?:now )?(?:reading|opening|editing|searching|scanning|analy[sz]ing|reviewing|checking) (?:the |all |"
    rf"through |for )*(?:{_MATTER}|[\w./-]*/[\w./-]+|[\w-]+\.[a-z]{{1,4}})(?: for .{{1,40}}| now)?",
    r"(?:i|we|i've|we've|i have|we have|(?:the )?(?:agent|assistant) has) (?:now |just |successfully |already |"
    r"also )*(?:completed|finished|updated|fixed|added|created|implemented|changed|removed|committed|pushed|"
    rf"resolved|saved|applied|refactored|written) (?:the |this |that |all |your |my |those |these )*(?:{_MATTER}|"
    r"task|changes?|work|fix|problem|updates?|request|todo|it|them)(?: successfully| for you| as requested| now)?",
    r"here(?:'s| is| are) (?:the |your |an? |some )?(?:updated |requested |new |final |corrected |fixed |"
    r"complete |full )*(?:code|file|version|answer|list|summary|result|output|response|script|function|example|"
    r"plan|solution)s?\b.{0,50}",
    r"(?:the )?(?:pr|pull request|merge request|mr|branch|commit|patch|ticket|issue)(?: #?\d+)? (?:is |was |"
    r"has been |were |just |now )*(?:merged|opened|closed|created|approved|pushed|submitted|resolved|"
    r"reviewed)(?: (?:into|to) \w+| successfully)?",
    r"(?:committed|pushed|merged|deployed|rebased|stashed|saved)(?: and (?:pushed|committed|merged|"
    r"deployed))?(?: (?:it|them|the|all|my|our|your) ?(?:changes?|code|branch|commits?|fix|updates?)?| changes?)?",
    r"(?:everything|it|all|this) (?:is |now |just |already )*(?:works?|working|fine|ok|okay|good|green|done|"
    r"passes|set|ready|in order)(?: now| again)?|all (?:good|set|green|clear|done)(?: now)?|works now",
    r"(?:re-?)?r[au]n(?:ning)? (?:the |all |our )*(?:tests?|test suite|build|script|linter|"
    r"migrations?)(?: again)?(?:(?:,| -|:)? ?(?:and )?(?:all |everything |they )?(?:is |are |were )?(?:green|"
    r"passed|passing|pass|ok|fine|failed|good))?",
    r"(?:(?:re)?starting|stopping|installing|compiling|building|loading|downloading|uploading|processing|"
    r"deploying|running|checking|testing|fetching|updating|opening) (?:the |all |up |a |new )*(?:server|"
    r"dependencies|packages|app|application|project|tests?|build|files?|container|migrations?|scripts?|data|"
    r"database|changes)",
    r"(?:compiling|installing|downloading|uploading|deploying|restarting|please wait|thinking|fetching)",
    r"(?:dev )?server (?:started|restarted|stopped)(?: (?:on|at) (?:port )?\S{2,40})?",
    r"(?:the )?(?:assistant|agent|ai) (?:has |then |just |also )*(?:provided|answered|explained|responded|offered|"
    r"suggested|helped|listed|described|summari[sz]ed|asked|clarified|replied|acknowledged|confirmed|showed|"
    r"generated|gave)\b(?!.*\b(?:that|because|never|always)\b)[^:\d\"]{0,100}",
    r"(?:the )?user (?:has |just |then |now )*(?:uploaded|shared|pasted|attached|sent|provided|opened|clicked|"
    r"closed|selected|submitted) (?:a |an |the |some |their |his |her |two |several )(?:\w+ ){0,2}(?:file|files|"
    r"screenshot|image|picture|photo|log|logs|document|link|snippet|page|tab|error|error message|pdf|message|menu|"
    r"dialog|button|code)(?: .{0,40})?",
    r"next(?: steps?)?: (?:run|check|fix|commit|push|test|continue|review|write|update)\b.{0,60}",
    r"(?:the |this |my |our |all |current )*(?:task|step|todo|job|work|subtask|ticket|request|phase|"
    rf"milestone)s?(?: #?[\w-]{{1,12}})? {_BE}(?:done|complete|completed|finished|in progress|pending|started|"
    r"underway|ongoing)(?: now| today| successfully)?",
    rf"(?:the |all |unit |integration |our |new )*{_THINGS}(?: suite| job| run)? {_BE}(?:running|passing|passes|passed|"
    r"pass|failing|failed|green|red|started|restarted|in progress|done|finished|complete|completed|succeeded|up|"
    r"down)(?: again| now| locally| successfully| today)*",
    r"(?:i am|i'm) (?:currently |now |still |just )*(?:looking (?:at|into|for)|reading|debugging|investigating|"
    r"reviewing|editing|"
    r"implementing|running|checking|testing|fixing|refactoring|analy[sz]ing|searching|writing|"
    rf"waiting for) .{{0,60}}\b{_MATTER}\b"
    r".{0,60}",
    rf"{_AGENT} (?:currently |now |still |just )*(?:working|looking|reading|debugging|waiting|investigating|"
    r"reviewing|editing|implementing|running|checking|testing|fixing|refactoring|analy[sz]ing|searching|"
    r"writing)\b.{0,120}",
    r"(?:currently|now|right now|at the moment)[,:]? (?:looking|reading|debugging|waiting|investigating|checking|"
    r"analy[sz]ing|searching|editing|running the (?:tests?|build|script))\b.{0,120}",
    r"(?:currently |still )?working on (?:it|this|that|the (?:task|fix|request|issue))(?: now)?",
    r"(?:still )?(?:waiting|blocked|paused)(?: (?:for|on))? (?:the |a )?(?:user(?:'s)?|input|response|reply|"
    r"approval|confirmation|review|answer|build|ci|tests?)\b.{0,60}",
    r"(?:working on it|in progress|wip|ongoing|done|all done|finished|completed|to be continued|on it|no changes?|"
    r"unchanged|processing|loading|idle|task done|job done)",
    r"(?:ok(?:ay)?,? |now,? )?(?:i will|i'll|let me|i am going to|i'm going to|about to) (?:now |first |then |"
    r"next |just |also )*(?:check|read|look|run|see (?:if|what|how|why|whether)|start|open|fix|try|continue|"
    r"create|update|write|search|"
    r"implement|examine|add|review|test|take a look)\b.{0,160}",
    r"(?:the )?(?:session|conversation|chat|context)(?: [\w#-]{1,40})? (?:was |has |is |been |just )*(?:started|ended|"
    r"resumed|compacted|cleared|over|closed|saved|restored)\b.{0,40}",
    r"(?:the )?user (?:just |has |has just |then |now )*(?:asked|requested|told)(?: me| us| the assistant| claude|"
    r" for help)? to (?:fix|run|check|look|open|read|debug|list|show|explain|summari[sz]e|continue|proceed|commit|"
    r"push|retry|try again|rerun|restart|undo|generate|print)\b.{0,120}",
    r"(?:the )?user (?:just |has |has just |is |then |now )*(?:asked|asking|inquired|inquiring|asks) (?:me |us |"
    r"the assistant )?(?:about|what|why|how|whether|where|when|if|who|which|for the time|for help with)\b.{0,120}",
    r"(?:the )?user (?:is|was) (?:currently |now |just )*(?:looking at|reading|waiting|typing|online|away|testing|"
    r"debugging)\b.{0,100}",
    r"(?:there (?:is|are|was|were) )?(?:no|nothing)(?: new| further| other| more)?(?: to)? (?:report|new|"
    r"messages?|updates?|changes?|news|errors?|activity|emails?|notifications?)(?: found| detected| made| needed|"
    r" yet| today| so far|"
    r" since .{1,30})?",
    r"nothing(?: new)?(?: (?:to report|happened|changed))?(?: today| yet)?",
    r"heartbeat(?:[_ ]?ok|: ?ok| check(?: ok)?)?",
    r"(?:successfully )?(?:opened|viewed|edited|created|wrote|updated|deleted|modified|listed|saved) (?:the |a |"
    r"new )*(?:file|files|folder|directory)\b.{0,80}",
    r"(?:the |all )*(?:file|files|folder|changes?|memory|commit|branch|code)(?: [\w./-]{1,60})? (?:was |were |"
    r"has been |have been |is |are )?(?:successfully )?(?:created|saved|updated|written|deleted|committed|pushed|"
    r"read|applied)(?: successfully)?",
    r"(?:the )?command (?:ran|executed|completed|succeeded|failed|finished|exited|was executed|was run|"
    r"timed out)\b.{0,60}",
    r"(?:process |command )?(?:exited |finished |failed |returned )?(?:with )?(?:exit )?code:? ?\d{1,3}",
    r"(?:the )?(?:bug|issue|error|typo|it|that|problem) (?:is |was |has been )?(?:now )?(?:fixed|resolved|"
    r"solved)(?: now)?",
    r"fixed(?: it| that| the (?:bug|issue|typo|error|problem|tests?|build))?",
    r"step \d+(?: of \d+)?(?: is)?:? ?(?:done|complete|completed|finished|in progress)",
    r"(?:all )?\d+(?:/\d+| of \d+| out of \d+)? (?:tests?|tasks?|steps?|files?|items?)(?: have| has| are|"
    r" is)?(?: been)? (?:passed|passing|done|complete|completed|failed|processed|remaining|left)(?:,? .{0,30})?",
    r"(?:progress|status|state|current status|current task|task status|current step|task)\s?[:=-]\s?(?:\d{1,3} ?%|"
    r"done|in progress|ok|complete|completed|pending|running|waiting|started|idle|working on it)(?:[ ,;(].{0,40})?",
)
_THINGS_RU = (
    r"(?:тесты|тест|сборка|пайплайн|деплой|развертывание|миграция|сервер|скрипт|линтер|установка|загрузка|бэкап|релиз)"
)
TRANSIENT_RU = (
    r"(?:идет|идут|выполняется|выполняются) (?:сборка|деплой|развертывание|установка|загрузка|миграция|тесты|"
    r"проверка|обновление)",
    r"все (?:уже |снова |теперь )?(?:работает|ок|окей|хорошо|в порядке|готово|исправлено|зеленое|проходит)|"
    r"теперь (?:все )?работает",
    r"(?:все )?(?:изменения|правки|исправления) (?:закоммичены|запушены|отправлены|внесены|применены|сохранены|"
    r"залиты)|(?:закоммитил|запушил|отправил|выложил)(?: изменения| правки| коммит)?",
    r"(?:запускаю|проверяю|читаю|смотрю|исправляю|пишу|собираю|устанавливаю|открываю|обновляю) (?:тесты?|файлы?|"
    r"код|сборку|логи?|скрипт|сервер|настройки|зависимости|проект|изменения)",
    r"(?:начинаю|продолжаю) (?:работу|проверку|тесты|задачу)",
    r"(?:ассистент|агент|бот) (?:уже |затем )?(?:ответил|объяснил|предоставил|предложил|показал|помог|уточнил|"
    r"перечислил|описал|подтвердил)\b(?!.*\bчто\b)[^:\d\"]{0,100}",
    r"пользователь (?:только что |сейчас )?(?:загрузил|прислал|отправил|открыл|приложил|вставил) (?:файл|скриншот|"
    r"картинку|фото|лог|логи|документ|ссылку|код|страницу|сообщение)\b.{0,60}",
    r"(?:задача|задание|работа|шаг|этап|подзадача|тикет)(?: #?[\w-]{1,12})? (?:уже |сейчас |полностью |"
    r"успешно )*(?:выполнен[ао]?|готов[ао]?|заверш?ен[ао]?|сделан[ао]?|закрыт[ао]?|в процессе|в работе|начат[ао]?|"
    r"на паузе)",
    rf"(?:все |наши |юнит-)*{_THINGS_RU} (?:уже |сейчас |снова |все |успешно )*(?:прошли|прошел|прошла|проходят|"
    r"проходит|упали|упал|упала|падают|падает|идет|идут|запущен[аы]?|зелен(?:ый|ые|ая)|красн(?:ый|ые|ая)|"
    r"заверш(?:ен[аы]?|ился|илась)|готов[аы]?|работает|выполняется|в процессе)(?: успешно)?",
    r"(?:все |всё )?(?:готово|сделано|выполнено|в процессе|в работе|без изменений|продолжаю|работаю|исправлено|"
    r"исправил|починил|ничего нового|нет новостей|нет изменений|нет новых сообщений|новых сообщений нет|"
    r"задача выполнена)",
    r"(?:сейчас|теперь|в данный момент)[,:]? (?:я )?(?:работаю|читаю|запускаю|проверяю|смотрю|правлю|изучаю|жду|"
    r"ищу|анализирую|отлаживаю|пишу|чиню)\b.{0,120}",
    r"(?:я )?(?:работаю над этим|приступаю к .{1,80}|начинаю (?:работу|проверку|с) .{0,80}|"
    r"продолжаю работу .{0,60}|сейчас посмотрю.{0,60}|сейчас проверю.{0,60})",
    r"(?:жду|ожидаю|ждем|ожидаем|ожидание) (?:ответа|ответ|подтверждения|подтверждение|ввода|реакции|сборки|ревью|"
    r"пользователя)\b.{0,60}",
    r"(?:сессия|беседа|диалог|чат)(?: [\w#-]{1,40})? (?:была |был )?(?:начат[аы]?|заверш?ен[аы]?|закрыт[аы]?|"
    r"возобновлен[аы]?|сжат[аы]?|сохранен[аы]?|окончен[аы]?)",
    r"пользователь (?:только что |сейчас )?(?:попросил|просит) (?:меня |ассистента )?(?:исправить|запустить|"
    r"проверить|посмотреть|открыть|прочитать|показать|объяснить|продолжить|перезапустить|повторить|вывести|"
    r"закоммитить)\b.{0,120}",
    r"пользователь (?:только что |сейчас )?(?:спросил|спрашивает|поинтересовался|задал вопрос|"
    r"интересуется),? (?:о |об |про |что |как |почему |где |когда |можно ли |сколько ).{0,120}",
    r"пользователь (?:сейчас )?(?:читает|ждет|тестирует|отлаживает|смотрит)\b.{0,100}",
    r"(?:файл|файлы|папка|изменения|коммит|ветка)(?: [\w./-]{1,60})? (?:успешно )?(?:создан[аы]?|сохранен[аы]?|"
    r"обновлен[аы]?|записан[аы]?|удален[аы]?|отправлен[аы]?|применен[аы]?)(?: успешно)?",
    r"(?:команда|процесс) (?:успешно )?(?:выполнен[а]?|завершил(?:ся|ась)|завершен[а]?|упал[а]?)(?: (?:успешно|"
    r"с кодом \d+|с ошибкой))?",
    r"(?:баг|ошибка|проблема|опечатка) (?:уже )?(?:исправлен[а]?|решен[а]?|устранен[а]?|починен[а]?)",
    r"(?:статус|прогресс|состояние|текущая задача)\s?[:=-]\s?(?:\d{1,3} ?%|готово|в процессе|в работе|выполнено|"
    r"ожидание|ок)(?:[ ,;(].{0,40})?",
)
TRANSIENT = TRANSIENT_EN + TRANSIENT_RU
# In a log, where a state of the moment has its place.
NO_NEWS = (
    r"(?:there (?:is|are|was|were) )?(?:no|nothing)(?: new| further| other| more)? ?(?:to )?(?:report|new|"
    r"messages?|updates?|changes?|news|activity|emails?|notifications?)?(?: found| yet| today| so far|"
    r" since .{1,30})?",
    r"heartbeat(?:[_ ]?ok|: ?ok| check(?: ok)?)?|nothing (?:happened|changed)(?: today| yet)?|все без изменений",
    r"ничего нового(?: сегодня)?|нет (?:новостей|изменений|новых сообщений)|новых сообщений нет|без изменений|"
    r"ничего не (?:произошло|изменилось)",
)
# With one of these an entry says what holds beyond the moment.
LASTING = (
    r"\b(?:always|never|every|each|usually|often|must|should|because|whenever|when|if|unless|from now on|by default|"
    r"prefers?|policy|convention|before|after|всегда|никогда|каждый|каждую|каждое|каждые|обычно|нужно|должен|"
    r"должна|должны|"
    r"потому|если|когда|перед|после|по умолчанию|отныне|предпочитает)\b"
)
