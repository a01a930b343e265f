import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../build/until.ts'
import { aRecoveryWorld } from './run-recovery-world.ts'

const UNLOCKED = [false, null] as const

/** Without isolation the tool may outlive its runner. */
function endIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (thrown) {
    if (!(thrown instanceof Error) || !thrown.message.includes('ESRCH')) throw thrown
  }
}

// One server and one node for all: each run has a workspace of its own.
test('recovery of runs with real processes', async (t) => {
  const world = await aRecoveryWorld(t)

  await t.test('C82 the agent is killed during a plan and during an apply', async () => {
    const run = await world.planning('agent')
    await world.restartNode()
    await run.go('plan')
    await run.untilStatus('planned')
    await run.confirm()
    await run.pid('apply', 'tool')
    await world.restartNode()
    await run.go('apply')
    await run.untilStatus('applied')
    assert.deepEqual([await run.starts('plan'), await run.starts('apply')], [1, 1])
    assert.deepEqual([await run.serial(), await run.lock()], [3, UNLOCKED])
  })

  await t.test('the tool or its runner is killed during a plan', async () => {
    const runs = await Promise.all([world.planning('plan-tool'), world.planning('plan-runner')])
    for (const [run, of] of [
      [runs[0], 'tool'],
      [runs[1], 'runner'],
    ] as const) {
      process.kill(await run.pid('plan', of), 'SIGKILL')
      await run.untilStatus('errored')
      assert.deepEqual(await run.lock(), UNLOCKED)
    }
  })

  await t.test('C83 the tool is killed during an apply', async () => {
    const run = await world.applying('apply-tool')
    process.kill(await run.pid('apply', 'tool'), 'SIGKILL')
    await run.untilStatus('errored')
    const [locked, reason] = await run.lock()
    assert.equal(locked, true)
    assert.match(String(reason), /The apply ended by SIGKILL/)
    assert.deepEqual([await run.serial(), await run.starts('apply')], [1, 1])
  })

  await t.test('the runner is killed during an apply', async () => {
    const run = await world.applying('apply-runner')
    const tool = await run.pid('apply', 'tool')
    process.kill(await run.pid('apply', 'runner'), 'SIGKILL')
    await run.untilStatus('errored')
    const [locked, reason] = await run.lock()
    assert.equal(locked, true)
    assert.match(String(reason), /without a report; resources may exist that the state lacks/)
    assert.deepEqual([await run.serial(), await run.starts('apply')], [1, 1])
    endIfRunning(tool)
  })

  await t.test('C81 the server is killed during a plan and during an apply', async () => {
    const run = await world.planning('server')
    await world.restartServer()
    await run.go('plan')
    await run.untilStatus('planned')
    await run.confirm()
    await run.pid('apply', 'tool')
    await world.restartServer({ REEVE_FAILOVER_HEARTBEAT_TTL: '2m' })
    await run.go('apply')
    await run.untilStatus('applied')
    assert.deepEqual([await run.starts('plan'), await run.starts('apply')], [1, 1])
    assert.deepEqual([await run.serial(), await run.lock()], [3, UNLOCKED])
  })

  await t.test('C84 the node is lost during an apply, and returns', async () => {
    const run = await world.applying('node')
    await world.restartServer({ REEVE_HEARTBEAT_GRACE: '1s', REEVE_FAILOVER_HEARTBEAT_TTL: '1s' })
    await world.stopNode()
    await run.untilStatus('errored')
    const [locked, reason] = await run.lock()
    assert.equal(locked, true)
    assert.match(String(reason), /its node was lost; resources may exist that the state lacks/)
    await world.startNode()
    const { data } = await world.api('GET', `/runs/${run.runId}`)
    const apply = data.relationships['apply']?.data?.id ?? ''
    const state = await until('the state of the node', async () => {
      const { status, text } = await world.api('GET', `/applies/${apply}/errored-state`)
      return status === 200 ? text : undefined
    })
    // It was interrupted, stored its state, and did not replace the current one.
    assert.match(state, /"serial":2.*"interrupted"/)
    assert.deepEqual([await run.serial(), await run.starts('apply')], [1, 1])
  })
})
