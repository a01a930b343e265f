import assert from 'node:assert/strict'
import test from 'node:test'
import { JobLogFilter } from './logs.ts'

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

test('JobLogLines: one task alone needs no name, a second one brings both names', async () => {
  const lines = new JobLogFilter({ keepsPrefix: false, isShown: async () => true })
  assert.equal(await lines.add(bytes('aaaaaaaa main: one\naaaaaaaa main: tw')), 'one\n')
  assert.equal(await lines.add(bytes('o\nbbbbbbbb main: three\n')), 'two\nbbbbbbbb main: three\n')
  assert.equal(await lines.add(bytes('aaaaaaaa main: four\n')), 'aaaaaaaa main: four\n')
})

test('JobLogLines: lines of allocations that are not wanted are left out, each asked about once', async () => {
  const asked: string[] = []
  const lines = new JobLogFilter({
    keepsPrefix: true,
    isShown: async (short) => {
      asked.push(short)
      return short === 'aaaaaaaa'
    },
  })
  const text = 'aaaaaaaa main: one\nbbbbbbbb main: two\nbbbbbbbb main: three\n# note\n'
  assert.equal(await lines.add(bytes(text)), 'aaaaaaaa main: one\n# note\n')
  assert.deepEqual(asked, ['aaaaaaaa', 'bbbbbbbb'])
})

test('JobLogLines: a letter that comes in two pieces stays whole', async () => {
  const lines = new JobLogFilter({ keepsPrefix: false, isShown: async () => true })
  const all = bytes('aaaaaaaa main: é\n')
  const cut = all.length - 2
  assert.equal(await lines.add(all.subarray(0, cut)), '')
  assert.equal(await lines.add(all.subarray(cut)), 'é\n')
})
