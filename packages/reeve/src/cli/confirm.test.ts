import assert from 'node:assert/strict'
import test from 'node:test'
import { confirm } from './confirm.ts'
import { CommandError } from './errors.ts'
import { Flags } from './flags.ts'

async function* typed(text: string): AsyncGenerator<string> {
  yield text
}

/** What somebody at a terminal was asked, and whether it went on. */
async function ask(answer: string | undefined, flags = {}, signal = new AbortController().signal) {
  let asked = ''
  const source = typed(answer ?? '')
  const input = Object.assign(source, { isTTY: answer !== undefined })
  const host = { input, isTerminal: true, err: (text: string) => void (asked += text) }
  const outcome = await confirm({ flags: new Flags(flags), host, signal }, 'Stop it?').then(
    () => 'went on',
    (thrown: unknown) => {
      assert.ok(thrown instanceof CommandError)
      return thrown.message
    },
  )
  return { asked, outcome }
}

const cases = [
  { name: 'yes goes on', answer: 'y\n', asked: 'Stop it? [y/N] ', outcome: 'went on' },
  { name: 'the word goes on too', answer: 'Yes\n', asked: 'Stop it? [y/N] ', outcome: 'went on' },
  {
    name: 'anything else does nothing',
    answer: '\n',
    asked: 'Stop it? [y/N] ',
    outcome: 'Aborted; nothing was changed.',
  },
  {
    name: 'the end of the input does nothing',
    answer: '',
    asked: 'Stop it? [y/N] ',
    outcome: 'Aborted; nothing was changed.',
  },
  {
    name: 'where nobody can answer it fails',
    answer: undefined,
    asked: '',
    outcome: 'Stop it? Cannot ask: standard input is not a terminal.',
  },
]

for (const { name, answer, asked, outcome } of cases)
  test(`confirm: ${name}`, async () => {
    assert.deepEqual(await ask(answer), { asked, outcome })
  })

test('confirm: --yes is not asked', async () => {
  assert.deepEqual(await ask(undefined, { yes: true }), { asked: '', outcome: 'went on' })
})
