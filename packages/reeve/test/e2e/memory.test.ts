import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { Experiment } from '../build/experiment.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startAgent } from './program-process.ts'

/** Little more than an empty server needs. */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=160 --max-semi-space-size=4 --expose-gc' }
const PADDING = 'x'.repeat(60_000)
const WRITES_MAX = 5_000
const AT_ONCE = 8
const experiment = Experiment.fromArguments()

test('memory: a server without free memory accepts reads and deletes, and recovers', async (t) => {
  const directory = await temporaryDirectory(t)
  const flags = ['--dev', '--http-port', '0', '--data-dir', join(directory, 'data')]
  const environment = { ...HEAP, XDG_CONFIG_HOME: join(directory, '.config') }
  const agent = startAgent(t, flags, { environment })
  const address = await until('the server to say its address', () => {
    assert.equal(agent.child.exitCode, null, agent.output())
    return /API\s+(http:\/\/\S+)/.exec(agent.output())?.[1]
  })
  const client = createClient({ address })
  const write = async (at: number): Promise<string> => {
    const Items = { padding: `${PADDING}${at}` }
    const written = client.v1.writeVariable({ params: { path: `filler/${at}` }, body: { Items } })
    return await written.then(() => '').catch(String)
  }
  const remove = (at: number) => client.v1.deleteVariable({ params: { path: `filler/${at}` } })
  for (let round = 0; experiment.hasTime(round, 1); round++) {
    const { written, refused } = await fill(write)
    assert.match(
      refused,
      /The state may not grow now: \d+ % of the server's memory are used; delete/,
    )
    const first = await client.v1.readVariable({ params: { path: 'filler/0' } })
    assert.equal(first.status, 200)
    for (let at = 0; at < written; at += AT_ONCE) await Promise.all(someFrom(at).map(remove))
    await until('variables to be accepted again', async () => {
      const Items = { a: '1' }
      const again = client.v1.writeVariable({ params: { path: 'again' }, body: { Items } })
      return await again.then(() => true).catch(() => undefined)
    })
    assert.equal(agent.child.exitCode, null)
    experiment.count('times at the limit')
    experiment.count('writes until then', written)
    experiment.count('deletes at the limit', written)
  }
})

/** Writes until the server rejects it. */
async function fill(
  write: (at: number) => Promise<string>,
): Promise<{ readonly written: number; readonly refused: string }> {
  let written = 0
  let refused = ''
  for (; refused === '' && written < WRITES_MAX; written += AT_ONCE) {
    const answers = await Promise.all(someFrom(written).map(write))
    refused = answers.find((text) => text !== '') ?? ''
  }
  return { written, refused }
}

function someFrom(first: number): readonly number[] {
  return Array.from({ length: AT_ONCE }, (_, i) => first + i)
}
