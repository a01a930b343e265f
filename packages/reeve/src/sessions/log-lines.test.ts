import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LineSplitter } from './job-log-stream.ts'

function read(prefix: string, pieces: readonly string[]): readonly string[] {
  const lines = new LineSplitter(prefix)
  const out = pieces.map((piece) => lines.add(Buffer.from(piece)).toString())
  return [...out, lines.end().toString()].filter((text) => text !== '')
}

const cases = [
  { name: 'whole lines pass', pieces: ['a\nb\n'], want: ['a\nb\n'] },
  { name: 'a part waits for its end', pieces: ['a', 'b', 'c\nd'], want: ['abc\n', 'd\n'] },
  { name: 'the last line is ended', pieces: ['a\nb'], want: ['a\n', 'b\n'] },
  { name: 'an empty line is one', pieces: ['\n\n'], want: ['\n\n'] },
  { name: 'nothing is nothing', pieces: ['', ''], want: [] },
]
for (const { name, pieces, want } of cases)
  test(`log lines: ${name}`, () => assert.deepEqual(read('', pieces), want))

test('log lines: each line has its prefix once', () => {
  assert.deepEqual(read('p: ', ['a\nb\nc', 'd\n\n', 'e']), [
    'p: a\np: b\n',
    'p: cd\np: \n',
    'p: e\n',
  ])
})

test('log lines: a line above the limit is returned in parts, with one prefix', () => {
  const long = 'x'.repeat(40_000)
  assert.deepEqual(read('p: ', [long, long, 'end\nb\n']), [`p: ${long}${long}`, 'end\np: b\n'])
})

test('log lines: however the bytes are cut, the lines are the same', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[ab\n]{0,6}$/)), (pieces) => {
      const text = pieces.join('')
      const want = text === '' || text.endsWith('\n') ? text : `${text}\n`
      assert.equal(read('', pieces).join(''), want)
      const lines = want.split('\n').slice(0, -1)
      assert.equal(read('> ', pieces).join(''), lines.map((line) => `> ${line}\n`).join(''))
    }),
  )
})
