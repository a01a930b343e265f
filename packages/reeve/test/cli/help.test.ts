import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { COMMANDS, GROUPS } from '../../src/cli/commands.ts'
import { completionCommands } from '../../src/cli/registry.ts'
import { registerCommands, CommandLine, EXIT_CODES } from '../../src/cli/index.ts'
import { commandLineAt } from '../build/cli.ts'
import { aScreen } from '../build/screen-host.ts'

type AskHelp = (words: readonly string[]) => Promise<string>

/** The help of the commands that there are for what was typed. */
function helpOf(typed: readonly string[]): AskHelp {
  let written = ''
  const onWrite = (text: string): void => {
    written += text
  }
  const { host } = aScreen({ rows: 24, columns: 80, directory: '/', environment: {}, onWrite })
  const line = new CommandLine('reeve', { summary: '', examples: [] }, host)
  registerCommands(line, host, typed)
  return async (words) => {
    written = ''
    assert.equal(await line.run([...words, '--help']), EXIT_CODES.ok)
    return written
  }
}

test('help: what is asked of one command is what it says among all', async () => {
  const among = helpOf([])
  const paths = [...COMMANDS, ...completionCommands].map(({ path }) => path)
  for (const path of [...paths, ...Object.keys(GROUPS)]) {
    const words = path.split(' ')
    const text = await helpOf(words)(words)
    assert.ok(text.startsWith(`Usage: reeve ${path} `), text)
    assert.equal(text, await among(words))
  }
})

test('help: an unknown command gets a suggestion, in a group and at the root', async () => {
  const address = 'http://127.0.0.1:1'
  const line = commandLineAt({ address, client: createClient({ address }), directory: '/' })
  const inGroup = await line.run('job statu')
  assert.match(inGroup.err, /unknown command "reeve job statu"\. Did you mean "reeve job status"/)
  const atRoot = await line.run('jobb status')
  assert.match(atRoot.err, /unknown command "reeve jobb"\. Did you mean "reeve job"/)
  const namesakes = [
    ['validate', 'job validate'],
    ['inspect', 'job inspect'],
    ['rollback', 'job revert'],
    ['cp', 'alloc cp'],
    ['drain', 'node drain'],
  ] as const
  for (const [word, wanted] of namesakes)
    assert.match((await line.run(word)).err, new RegExp(`Did you mean "reeve ${wanted}"`))
  for (const asked of ['job statu --help', 'job statu -h', 'jobb --help']) {
    const { code, out, err } = await line.run(asked)
    assert.deepEqual([code, out], [2, ''], asked)
    assert.match(err, /unknown command "reeve (?:job statu|jobb)"\./)
  }
  assert.match(await line.ok('job status --help'), /^Usage: reeve job status /)
  assert.match(await line.ok('--help'), /\n {2}job [^]*\n {2}alloc [^]*\n {2}version /)
})
