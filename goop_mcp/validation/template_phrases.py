"""The words of templates as data: names of slots, words of choices, prose.

All of it is in lower case, with white space folded and no punctuation at the end. Families add the
prose of their templates; the general part is common to all of them.
"""

from typing import Final

from goop_mcp.structs import DataStruct

__all__ = [
    "ACTS",
    "AGENT_REQUEST_PROSE",
    "CHOSEN",
    "COUNTED",
    "DESCRIBED",
    "FACTORY_PROSE",
    "GOOP_REPORT_PROSE",
    "HELD",
    "HOLDERS",
    "LISTED",
    "MARKED",
    "MARKUP_NAMES",
    "MODIFIERS",
    "NOTHING",
    "NO_SLOT",
    "NO_SLOT_IN",
    "NUMBERED",
    "NUMBERS",
    "OPEN_NAMES",
    "ORDERS",
    "PHRASES",
    "ROUTE_PARAMETERS",
    "SECTIONS_PROSE",
    "SHAS",
    "SLOT_NAMES",
    "SPECKIT_PROSE",
    "SUBJECTS",
    "TYPE_NAMES",
    "WRITTEN_TYPES",
    "Prose",
    "words",
]


class Prose(DataStruct, frozen=True, eq=False):
    """The prose of one family's templates: whole values.

    `kept` are those that good examples of the family contain as well. `orders`: the envelope asks
    another agent for work, so that text asking for a summary is what it is meant for.
    """

    phrases: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    orders: bool = False


def words(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(text.split())


def _lines(text: str) -> frozenset[str]:
    return frozenset(line.strip() for line in text.split("\n") if line.strip())


# Whole values that say nothing in any protocol

PHRASES: Final = (
    _lines("""
        todo
        tbd
        tba
        tbc
        fixme
        xxx
        xxxx
        to be determined
        to be decided
        to be defined
        to be filled in
        fill in
        fill me in
        fill this in
        placeholder
        placeholder text
        replace me
        replace this
        change me
        changeme
        lorem ipsum
        none | blocker description
        none | description of blocker
        none | decision needed
        goop-[type]
        /goop-[command]
        w[wave].t[task]
        command: result
        commit message
        short title
        short description
        what went wrong
        description of what went wrong
        what could go wrong
        what is wrong
        what is wrong and why it matters
        why it failed
        why this is important
        brief summary
        brief description
        summary here
        description here
        none or description of blocker
        none, or description of blocker
        none or blocker description
        none, or blocker description
        fill me
        fill_me
        fill_in
        fill_me_in
        replace_me
        change_me
        insert_summary_here
        your_summary
        your_summary_here
        to be filled
        to be added
        to be written
        to be completed
        tbd later
        write 1-2 sentences
        placeholder text here
        one sentence summary
        one-sentence summary
        one-line summary
        description of the change
        wn.tm
        wn.tn
        wx.ty
        wx.tx
        ……
        w#.t#
        goop-type
        goop-agent-name
        agent-name
        next-agent
        /goop-command
        t00x
        txxx
        t###
        yyyymmdd-hhmmss-description
        file.md:line
        type: description
        type: message
        type: subject
        1-2 sentences
        1-2 sentence summary
        one or two sentences
        noch auszufüllen
        bitte ausfüllen
        wird noch ausgefüllt
        wird noch ergänzt
        auszufüllen
        zu ergänzen
        à compléter
        à remplir
        à définir
        por completar
        por definir
        a completar
        a preencher
        a definir
        da compilare
        da definire
        in te vullen
        заполнить
        заполнить позже
        待填写
        待补充
        待完善
        待定
        未填写
        未記入
        記入してください
        작성 예정
        ?
        ??
        ???
    """)
    | frozenset(
        {
            "...",
            "…",
            ". . .",
            "[...]",
            "[…]",
            "<...>",
            "<…>",
            "{...}",
            "{…}",
            "(...)",
            "(…)",
            "- ...",
            "- …",
        }
    )
    | frozenset({"[todo]", "[tbd]", "<todo>", "<tbd>", "{todo}", "{tbd}", "(todo)", "(tbd)"})
)

# Prose of the published templates, by family

GOOP_REPORT_PROSE: Final = Prose(
    _lines("""
        1-2 sentence outcome summary
        1-2 sentence summary of what was accomplished
        1-2 sentence summary of findings
        what was accomplished
        what was done
        brief task description
        task description
        task name
        brief description of change
        brief description of the change
        change description
        description of change
        description
        description of blocker
        blocker description
        reason
        result
        title of memory saved
        title of memory
        memory title
        exact description of next task
        exact next task
        exact next task (include file:line when partial)
        next task
        next task description
        name of the task
        task title
        changes made
        purpose of the file
        purpose of this file
        changes made to this file
        short imperative title
        one to three plain sentences
        summary
        zusammenfassung
        title of the task
        description of next task
        task outcome
        bun test - result
        created n-wave blueprint with m tasks covering all must-haves
        file/test/commit
        file/test/config/log evidence
        test command output or manual steps
        test output or reproducible verification steps
        abc123 or chronicle entry
        commit hash if applicable
        observations for orchestrator
        if blocked/failed, why
        suggestions if incomplete
        1-2 sentence summary of the work
        1-2 sentence summary of what was done
        1-2 sentence summary of what you did
        one sentence summary of the work
        one-sentence summary of the work
        brief description of the task
        brief description of what was done
        brief summary of changes
        brief summary of the changes
        brief summary of what was done
        short description of the change
        short description of the task
        summary of what was done
        summary of what was accomplished
        what was accomplished in this task
        what was implemented
        what was changed
        what you did
        exact description of the next task
        exact next action
        exact next step
        description of the blocker
        description of the next task
        describe the blocker
        reason for blocking
        reason for the blocker
        reason for being blocked
        title of the memory
        what the orchestrator should do next
        command - result
        test command - result
        test command and result
    """)
)

SECTIONS_PROSE: Final = Prose(
    GOOP_REPORT_PROSE.phrases
    | _lines("""
        1-3 sentences describing findings
        one to three sentences on what was done
        recommended follow-up actions
        bullet list of files or resources, or - none
        path/to/file.ts — what was done
        command — result
        what comes next, or what blocks you
    """)
)

AGENT_REQUEST_PROSE: Final = Prose(
    _lines("""
        brief description of parent agent's overarching goal
        brief description of the parent agent's overarching goal
        concise summary of this specific task (1-2 sentences)
        concise summary of this specific task
        workflow methodology to follow
        execution mode for this request
        detailed task instructions
        detailed task instructions. may include
        hard constraints on execution (blocking conditions, prohibited actions)
        hard constraints on execution
        expected outputs from this task (files, reports, decisions)
        expected outputs from this task
        context for future continuation if task is interrupted or deferred
        what must not happen
        what it holds
        what has to be decided
        what has to be told
        what to decide
        what to report
        step-by-step instructions for the agent
        the user's original request goes here
        list of constraints
        what the user wants
        what the user wants to achieve
        description of the deliverable
        decision to be made
        notes for future continuation, if any
    """),
    frozenset({"path/to/deliverable.json"}),
    orders=True,
)

SPECKIT_PROSE: Final = Prose(
    _lines("""
        <agent-name>
        <agent-to-run>
        <branch>
        <changes>
        <chosen>
        <desc>
        <description>
        <error_code>
        <errortype>
        <feature-id>
        <field>
        <file:line>
        <file>
        <fix>
        <how to fix>
        <human-readable message>
        <id>
        <iso8601>
        <issue-type>
        <loc>
        <msg>
        <name>
        <next-agent>
        <original user request text>
        <path>
        <sev>
        <source-agent>
        <strategy>
        <tech>
        <title>
        <type>
        <url>
        <uuid>
        <what>
        <what is wrong>
        <why>
        <your own fields>
        agent-specific result fields
        human-readable message
        how to fix
        original user request text
    """)
)

FACTORY_PROSE: Final = Prose(
    _lines("""
        optional explanation if not high
        optional explanation
        what was done, in a sentence
        what you have to know
        what you tried
        what would help
        why it matters
        option a
        option b
    """),
    words("description") | {"brief description of completed work"},
)

# Words of slots

NO_SLOT: Final = words(
    "pass passed fail failed ok okay wip n/a na x done skip skipped yes no none new fixed closed"
    " open draft info warn warning error debug ready blocked complete completed partial pending"
    " true false null nil undefined nan optional required deprecated unchanged internal breaking"
    " security hotfix nit minor major critical high medium low urgent added removed changed merged"
    " reverted resolved rejected approved empty all any auto default stable beta alpha lts rc draft"
    " locked unlocked success failure checkpoint untested unknown working redacted private"
    " omitted sic at dot image video audio screenshot attachment dependencies"
    " workspace features"
) | frozenset(
    {
        "in progress",
        "skip ci",
        "ci skip",
        "no ci",
        "not run",
        "breaking change",
        "object object",
        "see below",
        "citation needed",
        "new branch",
        "new tag",
        "up to date",
        "remote rejected",
        "build-system",
        "dev-dependencies",
    }
)
"""What stands in brackets and is a value: statuses, and tags of subjects."""

MARKED: Final = words(
    "protected truncated omitted removed deleted hidden redacted masked interrupted snipped snip"
    " repeated elided shortened collapsed encrypted cancelled canceled aborted stripped clipped"
    " unavailable unreadable gekürzt entfernt"
)
"""The word by which text in brackets is a mark of a page or a host: `email protected`."""

NO_SLOT_IN: Final = {
    "[": words(
        "httpget httppost httpput httpdelete httppatch fact theory test testmethod obsolete"
        " serializable authorize allowanonymous apicontroller key jsonignore frombody flags object"
    ),
    "<": words(
        "div span br hr p a b i ul ol li table tr td th html body head script style img svg button"
        " form input pre main nav think thinking header footer article aside select textarea video"
        " audio canvas iframe meta dialog h1 h2 h3 h4 h5 h6 strong em small figcaption"
        " picture thead tbody tfoot caption fieldset legend dl dt dd blockquote slot"
    ),
    "{": frozenset[str](),
}
"""What one kind of brackets holds that is code: attributes of C#, elements of HTML."""

SLOT_NAMES: Final = words(
    "topic topics feature component area section scope approach finding findings description"
    " summary reason insight insights audience recommendation hypothesis technology rationale"
    " tradeoffs benefits blocker blockers deliverable must-have wave subject goal outcome purpose"
    " requirement requirements criteria decision question answer evidence explanation justification"
    " gap observation concern accomplishment tags facts concepts takeaway learnings endpoint"
    " behaviour behavior scenario scenarios stack workaround mitigation symptom cause topic-name"
    " steps pros cons tier details info message context what why beschreibung zusammenfassung"
    " begründung thema funktion anzahl aufgabe datei description résumé raison fonction tâche"
    " fichier resumen descripción razón función tarea archivo resumo descrição razão função arquivo"
    " riepilogo descrizione motivo описание задача причина"
)
"""What names a slot wherever it stands in square brackets."""

OPEN_NAMES: Final = words(
    "name filename filepath path file files type command id number date time version url agent"
    " status user run session task tasks phase project module service branch title code label value"
    " field item option step pattern change changes result results test tests test_file check spec"
    " plan query person team library tool method function class error word words list sentence"
    " sentences link location choice severity category examples example strategy entry hash sha"
    " workflow directory folder dir repo repository package language framework role owner"
)
"""What names a slot together with another word, or at the end of a phrase."""

SUBJECTS: Final = words(
    "bug issue problem document case cases function number endpoint page button table test-name"
    " parser technology purpose client system component module screen ticket defect handler option"
)
"""What names a slot where it is the object of a verb, or together with another word."""

ACTS: Final = words(
    "added adds fixed fixes updated updates implemented implements created creates refactored"
    " removed removes migrated documented designed resolved resolves handles handled uses used"
    " using changes changed finds found needs need needed builds built writes wrote extends"
    " extended replaced replaces improved renamed moved completed continues tested waiting reviews"
    " reviewed verified finished supports supported covers covered"
)
"""The words whose object a slot may be."""

ORDERS: Final = words(
    "add fix update implement create refactor remove migrate document design resolve handle use"
    " change find build write extend replace improve rename move complete continue test wait review"
    " check verify read finish support cover"
)
"""The same at the beginning of a statement; elsewhere they are names of commands."""

HOLDERS: Final = words(
    "section sections table tables heading headings block blocks header headers tag tags label"
    " labels attribute attributes key keys prefix prefixes marker markers column columns element"
    " elements prop props field fields syntax notation group parameter parameters argument"
    " arguments placeholder annotation decorator suffix option flag type types"
)
"""What a name in brackets belongs to where it is a name of code, as in "the [server] section"."""

MARKUP_NAMES: Final = words(
    "title summary details label option time path link item name description style code data"
    " section style text image line type value field file id slot template output object"
)
"""Names that elements of pages, drawings and feeds have."""

TYPE_NAMES: Final = words(
    "string str int integer bool boolean float double char void any object number byte long short"
    " unknown never null undefined array list dict map set tuple bytes date datetime uint8 int32"
    " int64 i32 i64 u8 u32 u64 f32 f64 usize uuid decimal"
)
"""Types of programming languages."""

WRITTEN_TYPES: Final = frozenset({"string", "str"})
"""What a schema writes for a text, and what is no text about any work."""

MODIFIERS: Final = words(
    "short brief specific exact main key next previous current suggested relevant optional new old"
    " other one-line high-level search most important clear concrete actual expected affected"
    " related first second third final more full long the a an of or and for to your our this that"
    " what why how 1-2 1-3 2-3 one two three number known primary secondary missing real correct"
    " parent target source"
)

ROUTE_PARAMETERS: Final = words(
    "id slug lang locale name user project token path version date type category tag page year"
    " month day key code team org repo owner item module service file"
)
"""Names in brackets that folders of web routers have."""

LISTED: Final = words(
    "yes no maybe true false pass fail passed failed skipped skip partial complete completed"
    " incomplete blocked checkpoint pending running done open closed high medium low critical major"
    " minor warning success failure questions plan specify execute accept research discuss idle"
    " created modified deleted renamed moved added removed updated changed create modify delete"
    " update add remove rename decision observation note todo session_summary architecture rules"
    " config skill readme api guide adl confirmed refuted inconclusive passing failing not-run"
    " approved rejected reject approved_with_warnings needs_manual_review needs_manual"
    " not_applicable not_tested ux security performance data spawn blocking conversation_only tdd"
    " spike standard none feat fix docs refactor perf build ci chore revert unit integration e2e"
    " manual orchestrator user locked unlocked ready_for_review proceed_to_build"
    " return_to_architect missing_input invalid_config ambiguous_requirements technical_error error"
    " not-started not_started in_progress in-progress run_prerequisite_agent feedback_loop"
    " fix_and_retry ask_user manual_resolution prerequisiteerror validationerror qualitygatefailure"
    " constitutionviolationerror branchexistserror timeouterror externalserviceerror specify"
    " clarify checklist tasks analyze implement review taskstoissues untested verified unverified"
    " optional required recommended file report"
) | frozenset(
    {
        "verification passed",
        "verification failed",
        "bug fixed",
        "bug identified",
        "bug investigating",
        "design complete",
        "design options",
        "design needs_input",
        "search complete",
        "search partial",
        "search no_results",
        "tests complete",
        "tests failing",
        "tests partial",
        "docs complete",
        "docs partial",
        "docs blocked",
        "distillation complete",
        "in progress",
        "not started",
        "not run",
        "not applicable",
        "not tested",
        "decision needed",
        "n/a",
        "option a",
        "option b",
        "option c",
        "option 1",
        "option 2",
    }
)
"""What templates offer as choices."""

CHOSEN: Final = words(
    "pass fail passed failed success failure complete partial blocked checkpoint high medium low"
    " critical created modified deleted incomplete"
)
"""What templates offer as choices with a slash between, and nothing else is written so."""

NUMBERED: Final = words(
    "action decision question finding requirement constraint insight concern blocker deliverable"
    " criterion recommendation takeaway gap risk item"
)
"""What lists of templates number: `action 1`, `finding 2`."""

NOTHING: Final = words(
    "none n/a nothing keine keiner nichts aucun aucune rien ninguno ninguna nenhum nenhuma nessuno"
    " geen нет 无 なし"
)
"""What stands first in the choice between nothing and a description."""

HELD: Final = frozenset({"summary"})
"""What a file may hold, and any other field may not: `<file path="SUMMARY.md">Summary</file>`."""

DESCRIBED: Final = words(
    "description explanation reason reasons rationale details summary blocker blockers issues"
    " beschreibung begründung grund blockierung descripción motivo razón descrição descrizione"
    " raison описание причина 描述 原因 説明 理由"
)
"""What a single word after nothing may ask for; others are types in code."""

COUNTED: Final = words(
    "passed failed skipped passing failing pass fail changed tests test of out total errors"
    " warnings files file tasks task waves wave coverage covered minutes minute min mins seconds"
    " second s ms hours hour lines line percent in and complete completed done created modified"
    " checks check items item all ran found issues issue target at count counts number written"
    " tested searched current duration percentage importance score retries iteration iterations"
    " hypotheses sources source steps step commits commit requirements requirement findings"
    " recommendations about approx approximately"
)
"""What is counted, and what stands around a count: next to one of these, N is no name."""

NUMBERS: Final = words(
    "count counts total current number passed failed passing failing skipped written tests coverage"
    " percentage percent duration importance score tested searched ms seconds minutes lines created"
    " modified deleted retries"
)
"""What the names of numbers hold."""

SHAS: Final = words("abc1234 1234567 xxxxxxx abcdef1 abcdef0 0123456 sha hash")
"""What templates write for the hash of a commit."""
