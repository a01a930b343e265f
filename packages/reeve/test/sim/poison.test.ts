import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulatePoisonJob } from '../../sim/poison.ts'

const SEEDS = 6
const NODES = 6
/** Those that teach the servers what the job does. */
const NODES_LOST_MAX = 2

test(`simulation: in ${SEEDS} clusters a job that stops its nodes gets two of them, and others go on`, async () => {
  let crashes = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await simulatePoisonJob(seed, NODES)
    crashes += result.crashes
    assert.equal(result.violation, undefined, `seed ${seed}`)
    assert.ok(
      result.nodesLost <= NODES_LOST_MAX,
      `seed ${seed} lost ${result.nodesLost} of ${NODES} nodes`,
    )
    assert.equal(result.isQuarantined, true, `seed ${seed}`)
    assert.deepEqual(result.affectedJobs, [], `seed ${seed}`)
  }
  assert.ok(crashes > SEEDS, 'the leader has died many times')
})
