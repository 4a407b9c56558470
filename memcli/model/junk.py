"""Shapes of junk, English and Russian: what tells an entry that holds nothing from one that does. Data only.

All are for folded text (lower case, е for ё) with white space collapsed. PLACEHOLDER is matched from the first character to
the last. For shapes that are looked for anywhere, each text that holds one holds a hint, which is quicker to find. Talk and
states of the moment are in model/talk.py.
"""

# --- Prompts and tools' own words

BOILERPLATE = (
    r"^act as an? .{0,40}\b(?:developer|engineer|assistant|expert|writer|translator|analyst|programmer|consultant|"
    r"teacher|tutor|reviewer)\b",
    r"^ты [—–-]? ?(?:опытный|профессиональный|старший|ведущий|лучший) .{0,30}\b(?:программист|разработчик|инженер|"
    r"эксперт|аналитик|переводчик|помощник|консультант|копирайтер)\b",
    r"^(?:system(?: prompt)?: ?)?you are (?:now )?(?:chatgpt|claude|gemini|copilot|codex|cursor|(?:an? |"
    r"the )?(?:\w+ ){0,3}(?:ai|a\.i\.|language model|llm|assistant|chatbot|coding agent|ai agent|subagent))\b",
    r"\bas an? (?:ai|artificial intelligence|large language|language) (?:language )?(?:model|assistant)\b,? (?:i|my)\b",
    r"^i(?:'m| am) (?:an? )?(?:ai|artificial intelligence|large language model|language model|ai assistant|"
    r"chatgpt|claude)\b",
    r"^(?:the )?(?:knowledge cutoff|current date|today's date|current model|image input capabilities)\s?(?::|is)\s?\S",
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
    "act as", "you are", "you have access", "you can use", "you must", "you should", "as a", "i am", "i'm",
    "knowledge cutoff", "date",
    "current model", "image input", "tools", "use the following", "system prompt", "<", "your ", "caveat", "tool", "mention",
    "reveal", "disclose", "ты", "вы", "модель", "интеллект", "ассистент", "инструменты", "задача", "системный промпт",
)  # fmt: skip

# --- A memory tool's own output (memcli's own is known by engine/echo.py)

REPLAY = (
    r"^\[(?:memory|memories|recalled|from memory)\]:? |^based on (?:our|your|my) (?:previous|past|earlier|prior|"
    r"stored)[\w, ]{0,20} (?:conversations?|chats?|sessions?|memor(?:y|ies)|interactions?)\b",
    r"^here(?:'s| is) what i (?:know|remember|have stored) about (?:you|the user)\b|^(?:known|stored|saved|user|"
    r"existing) (?:facts|memories)(?: about (?:the )?user)? ?:",
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
    "recalled",
    "based on",
    "what i",
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
    r"nothing yet|to do|todo:? (?:fill (?:this |it )?in|write|add|complete)(?: this| it| later| me)*|(?:example|"
    r"sample|dummy|test) (?:fact|entry|text|memory|note|data|value|item|content)|yyyy-mm-dd|(?:описание|текст|"
    r"данные|информация) отсутству(?:ет|ют)|не (?:указан[оаы]?|задан[оаы]?|заполнен[оаы]?)|нет (?:данных|"
    r"информации|описания)|not (?:specified|provided|mentioned|available)|mentioned in (?:the |a |"
    r"this )?(?:conversation|"
    r"chat|context|passing)|not set|not yet (?:known|defined|decided|set)|unknown yet|to be (?:determined|defined|"
    r"decided|"
    r"added|filled(?: in)?|written|done|completed|announced)|coming soon|placeholder|work in progress|empty|"
    r"no content|insert text|text here|some text|example(?: text)?|sample text|blah(?:[ ,]+blah)*|"
    r"foo(?:[ ,]?bar)?(?:[ ,]?baz)?|asdf\w*|qwerty|test(?: test)*|test(?:ing)?[ _-]?\d{1,4}(?:[ ,]\d{1,4})*|"
    r"this is a test(?: (?:memory|entry|note|fact))?|test (?:memory|entry|note|fact|value)|hello,? world|"
    r"(?:заполнить|дописать|уточнить|добавить)(?: позже| потом)?|пусто|заглушка|текст-заглушка|позже|"
    r"потом(?: допишу)?|допишу (?:позже|потом)|"
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
