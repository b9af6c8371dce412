/** A report that is made up, of any size. Nothing in it is left to chance. */

import type { Call, Details, FoldMark, Frame, Message, Status } from '../src/source/data.ts';
import type { Report } from '../src/source/offline.ts';

const START = Date.UTC(2026, 10, 2, 9);
const SIGNS: Record<Status, string> = { planned: '○', in_progress: '▶', completed: '✓', failed: '✗', blocked: '‖', invalidated: '⊘' };

/** Texts that try to be more than text. */
export const HOSTILE = [
  '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>',
  'javascript:alert(1) </script><script>document.title="owned"</script>',
  'safe\u202Egnp.exe \u0007\u001b[31mred \u2066x',
];

const TITLES = ['Read the code', 'Find the cause', 'Write the parser', 'Mend the tests', 'Look at the logs', 'Check the API', 'Tidy up'];

/** A sequence of numbers below one. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function message(place: number, role: string, text: string): Message {
  return { place, id: `msg_${place}`, role, tokens: Math.ceil(text.length / 4), at: START + place * 60_000, parts: [{ kind: 'text', origin: role === 'user' ? 'user' : 'agent', text, chars: text.length }] };
}

const tool = (place: number, name: string, input: string, output: string, frame?: string): Message => ({
  place, id: `msg_${place}`, role: 'assistant', tokens: 200, at: START + place * 60_000, ...(frame ? { frame } : {}),
  parts: [
    { kind: 'reasoning', origin: 'agent', text: 'The cause may lie in the tokenizer.', chars: 35 },
    { kind: 'tool', origin: 'agent', tool: name, call: `call_${place}`, state: 'completed', input, output, chars: output.length, ...(frame ? { outputOrigin: 'fold', frame } : { outputOrigin: 'tool' }) },
  ],
});

const PATCH = `@@ -10,7 +10,8 @@ fn parse()
 fn parse(input: &str) -> Result<Tree, Error> {
-    let tokens = tokenize(input);
+    let tokens = tokenize(input)?;
+    let tokens = without_comments(tokens);
     let mut parser = Parser::new(tokens);
-    parser.all()
+    parser.all("${'</script><b>bold</b>'}")
 }
`;

function frames(count: number): Frame[] {
  const next = numbers(count);
  const made: Frame[] = [];
  const open: Frame[] = [];
  let at = START;
  for (let number = 1; number <= count; number += 1) {
    while (open.length > 1 && (next() < 0.45 || open.length > 12)) {
      const ended = open.pop()!;
      ended.endedAt = at;
    }
    at += 20_000 + Math.floor(next() * 200_000);
    const parent = open.at(-1);
    const isLate = number > count - 4 && count > 5;
    const status: Status = number === 1 || number === count - 3 ? 'in_progress' : isLate ? 'planned'
      : next() < 0.06 ? 'failed' : next() < 0.03 ? 'blocked' : next() < 0.03 ? 'invalidated' : 'completed';
    const isOther = number % 29 === 0;
    const own = 500 + Math.floor(next() * 9_000);
    const under = isLate ? made[0] : parent;
    const frame: Frame = {
      handle: `f${number}`, id: `frm-${number}`, ...(under ? { parent: under.handle } : {}), depth: under ? under.depth + 1 : 0,
      title: number === 1 ? 'Make the parser read comments' : number <= 1 + HOSTILE.length ? HOSTILE[number - 2]! : `${TITLES[number % TITLES.length]} ${number}`,
      status, sign: SIGNS[status], ...(status === 'planned' ? {} : { session: isOther ? `ses_child_${number}` : under?.session ?? 'ses_main_0123456789abcdef' }),
      agent: isOther ? 'explore' : number % 41 === 0 ? 'review' : under?.agent ?? 'build',
      createdAt: at, updatedAt: at, ...(status === 'planned' ? {} : { begunAt: at, workedMs: 30_000 + Math.floor(next() * 400_000), tokens: own, ownTokens: own }),
      ...(status === 'completed' ? { result: `Result of ${number}: what was found, and where.` } : {}),
      ...(number % 5 === 0 ? { files: ['src/parser.rs', `src/part${number}.rs`], added: number % 90, removed: number % 13, checked: number % 10 === 0 ? 'passed' : 'failed' } : {}),
      ...(number === 1 ? { pins: 2, decisions: 1 } : {}), ...(number % 17 === 0 ? { stillSent: true } : {}),
      ...(number === count - 3 ? { active: true } : {}), ...(status === 'blocked' ? { unfinished: 'waits for an answer about the format' } : {}),
    };
    made.push(frame);
    if (!isLate && status !== 'planned') open.push(frame);
  }
  for (const frame of open) if (frame.status !== 'in_progress') frame.endedAt = at;
  for (const frame of made) if (frame.status === 'completed' || frame.status === 'failed') frame.endedAt ??= at;
  for (const frame of made.toReversed()) {
    const parent = made.find((it) => it.handle === frame.parent);
    if (parent) parent.tokens = (parent.tokens ?? 0) + (frame.tokens ?? 0);
  }
  return made;
}

function details(frame: Frame): Details {
  return {
    handle: frame.handle, title: frame.title, status: frame.status, successCriteria: 'All samples in tests/samples parse, and `cargo test` is green.',
    ...(frame.status === 'completed' ? { results: `The tokenizer dropped every line that began with #.\n\nIt now keeps them: see src/parser.rs:14. ${HOSTILE[0]}` } : {}),
    resultsSource: 'agent', createdAt: frame.createdAt, ...(frame.begunAt ? { begunAt: frame.begunAt } : {}), ...(frame.endedAt ? { endedAt: frame.endedAt } : {}),
    artifacts: ['src/parser.rs', 'docs/notes.md'], changedArtifacts: { 'src/parser.rs': 'changed' },
    decisions: ['Comments are tokens, since the printer has to keep them'], pins: frame.pins ? { p1: 'Never touch migrations/', p2: 'Ask before adding a dependency' } : {},
    evidence: { changes: [{ path: 'src/parser.rs', added: 26, removed: 3 }], checks: [{ line: 'cargo test -p parser', passed: true, said: '12 passed' }, { line: 'cargo clippy', passed: false }], failures: [{ what: 'ls samples', how: 'no such folder' }], unchecked: ['docs/notes.md'] },
    logPath: `.callstack/logs/${frame.handle}.md`, workedIn: frame.session ?? '',
    view: { host: 'opencode' },
  };
}

function calls(count: number): { calls: Call[]; folds: FoldMark[] } {
  const all: Call[] = [];
  const folds: FoldMark[] = [];
  let [tokens, without] = [21_000, 21_000];
  for (let place = 0; place < count; place += 1) {
    const grown = 1_500 + ((place * 7919) % 2_500);
    tokens += grown;
    without += grown;
    if (place % 8 === 7) {
      const left = Math.floor((tokens - 21_000) * 0.7);
      tokens -= left;
      folds.push({ frame: `f${4 + place}`, title: place === 7 ? HOSTILE[1]! : `Find the cause ${place}`, status: 'completed', kind: 'frame', call: place, tokensBefore: left + 320, tokensAfter: 320 });
    }
    all.push({ place, message: `msg_${place}`, at: START + place * 60_000, frame: `f${1 + (place % 9)}`, agent: 'build', model: 'provider/model-1', tokens, cached: tokens - grown, output: 300, billedHundredths: (tokens * 10 + grown * 90), tokensWithout: without, billedWithoutHundredths: without * 10 + grown * 115 });
  }
  return { calls: all, folds };
}

export function report(count: number): Report {
  const all = frames(count);
  const session = all[0]?.session ?? 'ses_none';
  const made = calls(40);
  const sum = (of: (call: Call) => number): number => made.calls.reduce((total, call) => total + of(call), 0);
  const left = [message(1, 'user', 'Make the parser read comments, please.'), tool(2, 'read', '{"path":"src/parser.rs"}', 'fn parse() {}\n'.repeat(40)), tool(3, 'bash', '{"command":"cargo test"}', `running 12 tests\n${HOSTILE[2]}`), message(4, 'assistant', HOSTILE[0]!)];
  const line = (at: number, role: string, text: string, tokens: number) => ({ id: `msg_${at}`, role, line: text, tokens, ...(role === 'assistant' ? { frame: `f${at}` } : {}) });
  return {
    kind: 'callstack-report', version: 1, madeAt: START + 9_000_000, by: 'callstack 0.1.0', source: 'store', title: '~/projects/parser',
    frames: {
      revision: 1, ...(count > 5 ? { active: `f${count - 3}` } : {}), frames: all,
      sessions: count === 0 ? [] : [
        { id: session, host: 'opencode', agent: 'build', root: 'f1', at: START + 9_000_000, ...(count > 5 ? { active: `f${count - 3}` } : {}) },
        ...all.filter((it, at) => it.session !== session && all[at - 1]?.session !== it.session && it.session?.startsWith('ses_child')).slice(0, 50).map((it) => ({ id: it.session!, host: 'opencode', agent: 'explore', parent: session, root: it.handle, at: it.updatedAt })),
      ],
    },
    details: Object.fromEntries(all.slice(0, 400).map((it) => [it.handle, details(it)])),
    diffs: { f2: { frame: 'f2', source: 'states', since: 'begun', until: 'ended', total: 3, files: [
      { path: 'src/parser.rs', kind: 'changed', added: 3, removed: 2, seen: true, patch: PATCH },
      { path: `src/${HOSTILE[2]}.rs`, kind: 'created', added: 1, removed: 0, seen: false, patch: '@@ -0,0 +1 @@\n+let x = "\u202E\u2066// admin";\n' },
      { path: 'logo.png', kind: 'changed', binary: true },
    ] } },
    folds: Object.fromEntries(['f2', 'f11', 'f19'].map((frame) => [frame, { frame, title: frame, status: 'completed' as const, folded: true, text: `<frame id="${frame}" status="completed">\nThe tokenizer dropped comments. ${HOSTILE[0]}\n</frame>`, tokensBefore: 12_000, tokensAfter: 310, total: left.length, left }])),
    logs: { f2: { total: left.length, messages: left } },
    sessions: count === 0 ? {} : { [session]: {
      window: { session, host: 'opencode', model: 'provider/model-1', limit: 200_000, tokens: 61_000, free: 139_000, factor: 1.2, basis: 'reported', lastRequest: { message: 'msg_39', at: START, tokens: 60_100, estimated: 59_000 }, parts: [
        { kind: 'system', tokens: 21_000, basis: 'reported', count: 1, messages: [line(0, 'system', 'You are an agent', 21_000)] },
        { kind: 'pins', tokens: 120, basis: 'estimated', count: 2, messages: [line(0, 'system', 'Never touch migrations/', 70), line(0, 'system', 'Ask before adding a dependency', 50)] },
        { kind: 'summary', tokens: 0, basis: 'estimated', count: 0, messages: [] },
        { kind: 'results', tokens: 5_800, basis: 'estimated', count: 2, messages: [line(2, 'assistant', '<frame id="f2">', 3_000), line(11, 'assistant', HOSTILE[1]!, 2_800)] },
        { kind: 'user', tokens: 2_000, basis: 'estimated', count: 1, messages: [line(1, 'user', 'Make the parser read comments, please.', 2_000)] },
        { kind: 'live', tokens: 32_000, basis: 'estimated', count: 2, messages: [line(3, 'assistant', 'read src/parser.rs', 30_000), line(4, 'assistant', 'I look first.', 2_000)] },
        { kind: 'notes', tokens: 80, basis: 'estimated', count: 1, messages: [line(5, 'user', 'A reminder', 80)] },
      ] },
      calls: { session, limit: 200_000, factor: 1.2, total: 40, from: 0, ...made, sum: { requests: 40, sent: sum((it) => it.tokens), billedHundredths: sum((it) => it.billedHundredths ?? 0), sentWithout: sum((it) => it.tokensWithout ?? 0), billedWithoutHundredths: sum((it) => it.billedWithoutHundredths ?? 0) } },
      sent: { session, next: true, total: 4, from: 0, messages: [...left.slice(0, 2), tool(12, 'stack_frame_push', '{"title":"Find the cause"}', '<frame id="f2">The tokenizer dropped comments.</frame>', 'f2'), left[3]!] },
    } },
    leftOut: count > 400 ? ['Details of frames after f400: the file would be too large.'] : [],
  };
}
