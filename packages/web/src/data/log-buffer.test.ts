import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendToLog, EMPTY_LOG, LOG_LINES_MAX } from './log-buffer.ts'

test('a line that comes in two pieces is one line', () => {
  const log = appendToLog(appendToLog(EMPTY_LOG, 'one\ntw'), 'o\n')
  assert.deepEqual([log.lines, log.partialLine], [['one', 'two'], ''])
})

test('only the last lines are kept, and it is known how many went', () => {
  const log = appendToLog(EMPTY_LOG, 'x\n'.repeat(LOG_LINES_MAX) + 'last\n')
  assert.deepEqual([log.lines.length, log.lines.at(-1), log.dropped], [LOG_LINES_MAX, 'last', 1])
})

test('a line without end is cut', () => {
  const log = appendToLog(EMPTY_LOG, 'x'.repeat(20_000))
  assert.deepEqual([log.lines.length, log.partialLine], [1, ''])
})

test('what would act on a terminal or turn the text around is made visible', () => {
  const log = appendToLog(
    appendToLog(EMPTY_LOG, 'a\u001b['),
    '2J\u001b[31mred\u001b[0m\r\n\u202eb\n',
  )
  assert.deepEqual(log.lines, ['a␛[2Jred', '\\u202eb'])
})
