import assert from 'node:assert/strict'
import test from 'node:test'
import { aCommandLine } from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'

/** Only one of them has room on a node: both want the same port. */
function wantsPort(id: string, priority: number): string {
  return aJobText({
    id,
    job: `priority = ${priority}`,
    group: 'network {\n port "web" {\n static = 18888\n }\n}',
  })
}

test('alloc status: the winner and the victim of a preemption name each other', async (t) => {
  const reeve = await aCommandLine(t)
  await reeve.ok('operator scheduler set-config --preempt-service true')
  await reeve.ok('job run -', { input: wantsPort('low', 20) })
  await reeve.ok('job run -', { input: wantsPort('high', 80) })
  const idOf = async (job: string): Promise<string> =>
    (await reeve.ok(['job', 'allocs', job, '-t', '{{ (index . 0).ID }}'])).trim()
  const [victim, winner] = [await idOf('low'), await idOf('high')]
  const displaces = await reeve.ok(`alloc status ${winner}`)
  assert.match(displaces, new RegExp(`\\nDisplaces += ${victim.slice(0, 8)}\\n`))
  const displaced = await reeve.ok(`alloc status ${victim}`)
  assert.match(displaced, new RegExp(`\\nPreempted by += ${winner.slice(0, 8)}\\n`))
})
