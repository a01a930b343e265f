import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { CommandContext } from '../command.ts'
import { watchDrain } from './drain.ts'

const ID = '29e268cd-0000-4000-8000-000000000000'
const NODE = { ID, Name: 'one', LastDrain: { Status: 'complete' } }
const ALLOCATION = { ID: 'ce53b909', Name: 'served.app[0]', DesiredStatus: 'stop' }

/** The list of allocations says nothing more after the first time, as one that is late does. */
function anInvocation(said: string[]): CommandContext {
  const isLeaving = Promise.withResolvers<void>()
  async function* answers(name: string, { signal }: { readonly signal: AbortSignal }) {
    if (name === 'readNode') {
      yield { data: { ...NODE, DrainStrategy: {} } }
      await isLeaving.promise
      yield { data: { ...NODE, DrainStrategy: null } }
      return
    }
    yield { data: [{ ...ALLOCATION, ClientStatus: 'running' }] }
    isLeaving.resolve()
    await once(signal, 'abort')
    throw signal.reason
  }
  const data = [{ ...ALLOCATION, ClientStatus: 'complete' }]
  const invocation = {
    signal: new AbortController().signal,
    client: { blocking: answers, v1: { listNodeAllocations: async () => ({ data }) } },
    output: { printLine: (line: string) => void said.push(line) },
  }
  // As much of one as a watch asks for.
  return invocation as unknown as CommandContext
}

test('drain watch: the last allocation is printed before the end of the drain', async () => {
  const said: string[] = []
  // A stub of a node: its ID is all that is asked of it.
  const node = { ID } as Parameters<typeof watchDrain>[1]
  assert.equal(await watchDrain(anInvocation(said), node), 0)
  assert.deepEqual(said, [
    'Allocation ce53b909 (served.app[0]) is leaving.',
    'Allocation ce53b909 (served.app[0]) has ended: complete.',
    'The drain of node 29e268cd (one) is complete.',
  ])
})
