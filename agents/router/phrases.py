"""How people ask for what the product does: patterns over a sentence's text, most specific first.

Owns the words in English with German, French and Spanish basics. What a pattern has taken, no later one reads; other
activities are found by their registered keywords (``keyword_pattern``).
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

CLONE: Final = "CloneRepoActivity"
ANALYZE: Final = "AnalyzeCodeActivity"
SCAN: Final = "SecurityScanActivity"
REPORT: Final = "GenerateReportActivity"
CHECK: Final = "DeploymentPreCheckActivity"
NOTIFY: Final = "NotifyStatusActivity"
ARCHIVE: Final = "ArchiveResultsActivity"
APPROVE: Final = "ApproveWorkflowActivity"
ASSUME: Final = "AssumeRoleActivity"
MEMORY: Final = "RetrieveMemoryActivity"
LLM: Final = "LLMInferenceActivity"
BATCH: Final = "LLMBatchInferenceActivity"
HTTP: Final = "HttpRequestActivity"

_ARTICLE = r"(?:(?:a|an|the|my|our|its|their|this|that|some|any|all|each|every)\s+)?"
_PEOPLE = r"(?:me|us|them|him|her|everyone|everybody|people|(?:the\s+|our\s+|my\s+)?(?:\w+\s+)?(?:team|group|lead|leads|owners?|managers?|developers?|devs|ops|channel|boss|author|maintainers?)|§e\d+|§c\d+)"
_MEDIUM = r"(?:slack|e-?mail|mail|webhook|teams|discord|§e\d+|§c\d+)"
_CODE = r"(?:code(?:base)?|repo(?:sitor(?:y|ies))?s?|projects?|app(?:lication)?s?|branch|source(?:s|\s+code)?|software|packages?|service|it|them|this|everything|§[rb]\d+)"
_GAP = r"(?:[^.,;:!?]{0,60}?)"
_THREATS = r"(?:vulnerabilit\w+|security|secrets?|passwords?|credentials?|api[\s-]?keys?|cves?|exploits?|leaks?|private\s+keys?|tokens?)"

# None: words that mean nothing here, although parts of them would.
_PATTERNS: tuple[tuple[str | None, str], ...] = (
    (None, r"\bsecurity\s+(?:team|group|officers?|leads?|channel|people|department|folks|engineers?|managers?)\b"),
    (None, r"\bmemory\s+(?:leaks?|usage|consumption|limit|footprint)\b|\bremember\s+to\b|\bdon'?t\s+forget\s+to\b"),
    (None, r"\bbug\s+reports?\b|\btest\s+(?:data|environment|server|system)s?\b|\bsafe\s+side\b"),
    (None, r"\b(?:even\s+)?(?:if|when)\s+(?:there\s+(?:is|are)\s+)?nothing\b"),
    # Approvals first: their words (sign, ok, review, wait) are common.
    (APPROVE, r"\bsign(?:ed|s|ing)?[\s-]?off\b|\bapprov\w*|\bfour[\s-]eyes\b|\bhuman[\s-]in[\s-]the[\s-]loop\b"),
    (
        APPROVE,
        (rf"\b(?:get|gets|wait\w*\s+for|ask\w*|needs?|requires?|with|after|until|have|obtain|seek)\s+(?:(?:for|{_PEOPLE}|"
        rf"someone|somebody|a\s+human)\s+){{0,2}}{_ARTICLE}(?:\w+'?s?\s+){{0,3}}(?:ok|okay|go-?ahead|green\s+light|consent|blessing|"
        rf"confirmations?|permission|decision|clearance)\b"),
    ),
    (APPROVE, r"\b(?:manual|human)\s+(?:review|check|approval|gate|step|decision|confirmation)\b"),
    (
        APPROVE,
        (r"\b(?:someone|somebody|a\s+human|a\s+person|people|persons?|reviewers?|managers?|leads?|colleagues?|both\s+\w+|i|we)\s+"
        r"(?:(?:must|has\s+to|have\s+to|needs?\s+to|should|shall)\s+)?(?:agree|confirm|consent|release|okay|say\s+(?:yes|so|ok))\w*\b"),
    ),
    (APPROVE, r"\b(?:genehmig\w*|freigabe\w*|freigeb\w*|freigegeben|bestätig\w*|zustimm\w*)\b"),
    (APPROVE, r"\bapprob\w+|\bapprouv\w+|\baprob\w+|\baprueb\w+|\baprobaci[oó]n\b|\bautoriza\w*"),
    # A role, a token.
    (ASSUME, r"\bassum\w+\s+(?:\w+\s+){0,3}?(?:role|identity)\b|\bimpersonat\w+"),
    (ASSUME, r"\b(?:get|obtain|fetch|request|acquire|issue)\s+(?:\w+\s+){0,3}?(?:access\s+)?(?:token|credentials)\b"),
    (ASSUME, r"\bauthenticat\w+|\b(?:log|sign)\s?in\s+as\b|\b(?:as|with)\s+(?:the\s+)?(?:role|identity|service\s+account)\b"),
    # Memory.
    (MEMORY, r"\b(?:lessons?(?:\s+learn\w+)?|what\s+(?:we|you)\s+(?:have\s+)?learn\w+|experiences?|knowledge)\s+(?:about|on|of|for|regarding|concerning)\s+[^.,;:!?\n§]{2,100}?(?=\s+(?:and|then|before|to|(?:in|from)\s+(?:\w+\s+)?memory)\b|[.,;:!?\n§]|$)"),
    (MEMORY, r"\blessons?\b(?:\s+learn\w+)?|\bwhat\s+(?:we|you|it)\s+(?:have\s+|has\s+)?(?:learn\w+|remember\w*|knows?)\b"),
    (MEMORY, r"\bremember\s+(?:what|how|why|when|which)\b|\brecall\b|\b(?:from|in|of|search|query|consult|check|use|ask)\s+(?:the\s+|our\s+|your\s+)?memor(?:y|ies)\b|\bmemor(?:y|ies)\b"),
    (MEMORY, r"\b(?:past|previous|prior|earlier)\s+(?:experiences?|knowledge|failures|incidents|findings)\b|\bknowledge\s+base\b"),
    (MEMORY, r"\b(?:aus\s+dem\s+gedächtnis|erfahrungen|lektionen|mémoire|leçons|memoria|lecciones)\b"),
    # Models.
    (BATCH, r"\b(?:batch\s+(?:of\s+)?(?:inference|prompts?|questions)|(?:each|all|every)\s+of\s+(?:these|the(?:se)?\s+following)\s+(?:\w+\s+)?(?:prompts?|questions|texts)|these\s+(?:\w+\s+)?(?:prompts|questions)|several\s+prompts|prompts\b)"),
    (
        LLM,
        (r"\b(?:ask|let|have|use|using|with|by|through|query|prompt|call)\s+(?:an?\s+|the\s+|our\s+|some\s+)?(?:[\w.:-]+\s+)?"
        r"(?:llm(?!:)|language\s+model|ai(?:\s+model)?|model|gpt[\w.-]*|chat\s?gpt|claude[\w.-]*|qwen[\w.:-]*|ornith[\w.:-]*|reasoning\s+model)\b"),
    ),
    (LLM, r"\b(?:llm(?!:)|gpt-?\d?|chat\s?gpt|ki\b|language\s+model|sprachmodell|ia\b|modèle\s+de\s+langage)\b|\bthe\s+model\b|\bai[\s-](?:summary|review|generated)"),
    (LLM, r"\b(?:explain|translate|classify|rephrase|paraphrase|draft|brainstorm|suggest)\s+(?!it\s+to\s+me)\w+"),
    (LLM, rf"\bsummari[sz]e\s+{_ARTICLE}(?:text|answer|response|page|document|body|article|content|§[qu]\d+)\b"),
    # Security before analysis and tests, which share words with it.
    (SCAN, rf"\b(?:analy[sz]\w*|check\w*|search\w*|look\w*|review\w*|inspect\w*|scan\w*|hunt\w*|test\w*|examin\w*)\s+{_GAP}\bfor\s+(?:\w+\s+){{0,3}}?{_THREATS}\b"),
    (SCAN, rf"\bfor\s+(?:\w+\s+){{0,3}}?{_THREATS}\b"),
    (SCAN, r"\b(?:security|vulnerability)[\s-](?:scan\w*|check\w*|audit\w*|review\w*|test\w*|analys[ei]s|issues?|problems?|holes?|risks?|flaws?|findings?|reports?(?=\s+(?:for|of|on|about)))"),
    (SCAN, r"\banaly[sz]e\s+(?:the\s+)?security\b|\bpen(?:etration)?[\s-]?tests?\w*"),
    (SCAN, r"\b(?:leaked|hard-?coded|committed|exposed|checked[\s-]in|plain[\s-]?text)\s+(?:secrets?|passwords?|keys?|credentials?|tokens?)\b"),
    (SCAN, r"\b(?:find|detect|catch|spot)\s+(?:any\s+|all\s+|the\s+)?(?:secrets?|passwords?|credentials?|api\s+keys?|security)\b"),
    (SCAN, r"\bsecurity\b|\bvulnerab\w+|\bcves?\b|\bexploits?\b|\bscan(?:s|ned|ning|ner)?\b|\baudit(?:s|ed|ing)?\b(?!:)|\bsecure\b|\binsecure\b|\bunsafe\b"),
    (SCAN, r"\b(?:sicherheit\w*|schwachstelle\w*|sicherheitslücken|scanne?n?|gescannt)\b"),
    (SCAN, r"\bs[eé]curit[eé]\b|\bvuln[eé]rabilit\w+|\bscanner?\w*|\bseguridad\b|\bvulnerabilidad\w*|\bescane\w*|\bfailles?\b"),
    # Sending and posting before reports, whose verb is theirs too.
    (NOTIFY, rf"(?<!\bthe )(?<!\ba )(?<!\ban )(?<!\bmy )(?<!\bthis )(?<!\bthat )(?<!\bhtml )(?<!\bjson )\breport\w*\s+(?:(?:back|it|them|that|this|any\s+\w+|all\s+\w+|the\s+(?:result|outcome|status|findings)s?|problems?|failures?|errors?|success)\s+){{0,2}}(?:to|via|by|on|in|through)\s+(?:the\s+)?(?:{_MEDIUM}|{_PEOPLE})"),
    (NOTIFY, r"\bnotif\w*|\binform(?:s|ed|ing)?\s+(?!ation)|\balert(?:s|ed|ing)?\b|\bannounce\w*|\bping\s+(?:me|us|the\s+\w+|§[ec]\d+)\b"),
    (NOTIFY, r"\blet\s+(?:\w+\s+){1,3}?know\b|\btell\s+(?:me|us|them|everyone|everybody|people|the|§[ec]\d+|slack)\b|\bwarn\s+(?:me|us|them|the)\b"),
    (NOTIFY, rf"\b(?:e-?mail|mail|slack|message|text|dm)\s+(?={_PEOPLE}|it\b|a\s|the\s|results?|outcome|§e)"),
    (NOTIFY, rf"\b(?:send|post|write|drop|shoot|deliver|forward|push|publish|share)\w*\s+(?!§q)(?=(?:[^.;:!?§]|§(?![spur])){{0,60}}?\b(?:to|in|on|into|via|by|through|over)?\s*(?:the\s+)?(?:our\s+)?{_MEDIUM})"),
    (NOTIFY, rf"\b(?:send|write|drop|shoot)\s+(?:{_PEOPLE}|§e\d+)\s"),
    (NOTIFY, r"\b(?:send|post|write)\s+(?:an?\s+|the\s+)?(?:\w+\s+)?(?:message|notification|alert|e-?mail|mail|update)s?\b"),
    (NOTIFY, rf"\b(?:by|via|over|per|through|on|in|using|to|into)\s+(?:the\s+|our\s+|an?\s+)?{_MEDIUM}"),
    (NOTIFY, r"\b(?:slack|e-?mail|mail)\s+(?:message|notification|alert|update)s?\b|\bcall\s+(?:the\s+|our\s+|a\s+)?webhook\b|\bwebhook\b"),
    (NOTIFY, r"\b(?:benachrichtig\w*|informier\w*|schick\w*|sende\w*|mail(?:e|en|t)|melde\s+(?:\w+\s+)?(?:mir|uns|dich)|sag\s+(?:mir|uns)|gib\s+bescheid)\b"),
    (NOTIFY, r"\b(?:préviens|prévenir|prévenez|avertis\w*|envoie\w*|envoyer|informe-moi|informez)\b|\bnotifie\w*"),
    (NOTIFY, r"\b(?:notif[ií]ca\w*|av[ií]sa\w*|env[ií]a\w*|m[aá]nda\w*)\b"),
    # Archives.
    (ARCHIVE, r"\barchiv\w*|\bback(?:ed|s)?[\s-]?up\b|\bkeep\s+a\s+copy\b|\bupload\w*"),
    (
        ARCHIVE,
        (r"\b(?:stor|sav|keep|cop|put|push|plac|writ|mov|deposit|dump|send|transfer|drop|publish|deliver)\w*\s+(?:[^.;:!?§]|§(?![euc])){0,60}?"
        r"\b(?:in|to|into|on|at|under)\s+(?:the\s+|our\s+|a\s+)?(?:§[sp]\d+|s3|(?:\w+\s+)?bucket|gcs|minio|(?:cloud\s+|object\s+)storage|(?:the\s+)?archive)"),
    ),
    (ARCHIVE, r"§s\d+"),
    (ARCHIVE, r"\b(?:archivier\w*|speicher\w*|ablegen|lege\s+\w+\s+\w+\s+ab|hochladen|sauvegard\w+|stocke\w*|guarda\w*|sube\b|subir)\b"),
    # Reports.
    (REPORT, r"\breport(?:s|ing)?\b|\bwrite[\s-]?up\b|\bsummary\b|\b(?:html|markdown|json|md)\s+(?:document|file|page|overview)\b|\boverview\b"),
    (REPORT, rf"\b(?:summari[sz]e|document|write\s+up|write\s+down|compile)\s+{_ARTICLE}(?:results?|findings?|outcomes?|issues|everything|problems)\b"),
    (REPORT, r"\bas\s+(?:an?\s+)?(?:html|markdown|json)\b|\b(?:bericht\w*|zusammenfassung|rapport|informe|reporte|résumé|resumen)\b"),
    # Analysis.
    (ANALYZE, r"\banaly[sz]\w*|\bcode[\s-]?(?:quality|reviews?|metrics|smells?|health|inspection)\b|\bstatic\s+analysis\b|\btechnical\s+debt\b|\bcomplexity\b|\bmaintainab\w+"),
    (ANALYZE, rf"\b(?:quality)\b(?!\s+gate)|\bhow\s+(?:good|bad|clean|healthy|complex)\s+(?:is|are)\b|\b(?:review|inspect|assess|evaluate|rate|measure|examine)\w*\s+{_ARTICLE}(?:\w+\s+){{0,3}}?{_CODE}"),
    (ANALYZE, r"\b(?:analysier\w*|codequalität|qualität|code-?qualität|analyse[zr]?|qualité|anali[cz]\w*|análisis|calidad)\b|\bquality\s+gate\b|\bbad\s+code\b|\bcode\s+issues\b"),
    # Checks before a deployment.
    (CHECK, r"\bpre-?(?:deploy\w*|flight|release)?[\s-]?checks?\b|\bdeploy(?:s|ed|ing|ments?|able)?\b|\breadiness\b|\bready\s+(?:to|for)\s+(?:be\s+)?(?:go|ship|releas|production|prod|live|roll|deploy)\w*"),
    (CHECK, r"\b(?:run|runs|execute|do|perform|rerun|start)\w*\s+(?:all\s+)?(?:of\s+)?(?:the\s+|its\s+|our\s+|my\s+)?(?:\w+\s+){0,2}?tests?\b(?:\s*suites?)?|\btest[\s-]?suites?\b|\bunit[\s-]?tests?\b|\bintegration\s+tests?\b"),
    (CHECK, rf"\btests?\s+(?:still\s+)?(?:pass\w*|succeed\w*|are\s+green|run\w*|fail\w*|break\w*)\b|\btest\s+{_ARTICLE}(?:\w+\s+){{0,2}}?{_CODE}|\btest(?:s|ed)?\b(?!\s+(?:message|mail|e-?mail|notification|run\b|workflow))"),
    (CHECK, rf"\bbuilds?\s+{_ARTICLE}(?:\w+\s+)?{_CODE}|\b(?:still\s+|it\s+|project\s+|code\s+|that\s+it\s+)builds?\b|\bthe\s+build\b|\bcompil(?:e|es|ed|ing)\b|\bbuild\s+(?:check|passes|works|succeeds)\b"),
    (CHECK, r"\blint(?:s|er|ers|ed|ing)?\b|\bbuild\b(?!\s+(?:me|us|a|an|the|my)\b)|\b(?:baue?t?|teste?n?|tests|kompilier\w*|déploi\w+|compiler?|pruebas|desplieg\w+|desplegar|compila\w*)\b"),
    # The code itself.
    (CLONE, rf"\bclon(?:e|es|ed|ing)\b|\b(?:check(?:s|ed)?\s?out|fetch(?:es)?|pull(?:s|ed)?|get|gets|download|grab)\s+{_ARTICLE}(?:\w+\s+){{0,2}}?(?:{_CODE}|§r\d+)\b"),
    (CLONE, r"\b(?:klon\w*|hol\w*\s+(?:\w+\s+)?repo\w*|clona\w*|cloner?|récupère\w*)\b"),
    # Requests to addresses that are no repositories.
    (HTTP, r"\b(?:call|hit|request|fetch|get|post|put|delete|patch|head|query|invoke|poll|ping|download|check|probe|trigger|visit|open|read|load|curl|test|send|push|submit)\w*\s+(?:[^.;!?§]|§(?!u)){0,60}?§u\d+"),
    (HTTP, r"\b(?:is|are)\s+§u\d+\s+(?:up|down|reachable|alive|available|online|working|there)\b"),
    (HTTP, r"\b(?:(?:über)?prüf\w*|rufe?|frage?|teste?|lade|hole?|vérifi\w+|appel\w+|comprueba\w*|verifica\w*|llama\w*)\s+(?:[^.;!?§]|§(?!u)){0,60}?§u\d+"),
    (HTTP, r"§u\d+\s+(?:is|are|still|answers?|responds?|returns?|works?)\b|\bhttps?\s+requests?\b|\bapi\s+call\b"),
)  # fmt: skip


@cache
def patterns() -> tuple[tuple[str | None, re.Pattern[str]], ...]:
    """Return the patterns in the order in which they are to be tried, each with its activity (None: it means none)."""
    return tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _PATTERNS)


@cache
def keyword_pattern(name: str, keywords: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what finds an activity that the table above does not know: its keywords, or all the words of its name."""
    phrases = list(keywords)
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name.removesuffix("Activity"))
    if len(words) > 1:
        phrases.append(" ".join(words))
    patterns = [_phrase(phrase.split()) for phrase in phrases if phrase.strip()]
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def known_names() -> frozenset[str]:
    """Return the names of the activities that the table knows."""
    return frozenset(name for name, _ in _PATTERNS if name)


def _phrase(words: Iterable[str]) -> str:
    """The words in their order, each in its inflections, with an article or two between them."""
    return r"\b" + r"\s+(?:(?:the|a|an|my|our|its|this|all)\s+)?".join(map(_inflected, words)) + r"\b"


def _inflected(word: str) -> str:
    stem = re.escape(word.lower().removesuffix("e"))
    return rf"{stem}(?:e|es|s|ed|d|ing|er|ion|ions|ation)?" if len(word) > 3 else re.escape(word)
