import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aGroup } from '../build/index.ts'
import { ofJob, register } from './cluster.ts'
import { aSecuredServer } from './secured.ts'

/** Who submits a job may mount what it asks for. */
const HOST_RIGHTS = [
  { rules: '', readOnly: true, may: false },
  { rules: 'host_volume "*" { policy = "deny" }', readOnly: true, may: false },
  { rules: 'host_volume "other" { policy = "write" }', readOnly: true, may: false },
  { rules: 'host_volume "certs" { policy = "read" }', readOnly: true, may: true },
  { rules: 'host_volume "certs" { policy = "read" }', readOnly: false, may: false },
  { rules: 'host_volume "cert*" { policy = "write" }', readOnly: false, may: true },
  {
    rules: 'host_volume "certs" { capabilities = ["mount-readwrite"] }',
    readOnly: true,
    may: true,
  },
]

for (const { rules, readOnly, may } of HOST_RIGHTS)
  test(`a host volume to ${readOnly ? 'read' : 'write'} ${may ? 'may' : 'may not'} be mounted with [${rules}]`, async () => {
    const { server, root, as, client } = await aSecuredServer()
    const Volumes = { data: { Type: 'host', Source: 'certs', ReadOnly: readOnly } }
    const mounting = register({ TaskGroups: [aGroup({ Volumes })] })
    const token = await client(`namespace "default" { policy = "write" }\n${rules}`)
    const status = async (route: 'registerJob' | 'planJob' | 'revertJob', body: unknown) =>
      (await server.call(route, { ...as(token, { body }), ...ofJob() })).status
    const expected = may ? 200 : 403
    assert.equal(await status('planJob', mounting.body), expected)
    assert.equal(await status('registerJob', mounting.body), expected)
    if (!may) await server.ok('registerJob', as(root, mounting))
    await server.ok('registerJob', as(root, register({ TaskGroups: [aGroup({ Count: 2 })] })))
    const back = { JobID: 'web', JobVersion: 0 }
    assert.equal(await status('revertJob', back), expected)
  })

test('volumes and plugins of the storage interface need their capabilities', async () => {
  const { server, as, client } = await aSecuredServer()
  const Volumes = {
    data: {
      Type: 'csi',
      Source: 'db',
      AccessMode: 'single-node-writer',
      AttachmentMode: 'file-system',
    },
  }
  const mounting = register({ TaskGroups: [aGroup({ Volumes })] })
  const rules = (more: string): string =>
    `namespace "default" { capabilities = ["submit-job"${more}] }`
  const without = await client(rules(''))
  assert.equal((await server.call('registerJob', as(without, mounting))).status, 403)
  const allowed = await client(rules(', "csi-mount-volume"'))
  const answer = await server.call('registerJob', as(allowed, mounting))
  assert.equal(answer.status, 400, 'no node has such volumes')
})
