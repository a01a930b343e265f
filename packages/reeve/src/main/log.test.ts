import assert from 'node:assert/strict'
import test from 'node:test'
import { Fault } from '@reeve/kit/fault.ts'
import { type LogConfig, Secret } from './config/agent-config.ts'
import { createLog, formatLogLine, type Logger } from './log.ts'

/** What a log wrote. */
function written(config: Partial<LogConfig>, use: (log: Logger) => void): string {
  let text = ''
  const log = createLog({ level: 'info', json: true, ...config }, (line) => (text += line))
  use(log)
  return text
}

test('log: a line of JSON has level, time, message and the fields', () => {
  const text = written({}, (log) => log.info({ nodeId: 'n1' }, 'a node joined'))
  const { time, ...rest } = JSON.parse(text)
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(rest, { level: 'info', nodeId: 'n1', message: 'a node joined' })
  assert.ok(text.endsWith('\n'))
})

test('log: what is below the level is left out', () => {
  const say = (log: Logger): void => {
    log.debug({}, 'd')
    log.info({}, 'i')
    log.warn({}, 'w')
    log.error({}, 'e')
  }
  const levels = (text: string): string[] =>
    [...text.matchAll(/"message":"(.)"/g)].map(([, m = '']) => m)
  assert.deepEqual(levels(written({ level: 'debug' }, say)), ['d', 'i', 'w', 'e'])
  assert.deepEqual(levels(written({ level: 'warn' }, say)), ['w', 'e'])
})

for (const json of [true, false])
  test(`log: no secret gets into a line of ${json ? 'JSON' : 'text'}`, () => {
    const text = written({ json }, (log) =>
      log.info(
        {
          token: 'hunter2',
          created: { SecretID: 'hunter2' },
          headers: { authorization: 'Bearer hunter2' },
          given: new Secret('hunter2'),
        },
        'a token was made',
      ),
    )
    assert.ok(!text.includes('hunter2'), text)
    assert.equal(text.match(/<redacted>/g)?.length, 4)
  })

const entry = { level: 'warn', time: '2026-01-02T03:04:05.678Z', message: 'slow disk' }

const lineCases = [
  { name: 'time of day, level and message', given: {}, want: '03:04:05.678 WARN  slow disk\n' },
  {
    name: 'fields follow, quoted where they are more than a word',
    given: { ms: 12, path: '/data', why: 'two words', none: null, list: ['a', 1] },
    want: '03:04:05.678 WARN  slow disk ms=12 path=/data why="two words" none=null list=["a",1]\n',
  },
  {
    name: 'what moves the cursor or begins a line is escaped',
    given: { message: 'a\nb\u001b[2J', who: '\u009b1m', '\u2028': 'x\r\n' },
    want: '03:04:05.678 WARN  a\\nb\\u001b[2J who=\\u009b1m \\u2028="x\\r\\n"\n',
  },
  {
    name: 'a fault is its message',
    given: {
      err: { type: 'Fault', message: 'disk full', stack: 'Fault: disk full\n    at f (a.ts:1)' },
    },
    want: '03:04:05.678 WARN  slow disk err="disk full"\n',
  },
  {
    name: 'a mistake of ours comes with its stack',
    given: { err: { type: 'TypeError', message: 'x', stack: 'TypeError: x\n    at f (a.ts:1)' } },
    want: '03:04:05.678 WARN  slow disk err=x\n    at f (a.ts:1)\n',
  },
]

for (const c of lineCases)
  test(`log line: ${c.name}`, () => {
    assert.equal(formatLogLine(JSON.stringify({ ...entry, ...c.given })), c.want)
  })

test('log line: what is no entry is shown as it is', () => {
  assert.equal(formatLogLine('not JSON\n'), 'not JSON\n')
  assert.equal(formatLogLine('[1]\n'), '[1]\n')
})

test('log: a thrown fault is logged with its message and kind', () => {
  const fault = new Fault('storage-full', 'the disk is full', { cause: new Error('ENOSPC') })
  const text = written({ json: false }, (log) => log.error({ err: fault }, 'cannot write'))
  assert.match(text, /ERROR cannot write err="the disk is full.*"\n$/)
  assert.ok(!text.includes(' at '))
})

test('log: a follower gets the levels that it asks for, and the log writes its own', () => {
  let text = ''
  const log = createLog({ level: 'warn', json: true }, (line) => (text += line))
  const followed: string[] = []
  const stop = log.feed.follow({ level: 'debug', json: false }, (line) => followed.push(line))
  const others: string[] = []
  log.feed.follow({ level: 'error', json: true }, (line) => others.push(line))
  log.debug({ node: 'n1' }, 'first')
  log.warn({}, 'second')
  stop()
  log.info({}, 'third')
  log.error({}, 'fourth')
  const messages = (lines: string): string[] =>
    [...lines.matchAll(/"message":"(\w+)"/g)].map(([, message = '']) => message)
  assert.deepEqual(messages(text), ['second', 'fourth'])
  assert.equal(followed.length, 2)
  assert.match(followed[0] ?? '', /DEBUG first node=n1\n$/)
  assert.deepEqual(messages(others.join('')), ['fourth'])
})

test('log: no secret reaches a follower, and a gap is reported in the form of the lines', () => {
  const log = createLog({ level: 'info', json: true }, () => undefined)
  let followed = ''
  log.feed.follow({ level: 'info', json: true }, (line) => (followed += line))
  log.info({ token: 'hunter2' }, 'signed in')
  assert.doesNotMatch(followed, /hunter2/)
  const [text, json] = [false, true].map((isJson) =>
    log.feed.droppedLine(7, { level: 'info', json: isJson }),
  )
  assert.match(text ?? '', /WARN {2}log lines were dropped.*dropped=7\n$/)
  assert.equal(JSON.parse(json ?? '').dropped, 7)
})
