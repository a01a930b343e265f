import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand, runProgram } from './run-command.ts'

test('a program has the given environment, its input, and nothing of the agent', async () => {
  const { output } = await runProgram('env', [], { env: { CNI_COMMAND: 'ADD' } })
  const names = output.split('\n').map((line) => line.replace(/=.*/, ''))
  assert.deepEqual(names.toSorted(), ['', 'CNI_COMMAND', 'PATH'])
  assert.equal(await runCommand('cat', [], 'été'), 'été')
})

test('a program that takes too long is killed with what it started', async () => {
  // The child keeps the pipes open, so that waiting for their end would take as long.
  const end = await runProgram('sh', ['-c', 'sleep 60 & echo $!; wait'], { msMax: 500 })
  assert.equal(end.failure, 'took longer than 0.5 s')
  const child = Number(end.output)
  assert.ok(child > 0)
  const { output } = await runProgram('sh', ['-c', `cat /proc/${child}/stat || echo gone`], {})
  assert.match(output, /gone|\) Z/)
})

test('output is kept up to a bound', async () => {
  const size = (bytes: number): Promise<string> =>
    runCommand('head', ['-c', `${bytes}`, '/dev/zero'])
  const max = 1024 * 1024
  assert.equal((await size(max)).length, max)
  assert.equal((await size(max + 1)).length, max)
})

test('a command that fails says why', async () => {
  await assert.rejects(runCommand('sh', ['-c', 'echo "no device" >&2; exit 2']), {
    kind: 'network',
    message: 'sh: no device',
  })
  await assert.rejects(runCommand('sh', ['-c', 'exit 2']), { message: 'sh: ended with 2' })
  await assert.rejects(runCommand('/no/such/program', []), { message: /ENOENT/ })
})
