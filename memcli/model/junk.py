"""Shapes of junk, English and Russian: what tells an entry that holds nothing from one that does. Data only.

All are for folded text (lower case, е for ё) with white space collapsed. Those of whole sentences are matched from the
first character to the last, so that a sentence that goes on to say something is none of them.
"""

# --- Said to be polite, or to fill a turn

_SAID = r"(?:said|says|wrote|replied|responded|answered|greeted|typed)"
_HI = (
    r"(?:hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|night)|greetings|bye|goodbye|see you|thanks|thank you|"
    r"thx|ok|okay|yes|no|cool|nice|lol|great)"
)
CHATTER_EN = (
    rf"{_HI}(?:,? (?:there|all|everyone|again|team|so much|very much|a lot|claude|assistant|chatgpt))*",
    rf"(?:the )?(?:user|assistant|human|agent) (?:just )?{_SAID}(?: to (?:me|us|the assistant|"
    rf"the user))?:? ?[\"'«“]?{_HI}(?: there| again)?[\"'»”]?",
    r"(?:the )?(?:user|assistant|human) (?:greeted|thanked)(?: (?:me|us|the (?:assistant|user|agent|"
    r"model)))?(?: (?:again|back|for .{1,40}))?",
    r"(?:the )?user (?:expressed|showed|conveyed) (?:gratitude|thanks|appreciation|satisfaction|"
    r"frustration)(?: (?:with|for|to|about) .{1,60})?",
    r"(?:the )?user (?:is|was|seems|seemed) (?:happy|satisfied|pleased|grateful|thankful)(?: (?:with|for|"
    r"about) (?:the|my|this|that) (?:answer|reply|response|result|help|explanation|solution|fix))?",
    r"(?:the )?(?:user|assistant) (?:acknowledged|confirmed|agreed|understood)(?: (?:it|that|this|the (?:message|"
    r"reply|answer)))?",
    r"(?:sure|certainly|absolutely|of course|definitely|gladly|no problem|no worries|you(?:'re| are) welcome|"
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
    r"download|upload|install(?:ation)?|compilation|type ?check|backup|release)"
)
_AGENT = r"(?:the )?(?:agent|assistant|claude|model) is"
# Said by an agent of itself: a person who says "I'm reading" reads a book.
_MATTER = (
    r"(?:files?|code|codebase|config|configuration|logs?|errors?|tests?|build|function|module|repo|repository|"
    r"issue|output|"
    r"script|command|request|response|page|documentation|docs|results?|bug|pull request|pr|diff)"
)
TRANSIENT_EN = (
    r"(?:the |this |my |our |all |current )*(?:task|step|todo|job|work|subtask|ticket|request|phase|"
    rf"milestone)s?(?: #?[\w-]{{1,12}})? {_BE}(?:done|complete|completed|finished|in progress|pending|started|"
    r"underway|ongoing)(?: now| today| successfully)?",
    rf"(?:the |all |unit |integration |our |new )*{_THINGS}(?: suite| job| run)? {_BE}(?:running|passing|passed|"
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
    r"unchanged|processing|loading|idle|running|task done|job done)",
    r"(?:ok(?:ay)?,? |now,? )?(?:i will|i'll|let me|i am going to|i'm going to|about to) (?:now |first |then |"
    r"next |just |also )*(?:check|read|look|run|see (?:if|what|how|why|whether)|start|open|fix|try|continue|"
    r"create|update|write|search|"
    r"implement|examine|add|review|test|take a look)\b.{0,160}",
    r"(?:the )?(?:session|conversation|chat)(?: [\w#-]{1,40})? (?:was |has |is |been |just )*(?:started|ended|"
    r"resumed|compacted|cleared|over|closed|saved|restored)\b.{0,40}",
    r"(?:the )?user (?:just |has |has just |then |now )*(?:asked|requested|told)(?: me| us| the assistant| claude|"
    r" for help)? to (?:fix|run|check|look|open|read|debug|list|show|explain|summari[sz]e|continue|proceed|commit|"
    r"push|retry|try again|rerun|restart|undo|generate|print)\b.{0,120}",
    r"(?:the )?user (?:just |has |has just |is |then |now )*(?:asked|asking|inquired|inquiring|asks) (?:me |us |"
    r"the assistant )?(?:about|what|why|how|whether|where|when|if|who|which|for the time|for help with)\b.{0,120}",
    r"(?:the )?user (?:is|was) (?:currently |now |just )*(?:looking at|reading|waiting|typing|online|away|testing|"
    r"debugging)\b.{0,100}",
    r"(?:there (?:is|are|was|were) )?(?:no|nothing)(?: new| further| other| more)?(?: to)? (?:report|new|"
    r"messages?|updates?|changes?|news|errors?|activity|emails?|notifications?)(?: found| yet| today| so far|"
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

# --- Prompts and tools' own words

BOILERPLATE = (
    r"^(?:system(?: prompt)?: ?)?you are (?:now )?(?:chatgpt|claude|gemini|copilot|codex|cursor|(?:an? |"
    r"the )?(?:\w+ ){0,3}(?:ai|a\.i\.|language model|llm|assistant|chatbot|coding agent|ai agent|subagent))\b",
    r"\bas an? (?:ai|artificial intelligence|large language|language) (?:language )?(?:model|assistant)\b,? (?:i|my)\b",
    r"^i(?:'m| am) (?:an? )?(?:ai|artificial intelligence|large language model|language model|ai assistant|"
    r"chatgpt|claude)\b",
    r"^(?:knowledge cutoff|current date|today's date|current model|image input capabilities)\s?(?::|is)\s?\S",
    r"\byou have access to the following (?:tools|functions)|^(?:here are the )?(?:available|allowed) tools ?:|"
    r"^you can use the following tools|^use the following (?:tools|format)\b",
    r"^(?:the )?system prompt (?:says|states|is|instructs|tells)\b|^system prompt ?:",
    r"<(?:system-reminder|system_prompt|system|function_calls|function_results|tool_use|tool_result|antml:[a-z_]+|"
    r"command-name|local-command-stdout|environment_details|user_instructions|environment_context)>",
    r"<\|(?:im_start|im_end|start_header_id|end_header_id|eot_id|endoftext)\|>",
    r"^your (?:task|job|role|goal) (?:is|will be) to (?:assist|help|act|answer|respond|be)\b",
    r"^caveat: the messages below were generated",
    r"\bthe tool (?:call )?(?:has )?(?:returned|result)\b.{0,40}\bsuccessfully\b|^tool (?:call|result|output|"
    r"use)\b ?:|^(?:calling|invoking|using) (?:the )?tool\b",
    r"^you (?:must|should) (?:always |never )?(?:respond|reply|answer) (?:only )?(?:in|with|as|"
    r"to)\b.{0,80}\b(?:json|assistant|user's (?:question|query|request)|helpful)\b",
    r"^(?:do not|don't|never) (?:mention|reveal|disclose) (?:this|these|that|your) (?:to the user|instructions|"
    r"system prompt|prompt|reminder)",
    r"^(?:ты|вы) ?[—–-]? ?(?:теперь )?(?:полезный |умный |опытный |дружелюбный |виртуальный |ии-|"
    r"ai-)*(?:ассистент|ии|искусственный интеллект|чат-?бот|языковая модель|ии-агент|нейросеть|помощник-ии)\b",
    r"^(?:я ?[—–-]? ?(?:это )?(?:языковая модель|искусственный интеллект|ии-ассистент|большая языковая модель)|"
    r"как (?:большая )?языковая модель,? я)\b",
    r"^(?:тебе|вам) доступны (?:следующие )?инструменты|^доступные инструменты ?:",
    r"^(?:твоя|ваша) задача ?[—–:-] ?(?:помогать|отвечать|быть|действовать)",
    r"^системный промпт ?(?::|гласит|говорит)",
)
BOILERPLATE_HINTS = (
    "you are", "you have access", "you can use", "you must", "you should", "as a", "i am", "i'm", "knowledge cutoff", "date",
    "current model", "image input", "tools", "use the following", "system prompt", "<", "your ", "caveat", "tool", "mention",
    "reveal", "disclose", "ты", "вы", "модель", "интеллект", "ассистент", "инструменты", "задача", "системный промпт",
)  # fmt: skip

# --- A memory tool's own output (memcli's own is known by engine/echo.py)

REPLAY = (
    r"^(?:here (?:is|are)|the following|these are|below are|relevant|retrieved|recalled|\d+ relevant) (?:(?:is|"
    r"are|the|some|your|my|relevant|recalled|retrieved|stored|saved|past|previous|user) )*(?:memories|"
    r"memory entries|context from memory)\b.{0,60}:",
    r"^\[?(?:memory context|recalled memor(?:y|ies)|relevant memor(?:y|ies)|retrieved memor(?:y|ies)|"
    r"memories retrieved)\]?\s?:",
    r"<(?:relevant[_-]memor(?:y|ies)|memories|memory[_-]context|retrieved[_-]memor(?:y|ies)|claude-mem-context|"
    r"mem0[_-]context|supermemory-context|user_memor(?:y|ies)|recalled[_-]memor(?:y|ies)|hindsight_memories|"
    r"memory_blocks?)\b[^>]{0,80}>",
    r"^=== (?:устойчивые факты|контекст прошлых сессий|рабочая память) ===",
    r"^i (?:remember|recall|have stored|found in (?:my )?memory) (?:the following|that you (?:said|told me)|"
    r"these (?:facts|things))\b",
    r"^(?:memory|fact|memories|preference|information) (?:\S{1,40} )?(?:has been |have been |was |"
    r"were )?(?:successfully )?(?:saved|stored|added|updated|remembered)(?: successfully| to memory| in memory|"
    r" for later)?[.!]?$",
    r"^(?:saved|stored|added|updated|wrote)(?: (?:it|this|that|\d+ \w+))? (?:to|in|into) (?:long-term |the |your |"
    r"my )*memory[.!]?$",
    r"^(?:no|0) (?:relevant )?memories (?:were )?(?:found|retrieved|stored)\b",
    r"^(?:вот что я помню|релевантные воспоминания|найденные воспоминания|из памяти)\b.{0,60}:",
    r"^(?:сохранено|записано|добавлено) в память[.!]?$|^память (?:успешно )?обновлена[.!]?$",
)
REPLAY_HINTS = (
    "memor",
    "fact",
    "preference",
    "information",
    "<",
    "===",
    "i re",
    "i have stored",
    "i found",
    "памят",
    "воспоминания",
    "помню",
)

# --- What waits to be filled in

_FILL = (
    r"(?:todo|tbd|tba|tbc|fixme|xxx+|n\.? ?n\.?|\?{2,}|\.{3,}|…+|_{3,}|-{3,}|null|undefined|nan|none yet|"
    r"nothing yet|not (?:specified|provided|mentioned|available)|mentioned in (?:the |a |this )?(?:conversation|"
    r"chat|context|passing)|not set|not yet (?:known|defined|decided|set)|unknown yet|to be (?:determined|defined|"
    r"decided|"
    r"added|filled(?: in)?|written|done|completed|announced)|coming soon|placeholder|work in progress|empty|"
    r"no content|insert text|value|text here|some text|example(?: text)?|sample text|blah(?:[ ,]+blah)*|"
    r"foo(?:[ ,]?bar)?(?:[ ,]?baz)?|asdf\w*|qwerty|test(?:ing)?(?:[ _-]?\d{1,4}(?:[ ,]\d{1,4})*)?|"
    r"this is a test(?: (?:memory|entry|note|fact))?|test (?:memory|entry|note|fact|value)|hello,? world|"
    r"заполнить|дописать|уточнить|пусто|заглушка|текст-заглушка|позже|потом(?: допишу)?|допишу (?:позже|потом)|"
    r"дописать (?:позже|потом)|будет (?:позже|дополнено)|в разработке|здесь будет .{1,40}|тут будет .{1,40}|"
    r"пример(?: текста)?|тест(?:[ _-]?\d{1,4}(?:[ ,]\d{1,4})*)?|проверка|тестовая (?:запись|заметка)|"
    r"тестовый (?:факт|текст)|это тест(?:овая запись)?)"
)
PLACEHOLDER = (
    rf"(?:[\w ]{{1,40}}: ?)?[\[(<{{]*{_FILL}[\])>}}]*",
    r"(?:[\w ]{1,40}: ?)?[\[<{(]+ ?(?:your|insert|enter|add|fill|write|put|describe|name of|the name|ваш[ае]?|"
    r"ваше|впишите|укажите|введите|добавьте|опишите|имя|date saved|date|memory content|placeholder|todo|title|"
    r"short title|tbd)\b[^\]>})]{0,80}[\]>})]+(?: ?- ?.{0,60})?",
    r"(?:[\w ]{1,40}: ?)?(?:insert|enter|add|fill in|write|put|describe) (?:your |the |a |an |some )?.{1,60} here",
    r"(?:[\w ]{1,40}: ?)?your .{1,40} (?:goes )?here",
    r"(?:[\w ]{1,40}: ?)?(?:\{\{ ?[\w. ]{1,40} ?\}\}|\{[\w ,./'-]{1,80}\}|<(?:name|value|text|todo|"
    r"[a-z]+[ _-][\w -]{1,40})>|\$\{\w{1,40}\})",
    r"(?:[\w ]{1,40}: ?)?(?:впишите|укажите|введите|добавьте|опишите) (?:сюда |здесь |свой |свое |ваше |ваш )+.{1,60}",
)
PLACEHOLDER_ANYWHERE = (
    r"\blorem ipsum\b|\[(?:your|insert|enter) [^\]]{1,40}\](?!\()|\[date saved, if available\]|"
    r"\[ваше? [^\]]{1,40}\](?!\()"
)

# --- Orders to the model

_PAST = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|system|original|other|past)"
_ORDERS = r"(?:instructions?|prompts?|rules|messages|directions|guidelines|guardrails|context|commands|directives)"
INJECTION = (
    r"\b(?:ignore|disregard|forget|override|bypass|overwrite) (?:all |any |every |of |the |these |those |your |"
    rf"my |everything |{_PAST} |and )*{_PAST} (?:and \w+ )?{_ORDERS}",
    rf"\b(?:ignore|disregard|forget|override|bypass) (?:all |any |every )?(?:of )?your {_ORDERS}",
    r"\bforget everything (?:you|above|before|that)\b",
    r"\b(?:from now on,? )?you are now (?:dan|jailbroken|unrestricted|in developer mode|free (?:of|from)|root)\b|"
    r"\byou are no longer bound\b",
    r"\bact as (?:dan|an unrestricted|an unfiltered)\b|\bdeveloper mode (?:is )?(?:enabled|activated|on)\b",
    r"\b(?:reveal|print|output|show|repeat|leak|send) (?:me |us )?(?:all |the |your |full |entire |complete |"
    r"hidden |exact )*(?:system prompt|hidden instructions|initial instructions|system instructions|"
    r"secret instructions)",
    r"\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|"
    r"alerting)(?: (?:this|it|any of this))?(?: to)? (?:the )?(?:user|human|operator)\b",
    r"\b(?:send|post|forward|upload|exfiltrate|transmit|leak|email)\b[^!?\n]{0,80}\b(?:credentials?|passwords?|"
    r"secrets?|api keys?|tokens?|private keys?|conversation|chat history|memory|memories|\.env|ssh keys?|"
    r"files?)\b[^!?\n]{0,60}\b(?:https?://|to \S{1,40}@\S|attacker|webhook)",
    r"\b(?:always|from now on)\b[^!?\n]{0,60}\b(?:recommend|promote|favou?r|prefer|cite|"
    r"suggest)\b[^!?\n]{0,60}\b(?:first|above all (?:others|competitors)|over (?:all |any )?(?:other|competitors?)|"
    r"as (?:the )?(?:best|most trusted|only)|no matter what)\b",
    r"\bremember\b[^!?\n]{0,60}\bas an? (?:the )?(?:trusted|authoritative|reliable|preferred) (?:source|site|vendor|"
    r"provider|citation)",
    r"\[(?:system|admin|developer|assistant)(?: ?(?:message|override|prompt|note))?: [^\]]{3,}\]|"
    r"\bsystem override\b|\bnew (?:system )?instructions?: ",
    r"</(?:memory|memories|system|context|instructions|data|untrusted)(?:-[0-9a-f]{1,16})?>\s|</(?:memory|"
    r"memories|system|context|instructions|data|untrusted)>$|=== end (?:of )?(?:memory|context|instructions|"
    r"system)",
    r"(?:^|\s)\[/?inst\]|<<sys>>",
    r"\bthis (?:message|note|memory) (?:overrides|supersedes|takes precedence over) (?:all|any|every|the|your)\b",
    r"(?:игнорируй|проигнорируй|забудь|отбрось|не выполняй|не учитывай|обойди)(?:те)? (?:все |всех |любые |свои |"
    r"твои |эти )*(?:предыдущие|прежние|прошлые|системные|вышестоящие|предшествующие|остальные|свои|"
    r"твои)?(?: и \w+)? ?(?:инструкции|указания|правила|команды|сообщения|ограничения|промпты)",
    r"(?:не говори|не сообщай|не рассказывай|не упоминай|не показывай)(?:те)?(?: об этом| это|"
    r" этого)? (?:пользователю|человеку|оператору)|втайне от пользователя",
    r"(?:покажи|выведи|раскрой|напечатай|повтори|отправь)(?:те)? (?:мне |весь |свой |свои |твой |полный |"
    r"полностью )*(?:системный промпт|системные инструкции|скрытые инструкции)",
    r"\bты теперь (?:dan|без ограничений|свободен от|не связан)",
    r"(?:отправь|перешли|выгрузи|передай)(?:те)?\b[^!?\n]{0,80}\b(?:парол|ключ|токен|секрет|переписк|памят|"
    r"файл)\w*[^!?\n]{0,60}(?:https?://|\S@\S)",
)
# Who writes about such orders does not give them.
ABOUT_INJECTION = (
    r"\b(?:inject\w*|attacks?|attackers?|phrases?|detect\w*|test(?:s|ed|ing)?|filter\w*|block\w*|such as|"
    r"for example|e\.g\.|like|jailbreak\w*|refuse\w*|инъекц\w*|атак\w*|фраз\w*|фильтр\w*|провер\w*|например|вроде|"
    r"блокир\w*)\b"
)
INJECTION_HINTS = (
    "ignore", "disregard", "forget", "override", "bypass", "overwrite", "you are", "act as", "developer mode", "prompt",
    "instruction", "tell", "inform", "mention", "notify", "alert", "send", "post", "forward", "upload", "exfiltrate",
    "transmit", "leak", "email", "always", "from now on", "remember", "[system", "[admin", "[developer",
    "[assistant", "system override",
    "</", "===", "inst]", "<<sys", "supersedes", "precedence", "игнорируй", "забудь", "отбрось", "не выполняй", "не учитывай",
    "обойди", "не говори", "не сообщай", "не рассказывай", "не упоминай", "не показывай", "втайне", "инструкции", "промпт",
    "ты теперь", "отправь", "перешли", "выгрузи", "передай",
)  # fmt: skip

# --- Relative dates

_WEEKDAYS = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_WEEKDAYS_RU = r"(?:понедельник|вторник|среду|четверг|пятницу|субботу|воскресенье)"
RELATIVE = (
    r"\b(?:the day after tomorrow|the day before yesterday|tomorrow|yesterday|tonight|today)\b(?!'s)",
    rf"\b(?:next|last|this|this coming|this past) (?:week|month|quarter|year|weekend|night|{_WEEKDAYS})\b",
    r"\bthis (?:morning|afternoon|evening)\b|\b(?:a few|a couple of|several|two|three|\d{1,3}) (?:days?|weeks?|"
    r"months?|hours?|minutes?) ago\b|\b(?:a|an) (?:week|month|hour|day) ago\b",
    r"\b(?:послезавтра|позавчера|завтра|вчера|сегодня)\b",
    r"\bна (?:этой|следующей|прошлой|той) неделе\b|\bв (?:этом|следующем|прошлом) (?:месяце|году|квартале)\b",
    rf"\bв (?:этот|эту|это|следующий|следующую|следующее|прошлый|прошлую|прошлое) {_WEEKDAYS_RU}\b",
    r"\b(?:\d{1,3}|пару|несколько|два|две|три|неделю|месяц) ?(?:дня|дней|недели|недель|месяца|месяцев|часа|часов|"
    r"минут)? назад\b",
)
RELATIVE_HINTS = (
    "tomorrow", "yesterday", "tonight", "today", "next ", "last ", "this ", " ago", "завтра", "вчера", "сегодня", "недел",
    "месяц", "год", "квартал", "этот", "эту", "это ", "следующ", "прошл", "назад",
)  # fmt: skip
# Such words in a rule, a habit or a quotation are no dates.
HABITUAL = (
    r"\b(?:every|each|always|usually|never|daily|weekly|monthly|whenever|whoever|when|if|policy|older than|"
    r"retention|keep|"
    r"kept|expires?|"
    r"until|by default|as of today|of the month|at the latest|word|words|phrase|каждый|каждую|каждое|каждые|"
    r"всегда|обычно|никогда|"
    r"ежедневно|еженедельно|если|когда|старше|хранить|хранятся|слово|слова)\b"
)

# --- Raw output

TRACE = (
    r"traceback \(most recent call last\)",
    r"(?m)^\s*file \"[^\"\n]{1,200}\", line \d+, in ",
    r"(?m)^\s+at [\w.$<>\[\] ]{1,120}\([^)\n]{0,160}:\d+(?::\d+)?\)",
    r"(?m)^goroutine \d+ \[",
    r"(?m)^thread '[^'\n]{1,60}' panicked at",
    r"(?m)^diff --git a/|^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@",
    r"(?m)^caused by: [\w.]{5,}",
)
TRACE_HINTS = ("traceback", "line ", "at ", "at\t", "goroutine", "panicked", "diff --git", "@@", "caused by")
LOG_LINE = (
    r"\s*(?:\[?\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d)?[^\s]*\]?|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?|"
    r"[a-z]{3} {1,2}\d{1,2} \d\d:\d\d:\d\d|\[?(?:debug|info|warn(?:ing)?|error|fatal|trace)\]?:? |npm (?:warn|"
    r"err!|notice)|\d{1,3}(?:\.\d{1,3}){3} - - \[)"
)
