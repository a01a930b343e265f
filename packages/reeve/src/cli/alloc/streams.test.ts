import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { lastLines } from './streams.ts'

/** The last lines of a text that can be read from its end. */
async function tailOf(text: string, lines: number): Promise<string> {
  const bytes = Buffer.from(text)
  const tail = await lastLines(lines, async (count) => bytes.subarray(-count))
  return Buffer.from(tail).toString()
}

const LONG = 'x'.repeat(1_000)
const cases = [
  { name: 'nothing of nothing', text: '', lines: 3, tail: '' },
  { name: 'none', text: 'a\nb\n', lines: 0, tail: '' },
  { name: 'the last line', text: 'a\nb\n', lines: 1, tail: 'b\n' },
  { name: 'a last line without an end', text: 'a\nb', lines: 1, tail: 'b' },
  { name: 'an empty line', text: 'a\n\n', lines: 1, tail: '\n' },
  { name: 'all when there are fewer', text: 'a\nb\n', lines: 9, tail: 'a\nb\n' },
  {
    name: 'longer lines than were guessed',
    text: `a\n${LONG}\n${LONG}\n`,
    lines: 2,
    tail: `${LONG}\n${LONG}\n`,
  },
]

for (const { name, text, lines, tail } of cases)
  test(`tail: ${name}`, async () => {
    assert.equal(await tailOf(text, lines), tail)
  })

test('tail: is what splitting the whole text at its line ends gives', async () => {
  const lines = fc.array(fc.string({ unit: fc.constantFrom('a', 'ü', ' '), maxLength: 300 }))
  await fc.assert(
    fc.asyncProperty(lines, fc.nat(20), async (all, count) => {
      const wanted = count === 0 ? [] : all.slice(-count)
      const text = all.map((line) => `${line}\n`).join('')
      assert.equal(await tailOf(text, count), wanted.map((line) => `${line}\n`).join(''))
    }),
  )
})
