import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { until } from '../../test/build/until.ts'
import { runProgram } from './run-program.ts'

test('a program has the given environment, its input, and nothing of the agent', async () => {
  const { stdout } = await runProgram('env', [], { env: { CNI_COMMAND: 'ADD' } })
  const names = stdout.split('\n').map((line) => line.replace(/=.*/, ''))
  assert.deepEqual(names.toSorted(), ['', 'CNI_COMMAND', 'PATH'])
  const echoed = await runProgram('cat', [], { input: 'été' })
  assert.equal(echoed.stdout, 'été')
})

test('a program that takes too long is killed with what it started', async () => {
  // The child keeps the pipes open, so that waiting for their end would take as long.
  const end = await runProgram('sh', ['-c', 'sleep 60 & echo $!; wait'], { timeoutMs: 500 })
  assert.equal(end.failure, 'took longer than 0.5 s')
  const child = Number(end.stdout)
  assert.ok(child > 0)
  await until('the end of the child', async () => {
    const stat = await readFile(`/proc/${child}/stat`, 'utf8').catch(() => ') Z')
    return stat.includes(') Z') ? true : undefined
  })
})

test('a program that cannot be started with its environment is a failure', async () => {
  const env = { LONG: 'x'.repeat(256 * 1024) }
  const { failure } = await runProgram('true', [], { env })
  assert.match(failure ?? '', /E2BIG/)
})
