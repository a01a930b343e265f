import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { turnsFor } from './turns.ts'

function withGroups(count: number): Input<Job> {
  return { ID: 'j', TaskGroups: Array.from({ length: count }, () => ({ Tasks: [{}] })) }
}

for (const [name, job, waits] of [
  ['a small job goes on at once', withGroups(1), false],
  ['a large one lets others have their turn', withGroups(1_000), true],
] as const)
  test(`turns: ${name}`, async () => {
    let others = false
    setImmediate(() => {
      others = true
    })
    await turnsFor(job)()
    assert.equal(others, waits)
  })
