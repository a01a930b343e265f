import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { anId } from '../../test/build/index.ts'
import { countingIds, turn } from '../../test/build/agent.ts'
import { LIMITS } from '../model/index.ts'
import { NODE_TIMEOUT } from '../workload/index.ts'
import { NodeStreams } from './node-streams.ts'

/** Requests streams to nodes that do not answer. */
function aCaller() {
  const clock = new SimulatedClock()
  const streams = new NodeStreams({ clock, ids: countingIds() })
  const open = async (node: number) => {
    const session = { nodeId: anId('node', node), send: () => undefined, close: () => undefined }
    const request = { verb: 'read', allocation: 'a', path: '/', offset: 0 } as const
    return await streams.open(session, { request, accessorId: '' }, () => undefined)
  }
  return { clock, streams, open }
}

test('node streams: the limit applies per node', async () => {
  const { clock, streams, open } = aCaller()
  const opening = Array.from({ length: LIMITS.nodeStreamsMax }, () => open(1))
  const past = await open(1)
  assert.ok(!past.ok)
  assert.equal(
    past.error.message,
    '1024 exec, log and file streams to this node are open; retry later',
  )
  const other = open(2)
  assert.equal(streams.size, LIMITS.nodeStreamsMax + 1)
  clock.advance(LIMITS.nodeStreamOpenTimeoutMs - 1)
  await turn()
  assert.equal(streams.size, LIMITS.nodeStreamsMax + 1)
  clock.advance(1)
  for (const result of await Promise.all([...opening, other]))
    assert.deepEqual(result.ok ? undefined : result.error, NODE_TIMEOUT)
  assert.equal(streams.size, 0)
})
