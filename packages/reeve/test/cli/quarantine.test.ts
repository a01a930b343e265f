import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createClient } from '@reeve/sdk'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { namespacedKey, put } from '../../src/state/index.ts'
import { putNode, register, withScheduler } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'
import { commandLineAt } from '../build/cli.ts'
import { aGroup, anId } from '../build/index.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

/** A server with a quarantined job, and a person at its command line. */
async function aQuarantinedJob(t: TestContext) {
  const server = await createTestServer({ aclEnabled: false })
  const { settle } = await withScheduler(server, 0)
  await server.ok('registerJob', register({ TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] }))
  await settle()
  const { store } = server.context
  const job = store.tables.jobs.get(namespacedKey('default', 'web'))
  const NodeIDs = [anId('node', 7), anId('node', 8)]
  const Quarantine = {
    Reason: `2 nodes were lost while allocations of version 0 were starting on them: ${NodeIDs.join(', ')}`,
    NodeIDs,
    Time: nsFromMs(Date.now() - 120_000),
    Version: 0,
    CreateIndex: 1,
  }
  store.commit({
    by: 'system',
    cause: 'NodeEvent',
    changes: () => [put('jobs', { ...job, Quarantine })],
  })
  await putNode(server)
  const address = await server.listen()
  t.after(async () => await server.close())
  const directory = await temporaryDirectory(t)
  return commandLineAt({ address, client: createClient({ address }), directory })
}

test('a quarantined job on the command line', async (t) => {
  const reeve = await aQuarantinedJob(t)

  await t.test('job status: says since when, why, and what ends it', async () => {
    const text = await reeve.ok('job status web')
    assert.match(text, /^Quarantine += version 0, since .* \(\d+m\d*s? ago\)$/m)
    assert.match(text, /^The job is quarantined: 2 nodes were lost .*reeve job release web$/m)
    assert.match(await reeve.ok('job status'), /^web +service +50 +quarantined /m)
  })

  await t.test('job explain: says the same of what is not placed', async () => {
    const { code, out } = await reeve.run('job explain web')
    assert.equal(code, EXIT_CODES.unplaced)
    assert.match(out, /the job is quarantined: 2 nodes were lost .*reeve job release web$/m)
  })

  await t.test('job eval: what is watched ends with the reason', async () => {
    const { code, out } = await reeve.run('job eval web')
    assert.equal(code, EXIT_CODES.unplaced)
    assert.match(out, /^Job "web": the job is quarantined: 2 nodes were lost/m)
  })

  await t.test('job release: places it again', async () => {
    assert.match(await reeve.ok('job release --detach web'), /^Job "web" is released \(evaluation/)
    const text = await reeve.ok('job status web')
    assert.doesNotMatch(text, /quarantine/i)
  })

  await t.test('job release: a second time is a mistake', async () => {
    const { code, err } = await reeve.run('job release web')
    assert.equal(code, EXIT_CODES.failed)
    assert.match(err, /job "web" is not quarantined/)
  })
})
