import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { closeFrame, exitFrame, outputFrame, readExecFrame } from './exec.ts'

test('frames: have the documented shape, and the exit code is always sent', () => {
  assert.equal(outputFrame('stdout', Buffer.from('hi')), '{"stdout":{"data":"aGk="}}')
  assert.equal(closeFrame('stderr'), '{"stderr":{"close":true}}')
  assert.equal(exitFrame(0), '{"exited":true,"result":{"exit_code":0}}')
})

const cases = [
  ['{}', { stdin: undefined, closesStdin: false, size: undefined }],
  ['{"other":1}', { stdin: undefined, closesStdin: false, size: undefined }],
  ['{"stdin":{"data":"aGk="}}', { stdin: 'hi', closesStdin: false, size: undefined }],
  ['{"stdin":{"data":"aGk=","close":true}}', { stdin: 'hi', closesStdin: true, size: undefined }],
  [
    '{"tty_size":{"height":2,"width":3}}',
    { stdin: undefined, closesStdin: false, size: { rows: 2, columns: 3 } },
  ],
] as const
for (const [text, want] of cases)
  test(`frames: ${text} is read`, () => {
    const read = readExecFrame(Buffer.from(text))
    assert.ok(read.ok)
    assert.deepEqual({ ...read.value, stdin: read.value.stdin?.toString() }, want)
  })

test('frames: no bytes whatever break the reader', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void readExecFrame(bytes)))
  fc.assert(fc.property(fc.json(), (text) => void readExecFrame(Buffer.from(text))))
  assert.equal(readExecFrame(Buffer.from('['.repeat(100_000))).ok, false)
})
