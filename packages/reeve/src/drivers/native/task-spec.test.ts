import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oomScoreAdjOf } from './task-spec.ts'

const cases = [
  { name: 'the protection of an agent is not inherited', agent: -800, wanted: 0 },
  { name: 'a task of an unprotected agent inherits its score', agent: 300, wanted: undefined },
  { name: 'a job may ask for protection', asked: -200, agent: -800, wanted: -200 },
]
for (const { name, asked, agent, wanted } of cases)
  test(`oom score: ${name}`, () => {
    assert.equal(oomScoreAdjOf(asked, agent), wanted)
  })
