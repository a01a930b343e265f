import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { commandLineAt } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from '../e2e/program-process.ts'

/** On a machine that is busy with other tests. */
const WITHIN_MS = 180_000

test('event stream goes on by its index when the server comes back', async (t) => {
  const directory = await temporaryDirectory(t)
  const data = join(directory, 'data')
  const first = await startProgram(t, data, ['--server'])
  const reeve = commandLineAt({ ...first, directory })
  let written = ''
  const following = reeve.run('event stream --topic NodePool --count 2', {
    onWritten: (text) => (written += text),
  })
  await reeve.ok('node pool apply early')
  await until('the first event', () => written.includes('"Key":"early"') || undefined, WITHIN_MS)
  await first.kill('SIGKILL')
  await until('it to notice', () => written.includes('Trying again in') || undefined, WITHIN_MS)
  const { port } = new URL(first.address)
  await startProgram(t, data, ['--server', '--http-port', port])
  await reeve.ok('node pool apply late')
  const { code, out, err } = await following
  assert.equal(code, 0, err)
  const keys = out
    .trim()
    .split('\n')
    .map((line) => /"Key":"(\w+)"/.exec(line)?.[1])
  assert.deepEqual(keys, ['early', 'late'])
  assert.match(err, /Trying again in \d+m?s\.\n/)
})
