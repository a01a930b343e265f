import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Task } from '@reeve/contract'
import { canonicalizeJob } from './canonicalize-job.ts'

const DEFAULTS = { region: 'global', namespace: 'default', nodePool: 'default' }

function constraintsOf(...tasks: readonly Input<Task>[]) {
  const input = { ID: 'a', TaskGroups: [{ Name: 'g', Tasks: [...tasks] }] }
  return canonicalizeJob(input, DEFAULTS).TaskGroups?.[0]?.Constraints
}

test('signals: no constraint without signals', () => {
  assert.equal(constraintsOf({ Name: 't' }), null)
})

test('signals: constraint lists each signal once', () => {
  const templates = [
    { ChangeMode: 'signal', ChangeSignal: 'sigusr1' },
    { ChangeMode: 'restart', ChangeSignal: 'SIGUSR2' },
  ]
  assert.deepEqual(
    constraintsOf(
      { Name: 'a', KillSignal: 'SIGTERM', Templates: templates },
      { Name: 'b', KillSignal: 'term' },
      { Name: 'c', KillSignal: '15' },
    ),
    [{ LTarget: '${attr.os.signals}', RTarget: 'SIGTERM,SIGUSR1', Operand: 'set_contains' }],
  )
})
