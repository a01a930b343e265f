import assert from 'node:assert/strict'
import test from 'node:test'
import { EscapeDetector } from './attach.ts'

const cases = [
  { name: 'passes what is typed', typed: ['ls -l\r'], sent: 'ls -l\r', leaves: false },
  { name: 'leaves at the beginning', typed: ['~.'], sent: '', leaves: true },
  { name: 'leaves after a new line', typed: ['ls\r~.'], sent: 'ls\r', leaves: true },
  { name: 'leaves after a line feed', typed: ['ls\n~.'], sent: 'ls\n', leaves: true },
  { name: 'does not leave within a line', typed: ['a~.'], sent: 'a~.', leaves: false },
  { name: 'sends one of two escapes', typed: ['~~.'], sent: '~.', leaves: false },
  { name: 'gives back an escape before anything else', typed: ['~a'], sent: '~a', leaves: false },
  { name: 'remembers the escape', typed: ['ls\r~', '.'], sent: 'ls\r', leaves: true },
  { name: 'sends nothing that is typed after it', typed: ['~.rm -r'], sent: '', leaves: true },
  { name: 'takes another character', escape: '%', typed: ['~.\r%.'], sent: '~.\r', leaves: true },
  { name: 'takes none', escape: null, typed: ['~.'], sent: '~.', leaves: false },
]

for (const { name, escape, typed, sent, leaves } of cases)
  test(`escape: ${name}`, () => {
    const reader = new EscapeDetector(escape === null ? undefined : (escape ?? '~'))
    const read = typed.map((text) => reader.read(Buffer.from(text)))
    assert.equal(Buffer.concat(read.map(({ send }) => send)).toString(), sent)
    assert.equal(read.at(-1)?.isLeaving, leaves)
  })
