import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runNetworkCommand } from './run-program.ts'

test('output is kept up to a bound', async () => {
  const size = (bytes: number): Promise<string> =>
    runNetworkCommand('head', ['-c', `${bytes}`, '/dev/zero'])
  const max = 1024 * 1024
  assert.equal((await size(max)).length, max)
  assert.equal((await size(max + 1)).length, max)
})

test('a failed command is reported with its error output', async () => {
  await assert.rejects(runNetworkCommand('sh', ['-c', 'echo "no device" >&2; exit 2']), {
    kind: 'network',
    message: 'sh: no device',
  })
  await assert.rejects(runNetworkCommand('sh', ['-c', 'exit 2']), { message: 'sh: exit code 2' })
  await assert.rejects(runNetworkCommand('/no/such/program', []), { message: /ENOENT/ })
})
